"""The words that carry a text's content, so that two texts can be compared by what they speak of. Pure.

Words without endings that English puts on them, pairs of characters where a script has no spaces; words
that any rubric or request uses are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from curation.search_terms import normalized
from llm.text import UNSPACED_RANGES

KEPT_STEMS = 60_000
"""Words whose stem a process remembers: those of many requests, in a few megabytes."""

_UNSPACED = re.compile(f"[{UNSPACED_RANGES}]")
_RUN = re.compile(f"(?P<unspaced>[{UNSPACED_RANGES}]+)|(?P<word>(?:(?![{UNSPACED_RANGES}])[^\\W_])+)")

_COMMON = frozenset(
    re.findall(
        r"\w+",
        "a about above across after all also an and any are as at be been being between both but by can"
        " could describe did do does each either else enough every few for from further had has have"
        " having how i if in into is it its just least less made make makes many may me might more most"
        " much must my need neither no nor not of on once one only or other our out over own per please"
        " provide same shall should since so some such than that the their them then there these they"
        " this those through to too two under until up upon us use used using very via was we were what"
        " when where whether which while who whose why will with within without would write writes"
        " writing written you your account achieve achieves accuracy accurate adequate adequately align"
        " aligned appropriate appropriately aspect assess assesses assessed assessing assessment balance"
        " clarity clear clearly coherence coherent complete completely comprehensive consider considers"
        " consistency consistent contain contains content cover covers coverage criteria criterion"
        " demonstrate demonstrates depth detail detailed details dimension effective effectively"
        " effectiveness element elements ensure ensures evaluate evaluates evaluating evaluation"
        " excellent extent fit fits focus full fully general given good high include includes including"
        " information integrate judge judges judging key level levels logical logically maintain"
        " maintains matter meet meets organization organize organized overall part particular piece point"
        " points present presents proper properly quality relevance relevant request required requirement"
        " requirements requires respond response responses score show shows specific standard strength"
        " structure structured style success suit suitable task text thing throughout tone topic user"
        " well work",
    )
)

_COMMON_PAIRS = frozenset(
    re.findall(
        r"..",
        "是否评估评价回答内容文章以及进行要求能够可以需要用户写作任务维度标准质量体现符合具体清晰准确完整合理"
        "明确一个一篇这个这些其中通过对于关于相关有效充分恰当适当没有不能不同方面程度整体表达请写请你帮我"
        "生成撰写根据如下以下结构逻辑语言",
    )
)

_ENDINGS = (
    "ational",
    "ations",
    "ation",
    "ments",
    "ment",
    "ness",
    "ingly",
    "edly",
    "ings",
    "ies",
    "ing",
    "ied",
)
_SHORT_ENDINGS = ("ers", "er", "es", "ed", "ly", "s", "y")


@lru_cache(KEPT_STEMS)
def stem(word: str) -> str:
    """The word without a common English ending, as long as four letters are left.

    >>> [stem(word) for word in ("letters", "organizing", "cities", "plan")]
    ['lett', 'organiz', 'cit', 'plan']
    """
    for ending in (*_ENDINGS, *_SHORT_ENDINGS):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)].rstrip("e")
    return word.rstrip("e") if len(word) > 4 else word


_COMMON_STEMS = frozenset(map(stem, _COMMON))


def content_terms(text: str) -> frozenset[str]:
    """
    >>> sorted(content_terms("Write a clear letter about canals: 运河展览"))
    ['canal', 'lett', '展览', '河展', '运河']
    """
    found: set[str] = set()
    for run in _RUN.finditer(normalized(text)):
        piece = run.group()
        if run.lastgroup == "unspaced":
            pairs = {piece[at : at + 2] for at in range(len(piece) - 1)} or {piece}
            found |= pairs - _COMMON_PAIRS
        elif piece not in _COMMON and (len(piece) > 2 or piece.isdigit()):
            base = stem(piece)
            if base not in _COMMON_STEMS:
                found.add(base)
    return frozenset(found)


def mostly_unspaced_terms(terms: Iterable[str]) -> bool:
    """Whether more than half of the terms are of a script without spaces."""
    unspaced = [_UNSPACED.match(term) is not None for term in terms]
    return sum(unspaced) * 2 > len(unspaced)
