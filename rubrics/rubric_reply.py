"""Reading a whole rubric from one reply: DRG and RubricGen (paper B.4, G.3, A.4). Pure."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NoReturn

from llm.types import UnusableReplyError
from rubrics.construction import PAPER_BOUNDS, AcceptanceBounds, Specification
from rubrics.json_reply import ObjectInReply, Pair, Value, find_objects
from rubrics.parsing import Dimension, ScoreInterval, check_text, interval_label
from rubrics.rubric import NAME, SCOPE, SCORES_PER_LEVEL, name_key

_FIELDS = {
    NAME: {"name", "dimension", "dimension name", "名称", "维度", "维度名", "维度名称"},
    SCOPE: {
        *("criteria description", "criterion description", "description", "scope", "reason"),
        *("评估范围", "评价范围", "评分范围", "范围", "描述", "标准描述", "维度描述", "说明", "理由"),
    },
    "number": {"id", "index", "no", "no.", "number", "序号", "编号"},
    "intervals": {
        *("intervals", "score intervals", "scores", "levels", "scoring"),
        *("评分区间", "分数区间", "评分标准", "分数描述"),
    },
}
_FIELD_OF = {key: field for field, keys in _FIELDS.items() for key in keys}


def parse_rubric(text: str, bounds: AcceptanceBounds = PAPER_BOUNDS) -> list[Specification]:
    """The dimensions of a rubric in a reply, the first `bounds.max_consolidated`; repeated names are dropped.

    Intervals go by their labels, lowest first, for the keys of an object have no order; a dimension with
    fewer than `bounds.min_intervals` has a failure instead. `construction.assemble_rubric` labels them anew.
    Raises UnusableReplyError for a reply without such a list, one that is cut, and one in doubt.

    >>> parse_rubric('[{"name": "Plot", "criteria_description": "Does it turn?", "1-2": "No."}]')[0].failure
    '1 intervals in the reply, at least 4 are needed'
    """
    drafts: dict[str, Specification] = {}
    for number, entry in enumerate(find_objects(text), 1):
        try:
            draft = _specification(entry, bounds.min_intervals)
        except UnusableReplyError as error:
            raise UnusableReplyError(f"dimension {number}: {error}") from None
        drafts.setdefault(name_key(draft.dimension.name), draft)
    return list(drafts.values())[: bounds.max_consolidated]


def _specification(entry: ObjectInReply, min_intervals: int) -> Specification:
    fields: dict[str, str] = {}
    labelled: list[tuple[Pair, ScoreInterval]] = []
    for pair in entry.pairs:
        if label := interval_label(pair.key):
            labelled.append((pair, _interval(pair, label)))
            continue
        field = _FIELD_OF.get(" ".join(pair.key.strip().casefold().replace("_", " ").split()), "")
        if field == "number" and isinstance(pair.value, int | str):
            continue
        if field == "intervals" and isinstance(pair.value, list):
            labelled += _nested(pair, pair.value)
        elif field in (NAME, SCOPE):
            if field in fields:
                _fail(pair.line, f"a second {field}")
            fields[field] = _text(pair, field)
        else:
            _fail(pair.line, f'unknown key "{pair.key}"')
    for field in (NAME, SCOPE):
        if field not in fields:
            _fail(entry.line, f"{field} is missing")
    if fields[NAME].splitlines() != [fields[NAME]]:
        _fail(entry.line, "name goes over more than one line")
    intervals = _in_order(labelled)
    few = len(intervals) < min_intervals
    return Specification(
        Dimension(fields[NAME], fields[SCOPE]),
        () if few else intervals,
        f"{len(intervals)} intervals in the reply, at least {min_intervals} are needed" if few else "",
    )


def _nested(pair: Pair, inside: Sequence[Value] | Sequence[Pair]) -> list[tuple[Pair, ScoreInterval]]:
    found = []
    for each in inside:
        label = interval_label(each.key) if isinstance(each, Pair) else None
        if not isinstance(each, Pair) or label is None:
            _fail(pair.line, f'"{pair.key}" holds something other than labelled intervals')
        found.append((each, _interval(each, label)))
    return found


def _interval(pair: Pair, label: tuple[int, int, str]) -> ScoreInterval:
    low, high, note = label
    if high - low != SCORES_PER_LEVEL - 1:
        _fail(pair.line, f"interval {low}-{high} does not hold two consecutive scores")
    description = _text(pair, f"description of interval {low}-{high}")
    return ScoreInterval(low, high, f"{note} {description}" if note else description)


def _in_order(labelled: Sequence[tuple[Pair, ScoreInterval]]) -> tuple[ScoreInterval, ...]:
    ordered = sorted(labelled, key=lambda each: each[1].low)
    for (_, lower), (pair, upper) in pairwise(ordered):
        if upper.low <= lower.high:
            pairs = f"{lower.low}-{lower.high} and {upper.low}-{upper.high}"
            _fail(pair.line, f"intervals {pairs} overlap")
    return tuple(interval for _, interval in ordered)


def _text(pair: Pair, what: str) -> str:
    if not isinstance(pair.value, str):
        _fail(pair.line, f"{what} is not a text")
    check_text(pair.value, pair.line, what)
    return pair.value


def _fail(line: int, what: str) -> NoReturn:
    raise UnusableReplyError(f"line {line}: {what}")
