"""Descriptions have to rest on what can be observed (paper A.3, G.2); praise alone cannot be. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rubrics.lint.findings import Check, Finding, Subject
from rubrics.lint.terms import content_terms

SHARE = 0.5
"""Of a dimension's levels, from which on it is reported (ours)."""

MOST_TERMS = 5
"""Content terms of a vague description, beside the words of praise (ours): a longer one says something."""

_VAGUE = re.compile(
    r"\b(?:good|great|nice|poor|bad|fair|weak|strong|average|adequate|excellent|outstanding|exceptional|superb|basic"
    r"|acceptable|satisfactory|decent|appropriate|suitable|effective|impressive|high[- ]quality"
    r"|well[- ]written|sophisticated|engaging|perfect|masterful)(?:ly)?\b"
    r"|较好|很好|良好|优秀|出色|较差|很差|一般|尚可|合适|恰当|得当|到位|不错|较高|较强|较弱|精彩|完美|基本符合|比较",
    re.IGNORECASE,
)
_OBSERVABLE = re.compile(
    r"[0-9０-９“”\"「」《》]"
    r"|\b(?:one|two|three|four|five|six|seven|eight|ten|no|none|every|all|only|omit\w*|missing|absent|mention\w*|name[sd]?"
    r"|quot\w*|cit\w+|list\w*|repeat\w*|contradict\w*|opens?|closes?|ends?|begins?|paragraphs?|sentences?|sections?|words?"
    r"|examples?|dates?|titles?|headings?|errors?|steps?|lines?|terms?)\b"
    r"|没有|缺少|遗漏|出现|提到|写出|列出|引用|重复|矛盾|开头|结尾|段|句|处|例|数字|标题|步骤|错误|只|至少|每|均|未",
    re.IGNORECASE,
)


_WORDS_OF_PRAISE = content_terms(
    "good great poor bad fair weak strong average excellent outstanding exceptional superb basic acceptable"
    " satisfactory decent impressive engaging perfect masterful somewhat mostly barely almost quite somehow"
)


def vague(subject: Subject) -> Iterator[Finding]:
    """A level is vague when it praises or blames and names nothing: no number, no quotation, no part of a
    text, little else besides, and nothing that the request speaks of."""
    for place, dimension in enumerate(subject.dimensions):
        found = [
            level
            for level in dimension.levels
            if _VAGUE.search(level.description)
            and not _OBSERVABLE.search(level.description)
            and len(content_terms(level.description) - _WORDS_OF_PRAISE) <= MOST_TERMS
            and not content_terms(level.description) & subject.request_terms
        ]
        if found and len(found) >= SHARE * len(dimension.levels):
            labels = ", ".join(level.label for level in found)
            yield Finding(
                Check.VAGUE,
                f"Levels {labels} name nothing that one could look for in a response.",
                place,
                found[0].label if len(found) == 1 else "",
                found[0].description,
            )
