"""How many calls may be in flight: at most the endpoint's limit, and no more than its server bears. Pure.

Two signs are heeded, and the lower of what they leave counts. A 429 halves the allowance, and answers raise
it again, a sixteenth of the limit in each round (additive increase, multiplicative decrease, as in TCP). A
queue that vLLM reports is kept short: a server that always has a few calls waiting loses nothing, and calls
that wait for long run into their time limits.
"""

from __future__ import annotations

import math

from llm.server_metrics import ServerMetrics

GROWTH = 1 / 16
"""Of the limit, in each round of answers or with each report of a short queue."""

SHORT_QUEUE, LONG_QUEUE = 1 / 8, 1 / 2
"""Calls waiting for each call running: below the first there is room for more, above the second too many."""

KEPT_QUEUE = 1 / 4
"""Calls waiting for each call running that a shrunk allowance leaves."""

FEW_WAITING = 4
"""So many waiting calls are never a long queue."""


class Allowance:
    """Starts at `limit`, the most calls at once, and is never below one."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._step = max(1.0, limit * GROWTH)
        self._by_answers = self._by_queue = float(limit)

    @property
    def calls(self) -> int:
        return max(1, math.floor(min(self._by_answers, self._by_queue)))

    @property
    def reason(self) -> str:
        """Why it is below the limit; empty where it is not."""
        if self.calls >= self.limit:
            return ""
        if self._by_answers <= self._by_queue:
            return "the server asked to wait (429)"
        return "the server reports a long queue"

    def answered(self) -> None:
        self._by_answers = min(self.limit, self._by_answers + self._step / self.calls)

    def refused(self) -> None:
        """A 429. The caller counts those of one round once: calls sent before a cut say nothing about it."""
        self._by_answers = max(1.0, self.calls / 2)

    def heard(self, report: ServerMetrics) -> None:
        """What the server says of itself, every few seconds. Others may ask it too: each of its clients that
        heeds this gives up the same share."""
        if report.waiting is None or report.running is None:
            return
        running, waiting = report.running, report.waiting
        if waiting > max(FEW_WAITING, running * LONG_QUEUE):
            share = running * (1 + KEPT_QUEUE) / (running + waiting)
            self._by_queue = max(1.0, self.calls * share)
        elif waiting <= running * SHORT_QUEUE:
            self._by_queue = min(self.limit, self._by_queue + self._step)
