"""What a run may cost before it pauses. Pure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """None is no limit. `calls` made, `tokens` read and written, and `items` taken up for a pilot."""

    calls: int | None = None
    tokens: int | None = None
    items: int | None = None


@dataclass(frozen=True, slots=True)
class Spent:
    """What a run has cost so far, all its workers together."""

    calls: int
    tokens: int


def reached(limits: Limits, spent: Spent) -> str:
    """Which limit is reached, in words for the run's page; '' for none.

    Calls in flight are finished and counted, so that a run ends above its limit by as many at most.

    >>> reached(Limits(calls=10), Spent(calls=12, tokens=0))
    'The limit of 10 calls is reached (12 made). Raise it to go on.'
    """
    if limits.calls is not None and spent.calls >= limits.calls:
        return f"The limit of {limits.calls:,} calls is reached ({spent.calls:,} made). Raise it to go on."
    if limits.tokens is not None and spent.tokens >= limits.tokens:
        return (
            f"The limit of {limits.tokens:,} tokens is reached ({spent.tokens:,} spent). Raise it to go on."
        )
    return ""


def pilot_over(items: int) -> str:
    return f"The first {items:,} items are done. Look at the estimate for the rest, then let it go on."
