"""One process at work on one run.

    claim items ─► load subjects ─► step.execute(subject, chat) ─► store outcomes, mark items
                                          │
                            chat: look up ─► wait for a slot ─► call ─► store

Calls run on an event loop; everything that touches the database runs on one thread beside it, in batches,
in short transactions of their own. The process may die at any point: what is stored stays, the rest is
claimed again when its lease has run out.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from django.conf import settings
from django.db import InterfaceError, OperationalError, connection, transaction

from llm.client import open_client
from llm.engine import queue
from llm.engine.batcher import Batcher
from llm.engine.chat import CallRoom, ItemChat, NewCall
from llm.engine.gate import Gate, HeldBackError
from llm.engine.limits import Limits, pilot_over, reached
from llm.engine.queue import Beat, ClaimedItem
from llm.engine.steps import Step, build_step
from llm.engine.store import find_calls, spent_by, store_calls
from llm.models import Run
from llm.probing import fetch_metrics
from llm.replay import is_replay
from llm.server_metrics import metrics_address
from llm.services import endpoint_settings
from llm.types import Completion, EndpointError, ModelError

logger = logging.getLogger(__name__)

Answer = TypeVar("Answer")

LOOKUP_LINGER, STORE_LINGER, FINISH_LINGER = 0.01, 0.005, 0.02
"""Seconds in which calls gather for one round trip to the database."""

DATABASE_PATIENCE_SECONDS = 120.0
"""How long a worker waits for a database that has gone away before it gives up its run."""

DATABASE_AWAY = (OperationalError, InterfaceError)

STOPPING_PATIENCE_SECONDS = 5.0
"""The same once it was told to stop: its items are free again when their leases run out."""

LOCAL_ITEMS_IN_HAND = 64
"""Items in hand at once in a run that calls no model."""

SAID = 300
"""Characters of an error's own words that a run shows."""

WATCH_SECONDS, WATCH_TRIES = 5.0, 3
"""How often a server is asked for its queue, and how often one is asked that does not say."""

SILENT_SECONDS = 60.0
"""Without an answer for so long, a run says that it is waiting."""


class StepBugError(ModelError):
    """The step's own code failed; the traceback is in the worker's log."""

    kind = "internal"


class MissingSubjectError(ModelError):
    """The item's subject is not there (any more)."""

    kind = "missing"


class DatabaseThread:
    """Runs database work for an event loop, and waits out a database that restarts."""

    def __init__(self, stop: threading.Event) -> None:
        self._stop = stop
        self._away_since: float | None = None
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="engine-database")

    async def __call__(self, work: Callable[..., Answer], *arguments: Any) -> Answer:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._executor, self._patiently, work, arguments)

    async def close(self) -> None:
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(self._executor, _disconnect)
        self._executor.shutdown(wait=False)

    def _patiently(self, work: Callable[..., Answer], arguments: tuple[Any, ...]) -> Answer:
        """Calls `work` again while the database cannot be reached; every piece of work is safe to repeat.

        Patience is counted from the first failure of any work, so that all of it ends together.
        """
        delay = 0.2
        while True:
            try:
                answer = work(*arguments)
            except DATABASE_AWAY as error:
                connection.close()
                now = time.monotonic()
                self._away_since = self._away_since or now
                patience = STOPPING_PATIENCE_SECONDS if self._stop.is_set() else DATABASE_PATIENCE_SECONDS
                if now - self._away_since > patience:
                    raise
                logger.warning("database out of reach, trying again in %.1f s: %s", delay, error)
                time.sleep(delay)
                delay = min(delay * 2, 2.0)
            else:
                self._away_since = None
                return answer


def _disconnect() -> None:
    """`connection` stands for the calling thread's own connection, so the call has to be made there."""
    connection.close()


async def work_on_run(run_id: int, stop: threading.Event | None = None) -> bool:
    """Works until the run has nothing to claim, is paused, or `stop` is set. False when it wanted nobody."""
    stop = stop or threading.Event()
    database = DatabaseThread(stop)
    holder = uuid.uuid4()
    try:
        run = await database(queue.enter_run, run_id, holder, socket.gethostname())
        if run is None:
            return False
        worker = RunWork(run, holder, database, stop)
        try:
            await worker.work()
        except EndpointError as error:  # before any call: there is no such file of stored calls
            worker.gate.close(str(error))
        except Exception as error:
            worker.gate.close(f"The worker failed ({_in_short(error)}); its log says more")
            raise
        finally:
            await database(queue.leave_run, run_id, holder, worker.gate.closed_because)
        return True
    finally:
        await database.close()


