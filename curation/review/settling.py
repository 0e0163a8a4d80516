"""What the reviews of one item come to. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

Standing = Literal["waiting", "accepted", "rejected", "disputed"]

Verdicts = Mapping[str, str]
"""Check name -> verdict."""


@dataclass(frozen=True, slots=True)
class Opinion:
    """One standing review: its decision ('accept' or 'reject') and verdicts, and the id of its reviewer."""

    decision: str
    verdicts: Verdicts
    adjudication: bool = False
    reviewer: int | None = None


def standing_of(opinions: Sequence[Opinion], wanted: int) -> Standing:
    """An adjudication settles; otherwise all wanted reviews have to be in, and to agree on the decision."""
    settled: dict[str, Standing] = {"accept": "accepted", "reject": "rejected"}
    for opinion in opinions:
        if opinion.adjudication:
            return settled[opinion.decision]
    if len(opinions) < max(wanted, 1):
        return "waiting"
    decisions = {opinion.decision for opinion in opinions}
    return settled[decisions.pop()] if len(decisions) == 1 else "disputed"


def check_agreement(opinions: Sequence[Opinion], checks: Sequence[str]) -> float | None:
    """Share of the checks on which all reviewers gave the same verdict; None with fewer than two of them."""
    reviews = [opinion for opinion in opinions if not opinion.adjudication]
    if len(reviews) < 2:
        return None
    same = sum(len({review.verdicts.get(check) for review in reviews}) == 1 for check in checks)
    return same / len(checks)


def wants_second_review(reconstruction_id: int, *, share: float, seed: int) -> bool:
    """Whether an item belongs to the share that two people review. The same seed always picks the same."""
    digest = hashlib.sha256(f"{seed}:{reconstruction_id}".encode()).digest()
    return int.from_bytes(digest[:8]) < share * 2**64
