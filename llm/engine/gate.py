"""Bounds calls in flight, holds them back while a server asks for it, and notices when none gets through."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from llm.engine.allowance import Allowance
from llm.engine.slots import Slots
from llm.server_metrics import ServerMetrics
from llm.types import (
    EndpointError,
    ModelError,
    RateLimitedError,
    RetryableError,
    SlowAnswerError,
    UnreachableError,
)

MAX_TRIES = 6
"""Tries of one call against retryable failures before its item fails. A 429 is a wait, not a try."""

MAX_SLOW_TRIES = 3
"""Tries of one call that got no answer in the endpoint's time limit."""

OUTAGE_SECONDS = 10.0
"""Failures only, for so long, and it is the server's trouble: tries no longer count against the items."""

GIVE_UP_SECONDS = 150.0
"""Failures only, for so long (a model server needs up to two minutes to restart), and the run pauses."""

ROUND_SECONDS = 1.0
"""429s within so long, or within the wait that the first of them asked for, answer calls of one round."""

FIRST_DELAY, LONGEST_DELAY = 0.5, 60.0


class HeldBackError(Exception):
    """No new call may start: the run is paused, cancelled or shutting down. Not a failure of any item."""


class Gate:
    """One worker's door to one endpoint: `limit` calls at once, fewer while the server bears fewer.

    `closed_because` is set when the endpoint cannot serve anyone; closing without a reason is an order
    from outside (pause, cancel, shutdown).
    """

    def __init__(self, limit: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.allowance = Allowance(limit)
        self._slots = Slots(limit)
        self._clock = clock
        self._open_again_at = self._cut_again_at = 0.0
        self._failing_since: float | None = None
        self._failing_keys: set[str] = set()
        self._closing = asyncio.Event()
        self.closed_because = ""
        self.notice = ""
        self.in_flight = 0
        self.last_answer_at = clock()

    @property
    def closed(self) -> bool:
        return self._closing.is_set()

    def close(self, reason: str = "") -> None:
        """Lets calls in flight finish and starts no new one."""
        self.closed_because = self.closed_because or reason
        self._closing.set()

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """Held from sending a call until it is stored. Raises HeldBackError once the gate is closed."""
        async with self._slots:
            while (wait := self._open_again_at - self._clock()) > 0 and not self.closed:
                await self.pause(wait)
            if self.closed:
                raise HeldBackError
            self.in_flight += 1
            try:
                yield
            finally:
                self.in_flight -= 1

    async def pause(self, seconds: float) -> None:
        """Sleeps; wakes early when the gate closes."""
        try:
            await asyncio.wait_for(self._closing.wait(), timeout=seconds)
        except TimeoutError:
            return

    def answered(self) -> None:
        self._failing_since = None
        self._failing_keys.clear()
        self.allowance.answered()
        self._slots.resize(self.allowance.calls)
        self.notice = ""
        self.last_answer_at = self._clock()

    def heard(self, report: ServerMetrics) -> None:
        """What the server says of its queue."""
        self.allowance.heard(report)
        self._slots.resize(self.allowance.calls)

    def failed(self, key: str, error: ModelError, tries: int) -> float:
        """Seconds to wait before the next try. Raises the error when there should be none.

        `tries` counts this call's failures before this one. An endpoint that can serve nobody closes the
        gate, and the item goes back to the queue unharmed.
        """
        if isinstance(error, EndpointError):
            self.close(str(error))
            raise HeldBackError from error
        if isinstance(error, RateLimitedError):
            return self._hold_back(error, tries)
        if not isinstance(error, RetryableError):
            raise error
        outage = self._note_failure(key, error)
        if not outage and tries + 1 >= (MAX_SLOW_TRIES if isinstance(error, SlowAnswerError) else MAX_TRIES):
            raise error
        return min(_backoff(tries), OUTAGE_SECONDS)

    def _hold_back(self, error: RateLimitedError, tries: int) -> float:
        self._failing_since = None
        wait = min(error.retry_after if error.retry_after is not None else _backoff(tries), 3600.0)
        now = self._clock()
        if now >= self._cut_again_at:
            self._cut_again_at = now + max(wait, ROUND_SECONDS)
            self.allowance.refused()
            self._slots.resize(self.allowance.calls)
        self._open_again_at = max(self._open_again_at, now + wait)
        resume = time.strftime("%H:%M:%S", time.gmtime(time.time() + wait))
        self.notice = f"The server asked to wait (429); going on at {resume} UTC"
        return wait

    def _note_failure(self, key: str, error: RetryableError) -> bool:
        """Whether this is an outage, in which nobody is served; one that lasts closes the gate."""
        now = self._clock()
        if self._failing_since is None:
            self._failing_since = now
        self._failing_keys.add(key)
        self.notice = f"Trying again: {error}"
        # One poisonous request is its own trouble; a server that nobody reaches is everyone's.
        widespread = isinstance(error, UnreachableError) or len(self._failing_keys) >= 3
        failing = now - self._failing_since
        # Slow for all: nobody was answered in the time that this call waited.
        silent = isinstance(error, SlowAnswerError) and now - self.last_answer_at >= 0.9 * error.waited
        if widespread and (silent or failing >= GIVE_UP_SECONDS):
            self.close(f"Nothing gets through: {error}")
            raise HeldBackError from error
        return widespread and failing >= OUTAGE_SECONDS


def _backoff(tries: int) -> float:
    """Doubling from half a second, with jitter so that waiting calls do not come back in step."""
    delay: float = min(FIRST_DELAY * 2**tries, LONGEST_DELAY)
    return delay * random.uniform(0.75, 1.25)  # noqa: S311 (timing, not secrecy)
