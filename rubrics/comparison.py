"""Two rubrics side by side: which dimension of one answers to which of the other. Pure.

Pairs are made from the most alike downwards, each dimension once, as long as they are alike at all: with
eight dimensions at most that is as good as the best assignment and can be followed by eye. Rows keep the
left rubric's order; what only the right one has comes last.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

from curation.difference import Run, difference
from rubrics.lint.terms import content_terms
from rubrics.rubric import Rubric, RubricDimension, name_key

ALIKE = 0.15
"""Cosine of two dimensions' weighted terms from which on they answer to each other (ours)."""

MOSTLY = 0.5
"""Share of a text that has to stand in the other one for the rest to be marked (ours): where most is new,
marks are in the way of reading."""


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


@dataclass(frozen=True, slots=True)
class SideText:
    """A dimension of one side with what its counterpart does not have marked; each text is in runs."""

    dimension: RubricDimension
    name: Sequence[Run]
    scope: Sequence[Run]
    levels: Sequence[tuple[str, Sequence[Run]]]


@dataclass(frozen=True, slots=True)
class ComparisonRow:
    """A pair as a page shows it."""

    pair: Pair
    left: SideText | None
    right: SideText | None

    @property
    def both(self) -> tuple[SideText | None, SideText | None]:
        return self.left, self.right


@dataclass(frozen=True, slots=True)
class Changes:
    """How many dimensions of a rubric another one has changed, added and left out. `moved` says that those
    that stayed stand in another order."""

    changed: int
    added: int
    removed: int
    moved: bool

    def __str__(self) -> str:
        """
        >>> str(Changes(1, 0, 2, True))
        '1 changed, 2 removed, order changed'
        """
        counts = ((self.changed, "changed"), (self.added, "added"), (self.removed, "removed"))
        said = [f"{count} {word}" for count, word in counts if count]
        return ", ".join([*said, *(["order changed"] if self.moved else [])]) or "no difference"


def changes(earlier: Rubric, later: Rubric) -> Changes:
    """What became of the earlier rubric's dimensions in the later one."""
    pairs = compare(earlier, later)
    places = [later.dimensions.index(pair.right) for pair in pairs if pair.left and pair.right]
    return Changes(
        sum(1 for pair in pairs if pair.left and pair.right and not pair.same),
        sum(1 for pair in pairs if not pair.left),
        sum(1 for pair in pairs if not pair.right),
        places != sorted(places),
    )


def marked(pairs: Sequence[Pair]) -> list[ComparisonRow]:
    """The pairs with the words marked that differ, in texts that are mostly the same."""
    rows = []
    for pair in pairs:
        if pair.left and pair.right and not pair.same:
            rows.append(ComparisonRow(pair, *_marked_sides(pair.left, pair.right)))
        else:
            left, right = (None if one is None else _plain_side(one) for one in pair.both)
            rows.append(ComparisonRow(pair, left, right))
    return rows


def _marked_sides(left: RubricDimension, right: RubricDimension) -> tuple[SideText, SideText]:
    names = _runs(left.name, right.name)
    scopes = _runs(left.criteria_description, right.criteria_description)
    levels = [
        _runs(one.description if one else "", other.description if other else "")
        for one, other in zip_longest(left.levels, right.levels)
    ]
    return (
        SideText(left, names[0], scopes[0], _labelled(left, [each[0] for each in levels])),
        SideText(right, names[1], scopes[1], _labelled(right, [each[1] for each in levels])),
    )


def _plain_side(one: RubricDimension) -> SideText:
    plain = [((level.description, False),) for level in one.levels]
    return SideText(one, ((one.name, False),), ((one.criteria_description, False),), _labelled(one, plain))


def _labelled(one: RubricDimension, runs: Sequence[Sequence[Run]]) -> list[tuple[str, Sequence[Run]]]:
    return [(level.label, each) for level, each in zip(one.levels, runs, strict=False)]


def _runs(left: str, right: str) -> tuple[Sequence[Run], Sequence[Run]]:
    found = difference(left, right)
    same = sum(len(text) for text, is_changed in found.source if not is_changed)
    if same >= MOSTLY * max(len(left), len(right)):
        return found.source, found.reconstruction
    return ((left, False),), ((right, False),)


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
