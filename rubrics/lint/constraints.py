"""What the request demands in so many words needs a dimension that judges it (paper 3.2, A.2). Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from curation.hints import DEMANDS, edge_matches
from llm.text import UNSPACED_RANGES
from rubrics.lint.findings import Check, Finding, Subject
from rubrics.lint.terms import content_terms, mostly_unspaced_terms

OPENING = 300
"""Characters at the beginning of a long request that are its own words (ours): names and readers further on
are mostly those of its material."""

SHORT = 900
"""A request of so many characters has no material (ours)."""

NEAR_START, NEAR_END = 1_000, 500
"""Characters of a longer request, from its beginning and before its end, in which its demands are looked for
(ours): numbers and headings between them are mostly those of its material."""

MOST_NAMED = 6
"""Named items of a request that are looked for (ours); a longer list is material."""

_ALSO = {
    "a length": r"length|word count|word limit|words?\b|pages?\b|duration|minutes?\b|concis|brief"
    r"|字数|篇幅|长度|时长|页数",
    "a number of parts": r"structur|section|paragraph|part|chapter|point|step|format"
    r"|结构|段|章|部分|要点|步骤|格式|条",
    "a table": r"tables?\b|format|表格|格式",
    "a list": r"list|bullet|format|列表|分条|分点|格式|条目",
    "a format": r"format|markdown|json|html|latex|格式",
    "headings": r"head|title|structur|format|标题|结构|格式",
    "a person to write in": r"person\b|point of view|perspective|voice|人称|视角|口吻",
    "rhyme or a verse form": r"rhym|vers|meter|metre|form|押韵|韵|格律|对仗|体",
}
_LANGUAGE = re.compile(
    r"\b(?-i:in|into|using) "
    r"(?:English|Chinese|French|German|Spanish|Japanese|Korean|Russian|Portuguese|Italian)\b"
    r"|用(?:英文|英语|中文|法语|德语|日语|韩语|俄语|西班牙语)",
    re.IGNORECASE,
)
_LANGUAGE_JUDGED = re.compile(r"\blanguage|english|chinese|语言|英文|英语|中文|语种", re.IGNORECASE)
_AUDIENCE = re.compile(
    r"\b(?:for|aimed at|addressed to|target(?:ing|ed at)) (?!their |our |your |his |her )(?:[\w-]+ ){0,3}"
    r"(?:readers|students|children|beginners|teachers|investors|customers|patients|parents|users|employees|experts"
    r"|professionals|tourists|players)\b(?!['’])"
    rf"|(?:面向|针对|写给|给)[{UNSPACED_RANGES}]{{0,8}}?"
    r"(?:读者|学生|儿童|孩子|家长|用户|客户|老师|游客|员工|听众|观众|投资者)",
    re.IGNORECASE,
)
_AUDIENCE_JUDGED = re.compile(
    r"audience|reader|tone|regist|accessib|受众|读者|对象|语气|通俗|易懂|口吻", re.IGNORECASE
)
_NAMED = re.compile(r"《([^《》\n]{2,30})》|[“\"]([A-Z][^“”\"\n]{2,40})[”\"](?!\s*[:：])")


@dataclass(frozen=True, slots=True)
class Demand:
    """`words` is the request's own wording; `covered` says whether the rubric speaks of it."""

    kind: str
    words: str
    covered: bool


def uncovered(subject: Subject) -> Iterator[Finding]:
    for demand in demands(subject):
        if not demand.covered:
            said = f"The request asks for {demand.kind} (“{demand.words}”), and no dimension speaks of it."
            yield Finding(Check.CONSTRAINT, said, evidence=demand.words)


def demands(subject: Subject) -> Iterator[Demand]:
    """Every explicit demand that the request states near its beginning or its end."""
    for kind, pattern in DEMANDS:
        matches = edge_matches(pattern, subject.request)
        match = next((one for one in matches if _asks(one)), None)
        if match:
            also = re.compile(_ALSO[kind], re.IGNORECASE)
            covered = bool(pattern.search(subject.text) or also.search(subject.text))
            yield Demand(kind, _shown(match[0]), covered)
    for kind, pattern, judged in (
        ("a language", _LANGUAGE, _LANGUAGE_JUDGED),
        ("an audience", _AUDIENCE, _AUDIENCE_JUDGED),
    ):
        match = pattern.search(_own_words(subject.request))
        if match:
            spoken_of = content_terms(match[0]) & subject.text_terms
            yield Demand(kind, _shown(match[0]), bool(judged.search(subject.text) or spoken_of))
    yield from _named(subject)


def _asks(match: re.Match[str]) -> bool:
    """It stands where a request speaks for itself, and counts something: 'chapter 6' and '0.8 percentage
    points' do not, and one of a thing is no number of parts."""
    near = match.start() < NEAR_START or match.end() > len(match.string) - NEAR_END
    no_count = match.string[max(match.start() - 1, 0) : match.start()] in (".", "第")
    return near and not (no_count or match[0].startswith("一") or "percent" in match[0].lower())


def _named(subject: Subject) -> Iterator[Demand]:
    """Titles and quoted names, not what labels a part of the request ('"Plot": …'); one in another script
    than the rubric's cannot be looked for in it."""
    names: dict[str, None] = {}
    for match in _NAMED.finditer(_own_words(subject.request)):
        name = next(filter(None, match.groups())).strip(" ,.;!?，。；")
        if not any(name in known or known in name for known in names):
            names.setdefault(name)
    if len(names) > MOST_NAMED:
        return
    rubric_unspaced = mostly_unspaced_terms(subject.text_terms)
    for name in names:
        terms = content_terms(name)
        if terms and mostly_unspaced_terms(terms) == rubric_unspaced:
            yield Demand("a named item", _shown(name), bool(terms & subject.text_terms))


def _own_words(request: str) -> str:
    return request if len(request) <= SHORT else request[:OPENING]


def _shown(words: str) -> str:
    words = " ".join(words.split())
    return words if len(words) <= 60 else f"{words[:59]}…"
