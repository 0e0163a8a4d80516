"""Celery's way in: a message names a run, and the engine does the rest."""

from __future__ import annotations

import asyncio
import logging
import threading
from typing import Any

from celery import shared_task
from celery.signals import worker_ready, worker_shutting_down
from django.db import DatabaseError, close_old_connections, connection

from llm.engine import queue
from llm.engine.worker import work_on_run as engine_work
from llm.services import WORK_TASK, send_work

logger = logging.getLogger(__name__)

LOOK_EVERY_SECONDS = 5.0
"""How often a worker looks for runs that nobody works on: lost messages and dead workers cost this much."""

_stopping = threading.Event()


@shared_task(name=WORK_TASK)
def work_on_run(run_id: int) -> None:
    """Safe to deliver twice: a run takes in no more workers than it wants."""
    asyncio.run(engine_work(run_id, _stopping))


@worker_ready.connect
def _start_looking(**_: Any) -> None:
    threading.Thread(target=_look_for_runs, name="engine-lookout", daemon=True).start()


@worker_shutting_down.connect
def _stop_working(**_: Any) -> None:
    _stopping.set()


def _look_for_runs() -> None:
    without_broker = threading.Thread()
    while not _stopping.wait(LOOK_EVERY_SECONDS):
        try:
            close_old_connections()
            for run_id, missing in queue.runs_wanting_workers().items():
                if not send_work(run_id, missing) and not without_broker.is_alive():
                    without_broker = threading.Thread(target=_work_here, args=(run_id,))
                    without_broker.start()
        except DatabaseError as error:
            logger.warning("looking for runs without workers failed, next look soon: %s", error)
            connection.close()


def _work_here(run_id: int) -> None:
    """Work that no message asked for: while the broker is away, each worker process takes up one run."""
    asyncio.run(engine_work(run_id, _stopping))
