"""Drift by thirds, and reviews that were too fast."""

from __future__ import annotations

import pytest

from curation.pace import ReviewRecord, drift, too_fast
from curation.proportions import Share


def record(
    pk: int, reviewer: int, at: float, accepted: bool = True, *passed: str, **times: float
) -> ReviewRecord:
    return ReviewRecord(pk, reviewer, at, accepted, frozenset(passed), 600, **times)


def test_thirds_beside_the_others_of_the_same_time() -> None:
    own = [record(n, 1, float(n), n < 4, *(["clarity"] if n < 2 else [])) for n in range(6)]
    others = [record(10 + n, 2, n + 0.5, n % 2 == 0, "clarity") for n in range(6)]
    first, middle, latest = drift([*own, *others], ["clarity"])[1]
    assert [third.part for third in (first, middle, latest)] == ["first", "middle", "latest"]
    assert (first.start, first.end) == (0.0, 1.0)
    assert first.accepted.own == Share(2, 2)
    assert first.accepted.others == Share(1, 1), "only the review at 0.5 lies between 0 and 1"
    assert first.passes["clarity"].own.value == 1
    assert middle.passes["clarity"].own == Share(0, 2)
    assert latest.accepted.own.value == 0
    assert latest.accepted.others == Share(1, 1)


def test_odd_numbers_and_reviews_at_the_same_moment() -> None:
    records = [record(n, 1, 5.0) for n in range(7)] + [record(20, 2, 5.0, False)]
    thirds = drift(records, [])[1]
    assert [third.accepted.own.n for third in thirds] == [3, 2, 2]
    assert all(third.accepted.others == Share(0, 1) for third in thirds)


def test_too_few_reviews_have_no_thirds_and_nobody_beside_no_value() -> None:
    assert drift([record(1, 1, 0.0), record(2, 1, 1.0)], []) == {}
    assert drift([], []) == {}
    alone = drift([record(n, 1, float(n)) for n in range(3)], [])[1]
    assert alone[0].accepted.others.value is None


def test_too_fast_goes_by_the_time_in_view_and_else_by_the_time_held() -> None:
    records = [
        record(1, 1, 0.0, in_view=5.0, held=500.0),
        record(2, 1, 0.0, held=3.0),
        record(3, 1, 0.0, in_view=10.0),
        record(4, 1, 0.0),
        record(5, 1, 0.0, in_view=0.0),
    ]
    assert [each.review_id for each in too_fast(records, 60.0)] == [5, 2, 1], (
        "600 in 10 s is not more than 60"
    )
    assert records[0].characters_per_second == pytest.approx(120)
    assert records[3].characters_per_second is None
