"""Reading what models write: name and reason records, score intervals (paper A.4). Pure.

Models dress the plain form up with numbering, bullets, bold, headings, code fences, full-width colons. All
of that is taken off. What can be read in two ways is not guessed at: it raises `UnusableReplyError`, which
says the line, and the model is asked again.

A field starts at its label and goes on over the following lines. Text after a blank line belongs to no
field, so that a closing remark never ends up in a rubric; text before the first label and after a heading,
a rule or the end of a code fence is around the records and is skipped.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import NoReturn

from llm.types import UnusableReplyError
from rubrics.json_records import as_lines
from rubrics.rubric import SCORES_PER_LEVEL, name_key


@dataclass(frozen=True, slots=True)
class Dimension:
    """A proposed dimension; `reason` is its scope, why it matters and how it shows (paper A.2)."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class ScoreInterval:
    """Two consecutive scores, as the model labelled them, and what earns them."""

    low: int
    high: int
    description: str


NAME_WORDS = r"dimension\s++name|name|dimension|维度名称|维度名|名称|维度"
_REASON_WORDS = r"reason|rationale|理由|原因"
_REASON_INSIDE = re.compile(rf"(?:{_REASON_WORDS})\s*+[*_`]*+\s*+[:：]", re.IGNORECASE)

_DECORATION = (
    r"(?:\s|[\ufeff\u200b-\u200d\u2060]|>|#{1,6}(?=\s)|[-+*–—](?=\s)|[•●○▪■□◆◇◦‣·➤▶★☆✓✔✅]\ufe0f?|[①-⑳]"
    r"|[0-9０-９]{1,3}(?:[.．](?![0-9０-９])|[)）、])|[(（][0-9０-９]{1,3}[)）]"
    r"|[一二三四五六七八九十]{1,3}、|[(（][一二三四五六七八九十]{1,3}[)）])*+"
)
_MARK = r"(?P<mark>\*{1,3}|_{1,2}|`)?"
_CLOSED = r"(?P<closed>(?P=mark))?"
_NUMBER = r"[0-9０-９]{1,3}"
_TO = r"\s*+(?:[-‐‑‒–—―−－~～〜]|to|至|到)\s*+"
_SCORE_WORD = (
    r"(?:(?:scores?|levels?|points?|bands?|tiers?|分数段?|得分|评分|等级|区间|第[一二三四五六七八九十]{1,2}[档级])"
    r"\s*+(?:[0-9]{1,2}\s*+(?=[(（\[【]))?[:：]?\s*+)?"
)
_INTERVAL = re.compile(
    rf"{_DECORATION}{_MARK}{_DECORATION}{_SCORE_WORD}(?P<open>[\[【(（])?\s*+"
    rf"(?P<low>{_NUMBER}){_TO}(?P<high>{_NUMBER})\s*+(?:分|points?|pts)?\s*+(?P<shut>[\]】)）])?\s*+分?\s*+"
    rf"(?P<note>[(（][^()（）]*[)）])?\s*+{_CLOSED}\s*+(?P<colon>[:：])?(?P<value>.*)",
    re.IGNORECASE,
)
_PAIR = re.compile(
    rf"{_DECORATION}{_MARK}[\[【]\s*+(?P<low>{_NUMBER})\s*+[,，]\s*+(?P<high>{_NUMBER})\s*+[\]】]\s*+分?"
    rf"(?P<note>)(?P<open>)(?P<shut>)\s*+{_CLOSED}\s*+(?P<colon>[:：])(?P<value>.*)"
)
"""`[1, 2]: …`, which without its colon would be a list in a text."""
_SINGLE_SCORE = re.compile(
    rf"{_DECORATION}{_MARK}{_SCORE_WORD}{_NUMBER}\s*+(?:分|points?|pts)?\s*+{_CLOSED}\s*+[:：]", re.IGNORECASE
)
_INTERVAL_INSIDE = re.compile(rf"(?<![0-9０-９])(?P<low>{_NUMBER}){_TO}{_NUMBER}\s*+分?[\])】）*]*\s*+[:：]")

_LINE_BREAK = re.compile(r"\r\n|\n|\r")
_FENCE = re.compile(r"\s*+(?:```|~~~)\s*+[\w-]*+\s*+")
_HEADING = re.compile(r"\s*+#{1,6}\s.*")
_RULE = re.compile(r"\s*+(?:-{3,}|={3,}|\*{3,}|_{3,})\s*+")
_BOLD_LINE = re.compile(r"\s*+(\*\*|__)[^*_]+\1\s*+")
_TABLE_ROW = re.compile(r"\s*+\|.*\|")
_PLACEHOLDER = re.compile(r"<[^<>]*>")
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_CANNOT_BE_STORED = "a character that cannot be stored (NUL or a lone surrogate)"

