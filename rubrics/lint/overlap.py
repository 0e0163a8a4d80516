"""Dimensions that judge the same thing twice give it twice the weight (paper A.2). Pure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from itertools import combinations

from rubrics.lint.findings import Check, Finding, Subject
from rubrics.lint.terms import content_terms

ALIKE = 0.4
"""Cosine of two dimensions' weighted terms from which on they overlap (ours): no pair of
WritingBench's 444 checklists at hand comes above 0.33."""


def overlapping(subject: Subject) -> Iterator[Finding]:
    """Terms count for less the more dimensions share them: the request's own topic is in most."""
    terms = [subject.dimension_terms(place) for place in range(len(subject.dimensions))]
    spread = Counter(term for each in terms for term in each)
    weight = {term: math.log(1 + len(terms) / count) for term, count in spread.items()}
    lengths = [math.sqrt(sum(weight[term] ** 2 for term in each)) for each in terms]
    for one, other in combinations(range(len(terms)), 2):
        if not lengths[one] or not lengths[other]:
            continue
        shared = terms[one] & terms[other]
        similarity = sum(weight[term] ** 2 for term in shared) / (lengths[one] * lengths[other])
        names = [content_terms(subject.dimensions[at].name.replace("_", " ")) for at in (one, other)]
        same_name = bool(names[0]) and names[0] == names[1]
        if similarity >= ALIKE or same_name:
            first = subject.dimensions[one].name
            how = "has the same name in other words" if same_name else "speaks of much the same"
            yield Finding(
                Check.OVERLAP,
                f"It {how} as “{first}”: the same matter may be judged twice.",
                other,
                evidence=", ".join(sorted(shared, key=lambda term: -weight[term])[:6]),
            )
