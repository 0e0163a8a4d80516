"""What one judge's readings of one response come to, and which judge's word decides. Pure.

A fallback is no reading of the response (paper B.5), and a failure has no value: neither enters a mean, and
both are counted beside it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rubrics.assessment import FALLBACK_REWARD

INCOMPLETE_SHARE = 0.05
"""From more failures than this share on, what a judge's readings come to is called incomplete (ours)."""


@dataclass(frozen=True, slots=True)
class Judge:
    """Who read: the endpoint's number (None for an unknown one), the model as its server named it, and the
    policy that the replies were read by. The same model under two policies is two judges."""

    endpoint: int | None
    model: str
    policy: str


@dataclass(frozen=True, slots=True)
class Reading:
    """One reading of a response; `value` is None for a failure, `number` its row."""

    number: int
    judge: Judge
    sample: int
    value: float | None
    fallback: bool = False


@dataclass(frozen=True, slots=True)
class Summary:
    """`mean` and `spread` (the standard deviation over n - 1) of the `n` values really read, from `low` to
    `high`; None over nothing, and the spread None over fewer than two."""

    mean: float | None
    spread: float | None
    low: float | None
    high: float | None
    n: int
    fallbacks: int
    failures: int

    @property
    def asked(self) -> int:
        return self.n + self.fallbacks + self.failures

    @property
    def value(self) -> float | None:
        """The reward that stands for the response: the mean, or the fallback where nothing else is there."""
        return FALLBACK_REWARD if self.mean is None and self.fallbacks else self.mean

    @property
    def is_fallback(self) -> bool:
        return self.mean is None and self.fallbacks > 0

    @property
    def left_out(self) -> str:
        """What is not in the mean, in words; '' when nothing is."""
        parts = ((self.fallbacks, "fallback"), (self.failures, "failure"))
        return ", ".join(f"{count} {name}{'' if count == 1 else 's'}" for count, name in parts if count)


def summarise(readings: Iterable[Reading]) -> Summary:
    """The readings of one response by one judge. Samples that are there twice count once.

        mean = sum of x / n,   spread = sqrt(sum of (x - mean)² / (n - 1))

    >>> judge = Judge(1, "m", "paper")
    >>> found = summarise([Reading(1, judge, 0, 0.5), Reading(2, judge, 1, 0.7), Reading(3, judge, 2, None)])
    >>> found.n, round(found.mean, 3), round(found.spread, 3), found.failures
    (2, 0.6, 0.141, 1)
    """
    given = {(reading.judge, reading.sample): reading for reading in readings}.values()
    values = [reading.value for reading in given if reading.value is not None and not reading.fallback]
    fallbacks = sum(reading.fallback for reading in given)
    mean, spread = mean_and_spread(values)
    return Summary(
        mean,
        spread,
        min(values, default=None),
        max(values, default=None),
        len(values),
        fallbacks,
        len(given) - len(values) - fallbacks,
    )


def mean_and_spread(values: Sequence[float]) -> tuple[float | None, float | None]:
    """The mean, and the standard deviation over n - 1; None where there is too little for it."""
    if not values:
        return None, None
    mean = math.fsum(values) / len(values)
    if len(values) < 2:
        return mean, None
    return mean, math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1))


def by_judge(readings: Iterable[Reading]) -> dict[Judge, list[Reading]]:
    """The readings of each judge, its samples in order; the judge that read first comes first."""
    grouped: dict[Judge, list[Reading]] = {}
    for reading in sorted(readings, key=lambda one: one.number):
        grouped.setdefault(reading.judge, []).append(reading)
    return {judge: sorted(rows, key=lambda one: one.sample) for judge, rows in grouped.items()}


def selecting_judge(responses: Iterable[Sequence[Reading]]) -> Judge | None:
    """The one judge whose readings choose among these responses: the judge that has read most of them, and of
    several such the one that began first. Values of two judges are never compared. None when nobody has read.

    A response counts as read by a judge that gave it a value, the fallback included.
    """
    read: dict[Judge, int] = {}
    began: dict[Judge, int] = {}
    for readings in responses:
        for judge, rows in by_judge(readings).items():
            read[judge] = read.get(judge, 0) + any(row.value is not None for row in rows)
            began[judge] = min([began.get(judge, rows[0].number), *(row.number for row in rows)])
    return max(read, key=lambda judge: (read[judge], -began[judge]), default=None)


def incomplete(failed: int, asked: int, share: float = INCOMPLETE_SHARE) -> bool:
    """Whether so much failed that what is left must not be shown without saying so.

    >>> incomplete(5, 100), incomplete(6, 100), incomplete(0, 0)
    (False, True, False)
    """
    return failed > share * asked
