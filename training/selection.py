"""Which of a prompt's candidates becomes the demonstration for supervised training (paper 3.4, A.1). Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

CANDIDATES_PER_PROMPT = 5
"""Responses sampled for each prompt, of which the best is kept (paper A.1)."""

TIES = "Of equal rewards a really assessed one wins over the fallback, then the lowest number."
"""The rule of ties (ours), for people."""


@dataclass(frozen=True, slots=True)
class ScoredCandidate:
    """What selection looks at. `value` is the reward in [0, 1], None while there is none; `readings` is how
    many readings of the selecting judge it is the mean of, and `failed` says that it has read and given none.
    `fallback` says that the value is B.5's stand-in; `cut` that the text ends at the token limit.

    Raises ValueError for a value outside [0, 1], NaN included.
    """

    index: int
    value: float | None
    fallback: bool = False
    cut: bool = False
    empty: bool = False
    readings: int = 1
    failed: bool = False

    def __post_init__(self) -> None:
        if self.value is not None and not 0.0 <= self.value <= 1.0:
            raise ValueError(f"candidate {self.index} has the reward {self.value}, which is not in [0, 1]")


@dataclass(frozen=True, slots=True)
class Selection:
    """The chosen candidate's index, None when none can be chosen, and why, as a sentence for people."""

    index: int | None
    reason: str


def select_demonstration(candidates: Sequence[ScoredCandidate]) -> Selection:
    """The candidate with the highest reward.

    Cut, empty and unassessed candidates are not eligible. A fallback value takes part with its 0.4 as
    long as some eligible candidate was really assessed; when none was, there is nothing to choose by.
    Ties go to the really assessed candidate, then to the lowest index. (Eligibility and ties are ours, as is
    the mean over several readings of one judge.)
    """
    if not candidates:
        return Selection(None, "There are no candidates.")
    eligible = [
        (candidate.value, not candidate.fallback, -candidate.index)
        for candidate in candidates
        if candidate.value is not None and not (candidate.cut or candidate.empty)
    ]
    if not any(assessed for _, assessed, _ in eligible):
        return Selection(None, f"No candidate can be chosen: {_why_not(candidates)}.")
    value, assessed, place = max(eligible)
    readings = next(candidate.readings for candidate in candidates if candidate.index == -place)
    stand_in = "" if assessed else ", which is the fallback for an unreadable assessment"
    if assessed and readings > 1:
        stand_in = f", the mean of {readings} readings"
    tied = sum(other[0] == value for other in eligible) - 1
    ties = f", tied with {tied} more" if tied else ""
    return Selection(
        -place,
        f"Candidate {-place} has the highest reward of {len(eligible)} eligible candidates,"
        f" {value:.3f}{stand_in}{ties}.",
    )


def _why_not(candidates: Sequence[ScoredCandidate]) -> str:
    """How many candidates fall out for what; the first reason that applies counts."""
    counts: dict[str, int] = {}
    for candidate in candidates:
        if candidate.empty:
            why = "empty"
        elif candidate.cut:
            why = "cut at the token limit"
        elif candidate.failed:
            why = "read by the judge without a usable reply"
        elif candidate.value is None:
            why = "without an assessment"
        else:
            why = "with the fallback reward only"
        counts[why] = counts.get(why, 0) + 1
    return ", ".join(f"{count} {why}" for why, count in counts.items())
