"""The best of the candidates, who may take part, and ties."""

from __future__ import annotations

import random

import pytest

from training.selection import CANDIDATES_PER_PROMPT, ScoredCandidate, select_demonstration


def test_the_highest_reward_wins_wherever_it_stands() -> None:
    candidates = [ScoredCandidate(index, value) for index, value in enumerate((0.5, 0.7, 0.9, 0.1, 0.8))]
    random.Random(1).shuffle(candidates)

    selection = select_demonstration(candidates)

    assert selection.index == 2
    assert selection.reason == "Candidate 2 has the highest reward of 5 eligible candidates, 0.900."
    assert CANDIDATES_PER_PROMPT == 5


@pytest.mark.parametrize(
    "best",
    [
        ScoredCandidate(0, 1.0, cut=True),
        ScoredCandidate(0, 1.0, empty=True),
        ScoredCandidate(0, None),
    ],
)
def test_cut_empty_and_unassessed_candidates_cannot_win(best: ScoredCandidate) -> None:
    assert select_demonstration([best, ScoredCandidate(1, 0.1)]).index == 1


def test_ties_go_to_the_lowest_index() -> None:
    selection = select_demonstration([ScoredCandidate(index, 0.6) for index in (4, 2, 3)])

    assert selection.index == 2
    assert "tied with 2 more" in selection.reason


def test_a_fallback_takes_part_beside_an_assessed_candidate() -> None:
    fallback = ScoredCandidate(0, 0.4, fallback=True)

    beats = select_demonstration([fallback, ScoredCandidate(1, 0.2)])
    assert beats.index == 0
    assert "fallback" in beats.reason
    assert select_demonstration([fallback, ScoredCandidate(1, 0.5)]).index == 1


def test_an_earned_reward_wins_a_tie_with_the_fallback() -> None:
    assert select_demonstration([ScoredCandidate(0, 0.4, fallback=True), ScoredCandidate(1, 0.4)]).index == 1


@pytest.mark.parametrize(
    "candidates",
    [
        [ScoredCandidate(0, 0.4, fallback=True), ScoredCandidate(1, 0.4, fallback=True)],
        [ScoredCandidate(0, 0.4, fallback=True), ScoredCandidate(1, 0.9, cut=True)],
    ],
)
def test_fallbacks_alone_give_nothing_to_choose_by(candidates: list[ScoredCandidate]) -> None:
    assert select_demonstration(candidates).index is None


def test_the_reason_counts_what_fell_out() -> None:
    selection = select_demonstration(
        [
            ScoredCandidate(0, 0.9, cut=True),
            ScoredCandidate(1, 0.9, cut=True, empty=True),
            ScoredCandidate(2, None),
            ScoredCandidate(3, 0.4, fallback=True),
            ScoredCandidate(4, 0.8, cut=True),
        ]
    )

    assert selection.reason == (
        "No candidate can be chosen: 2 cut at the token limit, 1 empty, 1 without an assessment,"
        " 1 with the fallback reward only."
    )
    assert select_demonstration([]).index is None


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -0.1, 1.1])
def test_a_reward_outside_its_bounds_stops_the_selection(value: float) -> None:
    with pytest.raises(ValueError, match="candidate 3 has the reward"):
        ScoredCandidate(3, value)
