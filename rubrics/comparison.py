"""Two rubrics side by side: which dimension of one answers to which of the other. Pure.

Pairs are made from the most alike downwards, each dimension once, as long as they are alike at all: with
eight dimensions at most that is as good as the best assignment and can be followed by eye. Rows keep the
left rubric's order; what only the right one has comes last.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass

from rubrics.lint.terms import content_terms
from rubrics.rubric import Rubric, RubricDimension, name_key

ALIKE = 0.15
"""Cosine of two dimensions' weighted terms from which on they answer to each other (ours)."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A row of the comparison: one side is None where only the other rubric has such a dimension.

    `likeness` is from 0 to 1; equal names make it 1.
    """

    left: RubricDimension | None
    right: RubricDimension | None
    likeness: float = 0.0

    @property
    def both(self) -> tuple[RubricDimension | None, RubricDimension | None]:
        return self.left, self.right

    @property
    def same(self) -> bool:
        """Both sides say the same, word for word."""
        return self.left == self.right


def compare(left: Rubric, right: Rubric) -> list[Pair]:
    """Every dimension of both, in pairs where they are alike."""
    mine, theirs = [_terms(one) for one in left.dimensions], [_terms(one) for one in right.dimensions]
    spread = Counter(term for each in (*mine, *theirs) for term in each)
    weight = {term: math.log(1 + (len(mine) + len(theirs)) / count) for term, count in spread.items()}
    ranked = sorted(
        (-_likeness(left.dimensions[i], right.dimensions[j], mine[i], theirs[j], weight), i, j)
        for i in range(len(mine))
        for j in range(len(theirs))
    )
    partner: dict[int, tuple[int, float]] = {}
    taken: set[int] = set()
    for negative, i, j in ranked:
        if -negative >= ALIKE and i not in partner and j not in taken:
            partner[i] = (j, -negative)
            taken.add(j)
    rows = []
    for i, dimension in enumerate(left.dimensions):
        place, likeness = partner.get(i, (-1, 0.0))
        rows.append(Pair(dimension, right.dimensions[place] if i in partner else None, likeness))
    rows += [Pair(None, one) for j, one in enumerate(right.dimensions) if j not in taken]
    return rows


def _terms(dimension: RubricDimension) -> frozenset[str]:
    return content_terms(f"{dimension.name.replace('_', ' ')}\n{dimension.criteria_description}")


def _likeness(
    one: RubricDimension,
    other: RubricDimension,
    mine: frozenset[str],
    theirs: frozenset[str],
    weight: dict[str, float],
) -> float:
    if name_key(one.name) == name_key(other.name):
        return 1.0
    lengths = math.sqrt(sum(weight[t] ** 2 for t in mine)) * math.sqrt(sum(weight[t] ** 2 for t in theirs))
    return sum(weight[t] ** 2 for t in mine & theirs) / lengths if lengths else 0.0