FieldMatch = tuple[str, str]
"""A field and the text that follows its label on the line."""


class FieldLabels:
    """The fields of a record, each with the words that may label it (a regular expression).

    >>> FieldLabels(name="name|名称").match("2. **名称：** 文风")
    ('name', '文风')
    """

    def __init__(self, **words: str) -> None:
        self._fields = tuple(words)
        labels = "|".join(f"(?P<{field}>{expression})" for field, expression in words.items())
        self._pattern = re.compile(
            rf"{_DECORATION}{_MARK}{_DECORATION}(?P<box>[【\[])?(?:{labels})"
            rf"\s*+(?:[0-9]{{1,3}}|[一二三四五六七八九十]{{1,3}})?\s*+(?(box)[】\]]\s*+){_CLOSED}"
            rf"\s*+(?(box)[:：]?|[:：])(?P<value>.*)",
            re.IGNORECASE,
        )

    def match(self, line: str) -> FieldMatch | None:
        """The field that starts on the line. `### Dimension 2: …` is a heading and starts none."""
        match = self._pattern.fullmatch(line)
        if match is None:
            return None
        label = next(field for field in self._fields if match[field])
        if _HEADING.fullmatch(line) and match[label].casefold() in ("dimension", "维度"):
            return None
        return label, _value_of(match)


_DIMENSION_FIELDS = FieldLabels(name=NAME_WORDS, reason=_REASON_WORDS)


def parse_dimensions(text: str) -> list[Dimension]:
    """Reads repeated `name:` / `reason:` records; repeated names are dropped, the first one stays (A.4).

    A reply that is a JSON list of such objects is read too.

    >>> parse_dimensions("1. **名称**：时代感\\n   **理由**：年代细节是否可信")
    [Dimension(name='时代感', reason='年代细节是否可信')]
    """
    named: _Field | None = None
    dimensions: dict[str, Dimension] = {}
    lines = as_lines(text, lambda key: _DIMENSION_FIELDS.match(f"{key}:") is not None)
    for part in _read_fields(lines, lambda line, _: _DIMENSION_FIELDS.match(line)):
        if part.label == "name":
            if named:
                _fail(named.line, "name without reason")
            named = part
        elif named is None:
            _fail(part.line, "reason without a name before it")
        else:
            dimension = Dimension(_dimension_name(named), part.text("reason"))
            dimensions.setdefault(name_key(dimension.name), dimension)
            named = None
    if named:
        _fail(named.line, "name without reason")
    if not dimensions:
        raise UnusableReplyError("no name and reason records in the reply")
    return list(dimensions.values())


def parse_intervals(text: str) -> list[ScoreInterval]:
    """Reads `1-2: …` lines, or a JSON object of them, labels as the model wrote them: two consecutive scores
    each, rising.

    Labels that start elsewhere than at 1 or leave a gap are taken: the paper numbers the descriptions by
    their order in any case (A.4). Repeated, overlapping and falling labels raise, for then the order of
    the descriptions is in doubt.

    >>> parse_intervals("**1–2 分**：没有论据")
    [ScoreInterval(low=1, high=2, description='没有论据')]
    """
    intervals: list[ScoreInterval] = []
    lines = as_lines(text, lambda key: interval_label(key) is not None)
    for part in _read_fields(lines, _match_interval):
        low, high = (int(score) for score in part.label.split("-"))
        if high - low != SCORES_PER_LEVEL - 1:
            _fail(part.line, f"interval {low}-{high} does not hold two consecutive scores")
        if intervals and low <= intervals[-1].high:
            _fail(part.line, f"interval {low}-{high} does not come after {intervals[-1].high}")
        description = part.text(f"description of interval {low}-{high}")
        for inside in _INTERVAL_INSIDE.finditer(description):
            if int(inside["low"]) == high + 1:
                _fail(part.line, "two intervals on one line")
        intervals.append(ScoreInterval(low, high, description))
    if not intervals:
        raise UnusableReplyError("no score intervals in the reply")
    return intervals


