"""Finding the passage that a reviewer quotes in the text that it is quoted from."""

from __future__ import annotations

import re
from collections.abc import Mapping

from curation.review.terms import LONGEST_NOTE, Evidence

SIDES = ("reconstruction", "source")
"""Where a passage without a side is looked for, in this order: the reconstruction is what is judged."""


class NotQuotedError(Exception):
    """The passage stands in neither text, or is too long to quote; the message is for the reviewer."""


def locate_evidence(
    passage: str,
    texts: Mapping[str, str],
    *,
    side: str = "",
    start: int | None = None,
    end: int | None = None,
) -> Evidence | None:
    """The passage with its exact place, as the text itself has it; None for an empty passage.

    The place that the page sends is believed if the passage stands there. Otherwise (it was pasted, or a form
    has changed its line breaks) it is looked for, any space standing for any other.
    """
    if not passage.strip():
        return None
    if len(passage) > LONGEST_NOTE:
        raise NotQuotedError(f"Quote at most {LONGEST_NOTE:,} characters.")
    if side in texts and start is not None and end is not None and 0 <= start < end:
        there = texts[side][start:end]
        if there.split() == passage.split():
            return Evidence(side, start, min(end, len(texts[side])), there)
    words = re.compile(r"\s+".join(map(re.escape, passage.split())))
    for each in [side] if side in texts else SIDES:
        if found := words.search(texts[each]):
            return Evidence(each, found.start(), found.end(), found[0])
    raise NotQuotedError("The quoted passage stands in neither text. Copy it from one of them.")
