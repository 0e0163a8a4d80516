"""Whether a reviewer's judgement drifts, and whether a review was too fast to have been read. Pure.

Each reviewer's reviews, in the order of time, are cut into a first, a middle and a latest third. What a
third accepts and passes is set beside what everybody else did in the same stretch of time, and beside the
reviewer's own first third.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, repeat

import numpy as np
from numpy.typing import NDArray

from curation.proportions import Difference, Share, difference

PARTS = ("first", "middle", "latest")

Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class ReviewRecord:
    """One review: `at` in seconds of any epoch, `passed` the checks that it gave a pass.

    `characters` counts both texts; `in_view` and `held` are seconds, None where they were not measured.
    """

    review_id: int
    reviewer: int
    at: float
    accepted: bool
    passed: frozenset[str]
    characters: int
    in_view: float | None = None
    held: float | None = None

    @property
    def seconds(self) -> float | None:
        """The time with the page in view or, when that is unknown, the time that the item was held."""
        return self.in_view if self.in_view is not None else self.held

    @property
    def characters_per_second(self) -> float | None:
        """None without a time; a review in no time at all is infinitely fast."""
        if self.seconds is None:
            return None
        return self.characters / self.seconds if self.seconds > 0 else float("inf")


@dataclass(frozen=True, slots=True)
class Rate:
    """A reviewer's share in one third, that of all others in the same stretch of time, and, but for the first
    third, the reviewer's own in the first."""

    own: Share
    others: Share
    first: Share | None = None

    @property
    def difference(self) -> Difference | None:
        """How far it lies from that of the others."""
        return difference(self.own, self.others)

    @property
    def change(self) -> Difference | None:
        """How far it has moved since the first third."""
        return difference(self.own, self.first) if self.first else None

    @property
    def marked(self) -> bool:
        """Whether a difference exceeds what its interval allows for chance."""
        return any(each is not None and each.clear for each in (self.difference, self.change))


@dataclass(frozen=True, slots=True)
class Third:
    """One third of a reviewer's reviews, from its first to its last moment. `passes` is by check."""

    part: str
    start: float
    end: float
    accepted: Rate
    passes: Mapping[str, Rate]


def drift(records: Sequence[ReviewRecord], checks: Sequence[str]) -> dict[int, tuple[Third, ...]]:
    """Each reviewer's three thirds, by reviewer. With fewer than three reviews there are none.

    When the number does not go by three, the earlier thirds get the odd ones.
    """
    ordered = sorted(records, key=lambda record: (record.at, record.review_id))
    if not ordered:
        return {}
    times = np.array([record.at for record in ordered])
    reviewers = np.array([record.reviewer for record in ordered])
    marks = np.array(
        [[record.accepted, *(check in record.passed for check in checks)] for record in ordered],
        dtype=np.int64,
    )
    all_sums = _running(marks)
    found = {}
    for reviewer in dict.fromkeys(record.reviewer for record in ordered):
        own = np.flatnonzero(reviewers == reviewer)
        if len(own) < len(PARTS):
            continue
        edges = np.cumsum([0, *(len(part) for part in np.array_split(own, len(PARTS)))])
        own_sums = _running(marks[own])
        own_times = times[own]
        thirds = []
        for part, (begin, stop) in zip(PARTS, pairwise(edges), strict=True):
            start, end = float(own_times[begin]), float(own_times[stop - 1])
            inside = _between(times, all_sums, start, end) - _between(own_times, own_sums, start, end)
            mine = own_sums[stop] - own_sums[begin]
            rates = _rates(mine, inside, own_sums[edges[1]] if begin else None)
            thirds.append(Third(part, start, end, rates[0], dict(zip(checks, rates[1:], strict=True))))
        found[reviewer] = tuple(thirds)
    return found


def too_fast(records: Sequence[ReviewRecord], fastest: float) -> list[ReviewRecord]:
    """The reviews that read both texts at more than `fastest` characters a second, the fastest first.

    A review without any time is not judged.
    """
    timed = [(record.characters_per_second, record) for record in records]
    fast = [(speed, record) for speed, record in timed if speed is not None and speed > fastest]
    return [record for _, record in sorted(fast, key=lambda each: (-each[0], each[1].review_id))]


def _running(marks: Counts) -> Counts:
    """Sums over the first 0, 1, … rows, with the number of rows as the first column."""
    counted = np.hstack([np.ones((len(marks), 1), dtype=np.int64), marks])
    return np.vstack([np.zeros((1, counted.shape[1]), dtype=np.int64), np.cumsum(counted, axis=0)])


def _between(times: NDArray[np.float64], sums: Counts, start: float, end: float) -> Counts:
    """The sums over everything from `start` to `end`, both included."""
    first, stop = np.searchsorted(times, start, "left"), np.searchsorted(times, end, "right")
    inside: Counts = sums[stop] - sums[first]
    return inside


def _rates(own: Counts, others: Counts, first: Counts | None) -> list[Rate]:
    return [
        Rate(mine, theirs, before)
        for mine, theirs, before in zip(
            _shares(own), _shares(others), _shares(first) if first is not None else repeat(None), strict=False
        )
    ]


def _shares(sums: Counts) -> list[Share]:
    return [Share(int(count), int(sums[0])) for count in sums[1:]]
