"""What became of the candidates of discovery (paper A.2): kept, merged into a dimension, or dropped. Pure.

Consolidation does not say which candidates it made a dimension of, so this is told by their wording and
can be wrong: a candidate that kept its name was kept; one whose words mostly stand in a dimension was
merged into the one that shares the most; one that shares little was dropped.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from rubrics.lint.terms import content_terms
from rubrics.parsing import Dimension
from rubrics.rubric import name_key

MERGED_FROM = 0.15
"""Share of a candidate's weighted terms that a dimension has to hold for a merger (ours)."""


class Kind(StrEnum):
    KEPT = "kept"
    MERGED = "merged"
    DROPPED = "dropped"


@dataclass(frozen=True, slots=True)
class Fate:
    """`into` is the name of the dimension that the candidate lives on in, '' when it was dropped; `share` of
    its terms stand there, from 0 to 1."""

    candidate: Dimension
    kind: Kind
    into: str = ""
    share: float = 0.0


def fates(discovered: Sequence[Dimension], consolidated: Sequence[Dimension]) -> list[Fate]:
    """One for each candidate, in their order.

    A term counts for less the more candidates use it: the request's own topic is in most of them.

    >>> kept = Dimension("Tone", "how the letter sounds to the board")
    >>> [fate.kind.value for fate in fates([kept, Dimension("Rhyme", "end rhymes")], [kept])]
    ['kept', 'dropped']
    """
    by_name = {name_key(one.name): one for one in consolidated}
    terms = [_terms(one) for one in discovered]
    spread = Counter(term for each in terms for term in each)
    weight = {term: math.log(1 + len(terms) / count) for term, count in spread.items()}
    homes = [(one.name, _terms(one)) for one in consolidated]
    found = []
    for candidate, own in zip(discovered, terms, strict=True):
        if same := by_name.get(name_key(candidate.name)):
            found.append(Fate(candidate, Kind.KEPT, same.name, 1.0))
            continue
        whole = sum(weight[term] for term in own)
        shares = [
            (sum(weight[term] for term in own & home) / whole if whole else 0.0, name) for name, home in homes
        ]
        share, name = max(shares, key=lambda each: each[0], default=(0.0, ""))
        merged = share >= MERGED_FROM
        found.append(Fate(candidate, Kind.MERGED if merged else Kind.DROPPED, name if merged else "", share))
    return found


def _terms(dimension: Dimension) -> frozenset[str]:
    return content_terms(f"{dimension.name}\n{dimension.reason}")
