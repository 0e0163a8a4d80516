"""What repeated readings come to, and whose word selects."""

from __future__ import annotations

import math

import pytest

from rubrics.readings import Judge, Reading, by_judge, incomplete, selecting_judge, summarise

A, B = Judge(1, "a", "paper"), Judge(2, "b", "paper")


def readings(
    judge: Judge, *values: float | None, start: int = 1, fallbacks: tuple[int, ...] = ()
) -> list[Reading]:
    return [
        Reading(start + sample, judge, sample, value, fallback=sample in fallbacks)
        for sample, value in enumerate(values)
    ]


def test_mean_and_spread_by_hand() -> None:
    found = summarise(readings(A, 0.2, 0.4, 0.9))

    assert found.mean == pytest.approx(0.5)
    assert found.spread == pytest.approx(math.sqrt((0.09 + 0.01 + 0.16) / 2))
    assert (found.low, found.high, found.n, found.asked) == (0.2, 0.9, 3, 3)


def test_fallbacks_and_failures_are_in_no_mean_and_are_counted() -> None:
    found = summarise(readings(A, 0.8, 0.4, None, fallbacks=(1,)))

    assert (found.mean, found.n, found.fallbacks, found.failures) == (0.8, 1, 1, 1)
    assert found.left_out == "1 fallback, 1 failure"
    assert found.spread is None
    assert not found.is_fallback


def test_fallbacks_alone_stand_for_themselves_and_failures_for_nothing() -> None:
    fallback = summarise(readings(A, 0.4, 0.4, fallbacks=(0, 1)))
    failure = summarise(readings(A, None))

    assert (fallback.mean, fallback.value, fallback.is_fallback) == (None, 0.4, True)
    assert (failure.value, failure.is_fallback, failure.left_out) == (None, False, "1 failure")
    assert summarise([]).value is None


def test_a_sample_that_is_there_twice_counts_once() -> None:
    assert summarise([Reading(1, A, 0, 0.5), Reading(2, A, 0, 0.5)]).n == 1


def test_the_judge_that_has_read_most_selects_and_the_earlier_of_equals() -> None:
    begun = [readings(A, 0.9, start=1), readings(B, 0.1, start=10), readings(B, 0.2, start=11)]
    assert selecting_judge(begun) == B
    level = [readings(B, 0.1, start=10) + readings(A, 0.9, start=1)]
    assert selecting_judge(level) == A
    assert selecting_judge([[], []]) is None


def test_a_failure_is_no_reading_for_that() -> None:
    assert selecting_judge([readings(A, None, start=1) + readings(B, 0.5, start=5)]) == B


def test_readings_are_told_apart_by_policy_too() -> None:
    checked = Judge(1, "a", "checked")
    assert list(by_judge(readings(A, 0.1) + readings(checked, 0.2, start=4))) == [A, checked]


def test_past_a_share_of_failures_it_is_incomplete() -> None:
    assert [incomplete(failed, 100) for failed in (0, 5, 6)] == [False, False, True]
    assert incomplete(1, 1)
    assert incomplete(1, 10, share=0.05)
    assert not incomplete(1, 10, share=0.2)
