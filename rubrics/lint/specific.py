"""At least half of a rubric's dimensions belong to its request (paper G.2, G.3). Pure."""

from __future__ import annotations

from collections.abc import Iterator

from rubrics.lint.findings import Check, Finding, Subject
from rubrics.lint.terms import mostly_unspaced_terms

SPECIFIC_SHARE = 0.5
"""Of the dimensions, that have to be specific to the request (paper G.2)."""


def not_specific(subject: Subject) -> Iterator[Finding]:
    """A dimension without one content word of the request, in its name or scope, would suit any request.

    A rubric in another script than its request shares no words with it and is not judged here.
    """
    if not subject.request_terms or mostly_unspaced_terms(subject.request_terms) != mostly_unspaced_terms(
        subject.text_terms
    ):
        return
    general = [
        place
        for place in range(len(subject.dimensions))
        if not subject.dimension_terms(place) & subject.request_terms
    ]
    for place in general:
        said = "Its name and scope share no content word with the request: it would suit any request."
        yield Finding(Check.SPECIFIC, said, place)
    if len(general) > (1 - SPECIFIC_SHARE) * len(subject.dimensions):
        names = ", ".join(f"“{subject.dimensions[place].name}”" for place in general)
        said = f"{len(general)} of {len(subject.dimensions)} dimensions are not specific to the request"
        said = f"{said}: {names}."
        yield Finding(Check.SPECIFIC, said)
