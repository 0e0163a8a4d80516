"""Celery's way in on GPU machines: a message names a training or a checkpoint, this process does the rest."""

from __future__ import annotations

import logging
import threading
import time
from typing import Any

from celery import shared_task
from celery.signals import worker_ready, worker_shutting_down
from django.db import DatabaseError, close_old_connections, connection

from training.job_services import JOB_TASK, SERVE_TASK, send
from training.jobs import queue, serving
from training.jobs.runner import work_on_job as follow_job

logger = logging.getLogger(__name__)

QUEUE = "gpu"
LOOK_EVERY_SECONDS = 5.0
TELL_AGAIN_SECONDS = 30.0
"""How soon a job that still waits is offered again: what was in its way may be gone."""

_stopping = threading.Event()


@shared_task(name=JOB_TASK)
def work_on_job(job_id: int) -> None:
    """Safe to deliver twice: one worker claims a job, and its folder is locked while anything lives in it."""
    follow_job(job_id, _stopping)


@shared_task(name=SERVE_TASK)
def serve_checkpoint(checkpoint_id: int) -> None:
    """Safe to deliver twice, as above."""
    serving.serve(checkpoint_id, _stopping)


@worker_ready.connect
def _start_looking(sender: Any = None, **_: Any) -> None:
    if sender is not None and QUEUE in sender.app.amqp.queues.consume_from:
        threading.Thread(target=_look_for_work, name="training-lookout", daemon=True).start()


@worker_shutting_down.connect
def _stop_working(**_: Any) -> None:
    _stopping.set()


def _look_for_work() -> None:
    """Offers what waits, for lost messages and dead workers."""
    told: dict[tuple[str, int], float] = {}
    while not _stopping.wait(LOOK_EVERY_SECONDS):
        try:
            close_old_connections()
            waiting = [(JOB_TASK, pk) for pk in queue.takeable().values_list("pk", flat=True)]
            waiting += [(SERVE_TASK, pk) for pk in serving.takeable().values_list("pk", flat=True)]
        except DatabaseError as error:
            logger.warning("looking for trainings failed, next look soon: %s", error)
            connection.close()
            continue
        now = time.monotonic()
        for work in waiting:
            if now - told.get(work, -TELL_AGAIN_SECONDS) >= TELL_AGAIN_SECONDS and send(*work):
                told[work] = now