def interval_label(label: str) -> tuple[int, int, str] | None:
    """An interval's two scores and the note in brackets beside them, if the label is one and nothing else.

    >>> interval_label("1–2 分（较差）"), interval_label("weight")
    ((1, 2, '（较差）'), None)
    """
    match = _INTERVAL.fullmatch(label)
    if match is None or match["value"].strip():
        return None
    return int(match["low"]), int(match["high"]), match["note"] or ""


def check_text(text: str, line: int, what: str) -> None:
    """Refuses a text that says nothing, one that copies the prompt's form, and one that cannot be stored."""
    if _UNSTORABLE.search(text):
        _fail(line, _CANNOT_BE_STORED)
    if not any(character.isalnum() for character in text):
        _fail(line, f"{what} is empty")
    if _PLACEHOLDER.fullmatch(text.strip()):
        _fail(line, f"{what} is a placeholder of the prompt")


def render_dimensions(dimensions: Iterable[Dimension]) -> str:
    """The records that `parse_dimensions` reads, for the next prompt."""
    return "\n\n".join(f"name: {dimension.name}\nreason: {dimension.reason}" for dimension in dimensions)


def split_lines(text: str) -> list[str]:
    """Lines at CR, LF or CRLF only: other separators are characters of the text."""
    return _LINE_BREAK.split(text)


def is_fence(line: str) -> bool:
    """The line opens or closes a Markdown code block."""
    return _FENCE.fullmatch(line) is not None


@dataclass(slots=True)
class _Field:
    label: str
    line: int
    lines: list[str] = field(default_factory=list)

    def text(self, what: str) -> str:
        text = "\n".join(self.lines).strip()
        check_text(text, self.line, what)
        return text


def _read_fields(text: str, match: Callable[[str, int], FieldMatch | None]) -> list[_Field]:
    fields: list[_Field] = []
    current: _Field | None = None
    after_blank = in_fence = False
    for number, line in enumerate(split_lines(text), 1):
        if _UNSTORABLE.search(line):
            _fail(number, _CANNOT_BE_STORED)
        if _TABLE_ROW.match(line):
            _fail(number, "a table, where labelled lines were asked for")
        if is_fence(line):
            in_fence = not in_fence
            if in_fence and current:
                _fail(number, "a code block inside or after a record")
            current = None
        elif found := match(line, number):
            current = _Field(found[0], number, [found[1]] if found[1] else [])
            fields.append(current)
        elif _is_divider(line, after_blank):
            current = None
        elif current and line.strip():
            if after_blank and current.lines:
                _fail(number, "text after a blank line, which belongs to no field")
            current.lines.append(line.strip())
        after_blank = not line.strip()
    return fields


def _is_divider(line: str, after_blank: bool) -> bool:
    if _HEADING.fullmatch(line) or _RULE.fullmatch(line):
        return True
    return after_blank and _BOLD_LINE.fullmatch(line) is not None


def _match_interval(line: str, number: int) -> FieldMatch | None:
    match = _INTERVAL.fullmatch(line) or _PAIR.fullmatch(line)
    if match is None:
        if _SINGLE_SCORE.match(line):
            _fail(number, "a single score, where an interval of two was asked for")
        return None
    enclosed = (match["open"] and match["shut"]) or (match["mark"] and match["closed"])
    if not (match["colon"] or enclosed or not match["value"].strip()):
        _fail(number, "two numbers without a colon: an interval's label or a part of the text?")
    value = _value_of(match)
    note = match["note"] or ""
    return f"{int(match['low'])}-{int(match['high'])}", f"{note} {value}".strip()


def _dimension_name(part: _Field) -> str:
    if len(part.lines) > 1:
        _fail(part.line, "name goes over more than one line")
    name = " ".join(part.text("name").split())
    if _REASON_INSIDE.search(name):
        _fail(part.line, "name and reason on one line")
    return name


def _value_of(match: re.Match[str]) -> str:
    """The text after the label, without the emphasis that closes there or that wraps it whole."""
    value: str = match["value"].strip()
    mark = match["mark"]
    if mark and not match["closed"]:
        value = value.removeprefix(mark) if value.startswith(mark) else value.removesuffix(mark)
    return unwrap(value)


def unwrap(text: str) -> str:
    """The text without Markdown emphasis around the whole of it."""
    text = text.strip()
    for mark in ("***", "**", "*", "__", "_", "`"):
        inner = text.removeprefix(mark).removesuffix(mark)
        if len(inner) == len(text) - 2 * len(mark) and inner and mark not in inner:
            return inner.strip()
    return text


def _fail(line: int, what: str) -> NoReturn:
    raise UnusableReplyError(f"line {line}: {what}")
