"""Levels have to grow from one to the next, and judges have to tell neighbours apart (paper A.3). Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from curation.search_terms import normalized, search_terms
from rubrics.lint.findings import Check, Finding, Subject

SAME = 0.9
"""Jaccard similarity of two levels' words from which on they say the same (ours)."""

_PRAISE = re.compile(
    r"\s*(?:the \w+ (?:is|are) )?"
    r"(?:excellent|outstanding|exceptional|flawless|perfect|impeccable|superb)(?:ly)?\b"
    r"|\s*(?:完美|出色|优秀|卓越|极佳|毫无瑕疵)",
    re.IGNORECASE,
)
_FAILURE = re.compile(
    r"\s*(?:the \w+ )?(?:fails? to|does not|lacks?|completely (?:ignores|misses|lacks)|missing|ignores)\b"
    r"|\s*(?:完全没有|完全缺乏|未能|缺乏|没有任何)",
    re.IGNORECASE,
)


_COUNTED = re.compile(
    r"\d+|\b(?:no|none|one|two|three|four|five|six|seven|eight|nine|ten|all|most|some|few|every|half)\b"
    r"|[零一二两三四五六七八九十半]|全部|所有|大多|部分|少数|个别"
)


def not_progressing(subject: Subject) -> Iterator[Finding]:
    for place, dimension in enumerate(subject.dimensions):
        words = [frozenset(search_terms(level.description)) for level in dimension.levels]
        texts = [" ".join(normalized(level.description).split()) for level in dimension.levels]
        for at in range(1, len(words)):
            before = _said_before(texts, words, at)
            if before is not None:
                lower = dimension.levels[before].label
                yield Finding(
                    Check.PROGRESS,
                    f"Level {dimension.levels[at].label} says nearly the same as level {lower}.",
                    place,
                    dimension.levels[at].label,
                    dimension.levels[at].description,
                )
        lowest, highest = dimension.levels[0], dimension.levels[-1]
        if _PRAISE.match(lowest.description):
            said = "The lowest level begins with praise: are the levels in order?"
            yield Finding(Check.PROGRESS, said, place, lowest.label, lowest.description)
        if _FAILURE.match(highest.description):
            said = "The highest level begins with a failure: are the levels in order?"
            yield Finding(Check.PROGRESS, said, place, highest.label, highest.description)


def _said_before(texts: list[str], words: list[frozenset[str]], at: int) -> int | None:
    """The nearest lower level that says the same as level `at`."""
    for lower in range(at - 1, -1, -1):
        if texts[lower] == texts[at]:
            return lower
        union = len(words[lower] | words[at])
        if (
            union
            and len(words[lower] & words[at]) / union >= SAME
            and not _numbers_differ(texts[lower], texts[at])
        ):
            return lower
    return None


def _numbers_differ(one: str, other: str) -> bool:
    """'Two of the five dates' and 'four of the five dates' differ by what can be counted."""
    return _COUNTED.findall(one) != _COUNTED.findall(other)
