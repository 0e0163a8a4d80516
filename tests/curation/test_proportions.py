"""Intervals of shares and of their difference, against the worked examples of the papers."""

from __future__ import annotations

import pytest

from curation.pace import ReviewRecord, drift
from curation.proportions import Difference, Share, difference, wilson


@pytest.mark.parametrize(
    ("count", "n", "expected"),
    [
        (81, 263, (0.2535, 0.3682)),
        (15, 148, (0.0598, 0.1644)),
        (0, 20, (0.0, 0.2005)),
        (1, 29, (0.0018, 0.1963)),
        (20, 20, (0.7995, 1.0)),
    ],
)
def test_the_interval_of_a_share(count: int, n: int, expected: tuple[float, float]) -> None:
    """Newcombe (1998), table I, method 4; the last is the mirror of the third."""
    assert wilson(count, n) == pytest.approx(expected, abs=5e-5)
    assert Share(count, n).interval == wilson(count, n)


@pytest.mark.parametrize(
    ("first", "second", "low", "high"),
    [
        (Share(56, 70), Share(48, 80), 0.0428, 0.3422),
        (Share(9, 10), Share(3, 10), 0.1013, 0.8387),
        (Share(10, 10), Share(0, 20), 0.6014, 1.0),
    ],
)
def test_the_interval_of_a_difference(first: Share, second: Share, low: float, high: float) -> None:
    """Newcombe (1998), table II, method 11."""
    found = difference(first, second)
    assert found is not None
    assert (found.low, found.high) == pytest.approx((low, high), abs=5e-5)
    assert found.clear
    mirrored = difference(second, first)
    assert mirrored == Difference(-found.value, -found.high, -found.low)


def test_few_cases_are_never_clear_and_none_have_no_difference() -> None:
    few = difference(Share(0, 2), Share(2, 2))
    assert few is not None
    assert few.value == -1
    assert not few.clear
    assert difference(Share(0, 0), Share(2, 2)) is None
    assert difference(Share(1, 2), Share(0, 0)) is None
    assert Share(0, 0).interval is None


def test_a_third_is_held_against_the_others_and_against_the_first() -> None:
    own = [ReviewRecord(n, 1, float(n), n < 12, frozenset(), 600) for n in range(18)]
    others = [ReviewRecord(100 + n, 2, float(n), True, frozenset(), 600) for n in range(18)]
    first, middle, latest = (third.accepted for third in drift([*own, *others], [])[1])
    assert first.first is None
    assert first.change is None
    assert not first.marked
    assert not middle.marked
    assert latest.first == Share(6, 6)
    assert latest.change is not None
    assert latest.difference is not None
    assert latest.change.clear
    assert latest.difference.clear
    assert latest.marked
