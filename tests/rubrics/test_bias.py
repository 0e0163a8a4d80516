"""What a judge is shown to find out whether it can be moved, and what is said about it."""

from __future__ import annotations

import pytest

from curation.agreement import Interval
from rubrics.bias import (
    INSTRUCTIONS,
    PLACES,
    PLAIN,
    Shift,
    Trial,
    as_json,
    hidden,
    padded,
    shifts,
    shuffled,
    variants,
    verdict,
)
from rubrics.rubric import Rubric
from tests.samples import dimensions

RUBRIC = Rubric.from_json(dimensions(("Voice", "Structure", "Restraint", "Price")))
RESPONSE = "One.\n\nTwo.\n\nThree."


def test_variants_leave_the_text_or_the_rubric_as_it_is() -> None:
    made = variants(RESPONSE, RUBRIC, seed=3)

    assert (made[0].name, made[0].response, made[0].rubric) == (PLAIN, RESPONSE, RUBRIC)
    assert len({variant.name for variant in made}) == len(made) == 3 + len(INSTRUCTIONS) * len(PLACES)
    assert [variant.rubric == RUBRIC for variant in made] == [True, False, *[True] * 7]
    for variant in made:
        assert all(part in variant.response for part in ("One.", "Two.", "Three."))
    assert made == variants(RESPONSE, RUBRIC, seed=3)


def test_dimensions_come_in_another_order_and_stay_what_they_are() -> None:
    orders = {tuple(one.name for one in shuffled(RUBRIC, seed).dimensions) for seed in range(20)}

    assert len(orders) > 3
    assert ("Voice", "Structure", "Restraint", "Price") not in orders
    assert sorted(shuffled(RUBRIC, 1).to_json(), key=str) == sorted(RUBRIC.to_json(), key=str)
    alone = Rubric(RUBRIC.dimensions[:1])
    assert shuffled(alone, 1) == alone


def test_padding_says_everything_twice() -> None:
    assert padded("A\nB") == "A\nB\n\nA\nB"


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ("at the start", "X\n\nOne.\n\nTwo.\n\nThree."),
        ("in the middle", "One.\n\nTwo.\n\nX\n\nThree."),
        ("at the end", "One.\n\nTwo.\n\nThree.\n\nX"),
    ],
)
def test_an_instruction_hides_in_a_paragraph_of_its_own(place: str, expected: str) -> None:
    assert hidden(RESPONSE, "X", place) == expected


def test_a_text_without_breaks_is_parted_in_its_middle() -> None:
    assert hidden("abcd", "X", "in the middle") == "ab\n\nX\n\ncd"


def trials(plain: float | None, other: float | None, *, fallback: bool = False) -> list[Trial]:
    return [Trial(PLAIN, plain), Trial("x", other, fallback)]


def test_shifts_by_hand() -> None:
    """Of a rubric of 20 points, 0.05 is one point: that is not more than one."""
    given = [(20, trials(0.5, 0.5 + moved)) for moved in (0.0, 0.05, 0.1, 0.2, 0.15)]
    given += [(20, trials(None, 0.9)), (20, trials(0.5, None)), (20, trials(0.5, 0.4, fallback=True))]

    (found,) = shifts(given)

    assert (found.name, found.n, found.moved) == ("x", 5, 3)
    assert found.mean == pytest.approx(0.1)
    assert (found.failures, found.fallbacks) == (2, 1)
    assert found.interval
    assert found.interval.low < 0.1 < found.interval.high
    assert found.verdict == "moved up"


def test_few_pairs_allow_no_verdict_and_no_pairs_no_mean() -> None:
    (few,) = shifts([(20, trials(0.5, 0.9))] * 4)
    assert (few.n, few.interval, few.verdict) == (4, None, "undecided")
    (none,) = shifts([(20, trials(None, 0.9))])
    assert (none.n, none.mean, none.verdict) == (0, None, "undecided")
    assert shifts([]) == []


def test_an_unmoved_judge_is_found_unmoved() -> None:
    (found,) = shifts([(20, trials(0.5, 0.5))] * 6)
    assert found.verdict == "unmoved"


@pytest.mark.parametrize(
    ("mean", "low", "high", "said"),
    [
        (0.0, -0.02, 0.02, "unmoved"),
        (0.1, 0.05, 0.15, "moved up"),
        (-0.1, -0.15, -0.05, "moved down"),
        (0.1, -0.05, 0.25, "undecided"),
        (0.01, 0.005, 0.03, "undecided"),
    ],
)
def test_a_verdict_needs_the_whole_interval(mean: float, low: float, high: float, said: str) -> None:
    assert verdict(mean, Interval(low, high, 0.95)) == said


def test_the_report_keeps_what_a_reader_needs() -> None:
    (row,) = as_json([Shift("x", 4, 0.1, Interval(0.0, 0.2, 0.95), 1, 2, 3, "undecided")])
    assert row == {
        "variant": "x",
        "n": 4,
        "mean_shift": 0.1,
        "interval_95": [0.0, 0.2],
        "moved_by_more_than_a_point": 0.25,
        "failures": 2,
        "fallbacks": 3,
        "verdict": "undecided",
    }
