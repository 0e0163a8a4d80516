"""Records that a model wrote as JSON although lines were asked for."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm.types import UnusableReplyError
from rubrics.parsing import Dimension, ScoreInterval, parse_dimensions, parse_intervals

TWO = [Dimension("Plot", "Does it hold?"), Dimension("Tone", "Is it warm: always?")]


@pytest.mark.parametrize(
    "reply",
    [
        '[{"name": "Plot", "reason": "Does it hold?"}, {"name": "Tone", "reason": "Is it warm: always?"}]',
        '```json\n[\n  {\n    "name": "Plot",\n    "reason": "Does it\n hold?"\n  },\n  {"Name": "Tone", '
        '"Rationale": "Is it warm: always?"}\n]\n```\nThat is all.',
        '{"dimensions": [{"name": "Plot", "reason": "Does it hold?"}, '
        '{"name": "Tone", "reason": "Is it warm: always?"}]}',
        '{"name": "Plot", "reason": "Does it hold?"}\n{"name": "Tone", "reason": "Is it warm: always?"}',
        '[{"名称"："Plot"，"理由"："Does it hold?"}，{"名称"："Tone"，"理由"："Is it warm: always?"}]',
    ],
)
def test_dimensions_in_json(reply: str) -> None:
    assert parse_dimensions(reply) == TWO


def test_intervals_in_json() -> None:
    expected = [ScoreInterval(1, 2, "No plot."), ScoreInterval(3, 4, "A plot with holes.")]
    for reply in (
        '{"1-2": "No plot.", "3-4": "A plot\nwith holes."}',
        '```\n[{"1–2": "No plot."}, {"3–4 分": "A plot with holes."}]\n```',
    ):
        assert parse_intervals(reply) == expected


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        ('[{"name": "Plot", "reason": "x", "weight": "3"}]', 'line 1: "weight" is no part'),
        ('[{"name": "Plot",\n"reason": 3}]', 'line 2: the value of "reason" is no text'),
        ('[{"name": "Plot"}, {"name": "Tone", "reason": "x"}]', "name without reason"),
        ('[{"name": "Plot", "reason": "x"}', "never closed"),
        ('[{"name": "Plot", "reason": ""}]', "reason"),
        ('[{"name": "Plot", "criteria_description": "x", "1-2": "y"}]', "criteria_description"),
    ],
)
def test_what_is_no_record_is_refused(reply: str, said: str) -> None:
    with pytest.raises(UnusableReplyError, match=said):
        parse_dimensions(reply)


def test_intervals_that_repeat_or_have_other_keys_are_refused() -> None:
    for reply in ('{"1-2": "a", "1-2": "b"}', '{"1-2": "a", "5": "b"}', '[{"interval": "1-2", "text": "a"}]'):
        with pytest.raises(UnusableReplyError):
            parse_intervals(reply)


WORDS = st.lists(st.text("abc:,'{}[]名 ", min_size=1, max_size=12), min_size=1, max_size=4).map(" ".join)
PLAIN = WORDS.map(lambda text: f"x {' '.join(text.split())} y")


@given(st.lists(st.tuples(PLAIN, PLAIN), min_size=1, max_size=6, unique_by=lambda pair: pair[0]))
def test_json_and_lines_say_the_same(pairs: list[tuple[str, str]]) -> None:
    lines = "\n".join(f"name: {name}\nreason: {reason}" for name, reason in pairs)
    in_json = json.dumps([{"name": name, "reason": reason} for name, reason in pairs], ensure_ascii=False)
    try:
        expected = parse_dimensions(lines)
    except UnusableReplyError:
        with pytest.raises(UnusableReplyError):
            parse_dimensions(in_json)
    else:
        assert parse_dimensions(in_json) == expected