def _in_short(error: Exception) -> str:
    """What went wrong, on one line that a run's page has room for."""
    said = " ".join(str(error).split())
    said = said if len(said) <= SAID else f"{said[:SAID].rstrip()}…"
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


class RunWork:
    """The state of one worker's work on one run."""

    def __init__(self, run: Run, holder: uuid.UUID, database: DatabaseThread, stop: threading.Event) -> None:
        self.run, self.holder, self.database, self.stop = run, holder, database, stop
        self.endpoint = endpoint_settings(run.endpoint) if run.endpoint else None
        self.in_hand = self.endpoint.max_in_flight if self.endpoint else LOCAL_ITEMS_IN_HAND
        self.gate = Gate(self.in_hand)
        self.limits = Limits(run.max_calls, run.max_tokens, run.pilot_items)
        self.calls = self.replayed = self.tokens = 0
        self.reported_at = time.monotonic()
        self._pilot_is_over = False
        self._finish = Batcher(self._store_outcomes, linger=FINISH_LINGER)

    async def work(self) -> None:
        step: Step[Any, Any] = await self.database(build_step, self.run)
        beside = [asyncio.create_task(self._beat())]
        if self.endpoint is not None and not is_replay(self.endpoint.base_url):
            beside.append(asyncio.create_task(self._watch_server(metrics_address(self.endpoint.base_url))))
        try:
            if self.endpoint is None:
                await self._drain(step, None)
                return
            async with open_client(self.endpoint) as client:
                room = CallRoom(
                    self.endpoint,
                    client,
                    self.gate,
                    Batcher(self._find, linger=LOOKUP_LINGER),
                    Batcher(self._store, linger=STORE_LINGER),
                    self._count_replay,
                )
                try:
                    await self._drain(step, room)
                finally:
                    await room.settle()
        finally:
            for task in beside:
                task.cancel()
            await asyncio.gather(*beside, return_exceptions=True)
            await self._report()

    async def _drain(self, step: Step[Any, Any], room: CallRoom | None) -> None:
        """Keeps a few more items in hand than calls in flight, so that look-ups run ahead of free slots."""
        self._step = step
        capacity = self.in_hand + max(4, self.in_hand // 4)
        refill_below = capacity - max(1, capacity // 8)
        active: set[asyncio.Task[None]] = set()
        while True:
            if not self.gate.closed and len(active) <= refill_below:
                active |= await self._take_up(step, room, capacity - len(active))
            if not active:
                if self._pilot_is_over and self.limits.items is not None:
                    self.gate.close(pilot_over(self.limits.items))
                return
            finished, active = await asyncio.wait(active, return_when=asyncio.FIRST_COMPLETED)
            for task in finished:
                task.result()

    async def _take_up(
        self, step: Step[Any, Any], room: CallRoom | None, count: int
    ) -> set[asyncio.Task[None]]:
        if self.limits.items is not None:
            count = min(count, await self.database(queue.room_in_pilot, self.run.pk, self.limits.items))
            if not count:
                self._pilot_is_over = True
                return set()
        items = await self.database(queue.claim_items, self.run.pk, self.holder, count)
        if not items:
            return set()
        subjects = await self.database(step.load, [item.subject_id for item in items])
        return {
            asyncio.create_task(self._serve(step, item, subjects.get(item.subject_id), room))
            for item in items
        }

    async def _serve(
        self, step: Step[Any, Any], item: ClaimedItem, subject: object | None, room: CallRoom | None
    ) -> None:
        outcome: object
        try:
            if subject is None:
                raise MissingSubjectError(f"subject {item.subject_id} is not there any more")
            outcome = await step.execute(subject, _chat(room, step.max_asks * (1 + item.retries)))
        except HeldBackError:
            await self.database(queue.release_items, self.holder, [item.pk])
            return
        except ModelError as error:
            outcome = error
        except DATABASE_AWAY:
            raise  # no fault of the item's: its lease runs out and another worker takes it up
        except Exception as error:
            logger.exception("step %s failed on subject %s", step.kind, item.subject_id)
            outcome = StepBugError(f"{type(error).__name__}: {error}")
        await self._finish.submit((item, outcome))

    async def _find(self, keys: Sequence[str]) -> Sequence[Completion | None]:
        found = await self.database(find_calls, keys)
        return [found.get(key) for key in keys]

    async def _store(self, calls: Sequence[NewCall]) -> Sequence[Completion]:
        assert self.run.endpoint is not None
        stored: Sequence[Completion] = await self.database(store_calls, self.run.pk, self.run.endpoint, calls)
        self.calls += len(calls)
        self.tokens += sum(call.reply.completion_tokens for call in calls)
        await self._heed_limits()
        return stored

    async def _heed_limits(self) -> None:
        """Closes the gate once all workers together have spent what the run may cost."""
        if self.limits.calls is None and self.limits.tokens is None:
            return
        if said := reached(self.limits, await self.database(spent_by, self.run.pk)):
            self.gate.close(said)

    def _count_replay(self) -> None:
        self.replayed += 1

    async def _store_outcomes(self, ended: Sequence[tuple[ClaimedItem, object]]) -> Sequence[None]:
        await self.database(_store_outcomes, self._step, self.holder, ended)
        return [None] * len(ended)

    async def _beat(self) -> None:
        """Every few seconds: leases, chart, notice; closes the gate when the run is to stop."""
        every = min(5.0, settings.ENGINE_LEASE_SECONDS / 6)
        while True:
            for _ in range(10):
                await asyncio.sleep(every / 10)
                if self.stop.is_set():
                    self.gate.close()
            try:
                goes_on = await self._report()
            except Exception:
                logger.exception("the heartbeat of run %s failed", self.run.pk)
                goes_on = False
            if not goes_on:
                self.gate.close()

    async def _watch_server(self, address: str) -> None:
        """Heeds the queue that a vLLM server reports; leaves a server alone that never reported one."""
        heard, unheard = False, 0
        while heard or unheard < WATCH_TRIES:
            await asyncio.sleep(WATCH_SECONDS)
            report = await fetch_metrics(address)
            if report is None:
                unheard += 1
            else:
                heard = True
                self.gate.heard(report)

    async def _report(self) -> bool:
        now = time.monotonic()
        seconds, self.reported_at = now - self.reported_at, now
        beat = Beat(
            seconds,
            self.gate.in_flight,
            self.gate.allowance.calls,
            self.gate.allowance.reason,
            self.calls,
            self.replayed,
            self.tokens,
            self._notice(),
        )
        self.calls = self.replayed = self.tokens = 0
        self.limits = await self.database(queue.limits_of, self.run.pk)
        return await self.database(queue.beat, self.run.pk, self.holder, beat)

    def _notice(self) -> str:
        silent = time.monotonic() - self.gate.last_answer_at
        if not self.gate.notice and self.gate.in_flight and silent > SILENT_SECONDS:
            return f"Waiting: {self.gate.in_flight} calls in flight and no answer for {silent:.0f} s"
        return self.gate.notice


class NoModelChat:
    """The chat of runs that have no endpoint: asking is a mistake in the step."""

    max_asks = 1

    async def __call__(self, request: object) -> Completion:
        raise RuntimeError("this run has no endpoint, so its step cannot ask a model")


def _chat(room: CallRoom | None, max_asks: int) -> ItemChat | NoModelChat:
    return ItemChat(room, max_asks) if room else NoModelChat()


def _store_outcomes(
    step: Step[Any, Any], holder: uuid.UUID, ended: Sequence[tuple[ClaimedItem, object]]
) -> None:
    """Stores a batch in one transaction; when that fails, one by one: a bad one spoils only itself."""
    try:
        _store_together(step, holder, ended)
        return
    except DATABASE_AWAY:
        raise
    except Exception:
        if len(ended) == 1:
            logger.exception("storing an outcome of step %s failed", step.kind)
        else:
            logger.warning("storing %d outcomes together failed; storing them one by one", len(ended))
    if len(ended) > 1:
        for one in ended:
            _store_outcomes(step, holder, [one])
        return
    item, _ = ended[0]
    with transaction.atomic():
        if queue.lock_own(holder, [item.pk]):
            queue.mark_failed(item.pk, "internal", "its outcome could not be stored; see the worker's log")


def _store_together(
    step: Step[Any, Any], holder: uuid.UUID, ended: Sequence[tuple[ClaimedItem, object]]
) -> None:
    with transaction.atomic():
        own = queue.lock_own(holder, [item.pk for item, _ in ended])
        mine = [(item, outcome) for item, outcome in ended if item.pk in own]
        failures = [(item, outcome) for item, outcome in mine if isinstance(outcome, ModelError)]
        done = [(item, outcome) for item, outcome in mine if not isinstance(outcome, ModelError)]
        if done:
            step.store([(item.subject_id, outcome) for item, outcome in done])
            queue.mark_done([item.pk for item, _ in done])
        if failures:
            step.store_failures([(item.subject_id, error) for item, error in failures])
        for item, error in failures:
            queue.mark_failed(item.pk, error.kind, str(error))
