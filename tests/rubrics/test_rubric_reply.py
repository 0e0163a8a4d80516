"""Reading a whole rubric from one reply: identity over what we write, refusal with the line, time."""

from __future__ import annotations

import contextlib
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.fuzz import fuzz
from llm.types import UnusableReplyError
from rubrics.construction import AcceptanceBounds, MiningTrace, assemble_rubric
from rubrics.json_reply import find_objects
from rubrics.parsing import Dimension, parse_dimensions, parse_intervals, render_dimensions
from rubrics.rubric import Rubric, RubricDimension, name_key, numbered_levels
from rubrics.rubric_reply import parse_rubric

UNSTORABLE = ("Cs",)
LINE_ENDS = "\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"


def said(text: str) -> bool:
    """It has a letter or a number and is not a placeholder: what a reply's text must be to be taken."""
    bare = text.strip()
    return any(map(str.isalnum, text)) and not (bare.startswith("<") and bare.endswith(">"))


TEXTS = st.text(
    st.characters(exclude_categories=UNSTORABLE, exclude_characters="\0"), min_size=1, max_size=30
).filter(said)
NAMES = st.text(
    st.characters(exclude_categories=UNSTORABLE, exclude_characters="\0" + LINE_ENDS), min_size=1, max_size=30
).filter(said)
LEVELS = st.lists(TEXTS, min_size=4, max_size=9).map(numbered_levels)
RUBRICS = st.lists(
    st.builds(RubricDimension, NAMES, TEXTS, LEVELS),
    min_size=3,
    max_size=8,
    unique_by=lambda dimension: name_key(dimension.name),
).map(lambda dimensions: Rubric(tuple(dimensions)))
PROSE = st.sampled_from(
    ["", "Here is the rubric:", "### 评分标准", "Note [1] and {this}: “ok”.", "以下为评分标准，请查收。"]
)


def read(text: str) -> Rubric:
    return assemble_rubric(MiningTrace(specifications=tuple(parse_rubric(text))))


@settings(deadline=None)
@given(RUBRICS)
def test_reading_the_canonical_form_gives_the_rubric_back(rubric: Rubric) -> None:
    assert Rubric.from_json(rubric.serialize()) == rubric
    assert Rubric.from_json(rubric.to_json()).digest == rubric.digest


@settings(deadline=None)
@given(RUBRICS, PROSE, PROSE, st.sampled_from(["```json\n{}\n```", "```\n{}\n```", "{}", "<<<{}>>>"]))
def test_reading_a_reply_with_the_rubric_in_it_gives_the_rubric_back(
    rubric: Rubric, before: str, after: str, fence: str
) -> None:
    reply = f"{before}\n\n{fence.replace('{}', rubric.serialize())}\n\n{after}"
    assert read(reply) == rubric


@settings(deadline=None)
@given(RUBRICS)
def test_plain_names_and_scopes_survive_from_one_stage_to_the_next(rubric: Rubric) -> None:
    """Of any rubric, the words alone: signs at a line's start may be numbering or emphasis."""
    plain = [
        Dimension(f"n{number} {_words(one.name)}", f"r {_words(one.criteria_description)}")
        for number, one in enumerate(rubric.dimensions)
    ]
    assert parse_dimensions(render_dimensions(plain)) == plain


@settings(deadline=None)
@given(RUBRICS)
def test_plain_descriptions_survive_as_intervals(rubric: Rubric) -> None:
    texts = [f"t {_words(level.description)}" for level in rubric.dimensions[0].levels]
    reply = "\n".join(
        f"{level.label}: {text}" for level, text in zip(numbered_levels(texts), texts, strict=True)
    )
    assert numbered_levels(one.description for one in parse_intervals(reply)) == numbered_levels(texts)


def _words(text: str) -> str:
    return " ".join("".join(sign if sign.isalpha() else " " for sign in text).split()) or "x"


def reply_of(*dimensions: str) -> str:
    return "[\n" + ",\n".join(dimensions) + "\n]"


LEVELS_OF_PLOT = '"1-2": "a", "3-4": "b", "5-6": "c", "7-8": "d"'
PLOT = f'{{"name": "Plot", "criteria_description": "Does it turn?", {LEVELS_OF_PLOT}}}'


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        ("", "no JSON list of objects"),
        ("[]", "no JSON list of objects"),
        ('["Plot", "Tone"]', "no JSON list of objects"),
        (reply_of(PLOT, PLOT.replace('"Plot"', "7")), "dimension 2: line 3: name is not a text"),
        (reply_of(PLOT.replace('"name": "Plot", ', "")), "dimension 1: line 2: name is missing"),
        (reply_of(PLOT.replace('"a"', '"…"')), "description of interval 1-2 is empty"),
        (reply_of(PLOT.replace('"a"', '"<what it is like>"')), "is a placeholder of the prompt"),
        (reply_of(PLOT.replace('"a"', "null")), "description of interval 1-2 is not a text"),
        (reply_of(PLOT.replace('"Plot"', '"Plot\\nTone"')), "name goes over more than one line"),
        (reply_of(PLOT.replace('"Plot"', '"Plot\\u0000"')), "a character that cannot be stored"),
        (reply_of(PLOT.replace('"Plot"', '"Plot\\ud800"')), "a character that cannot be stored"),
        (reply_of(PLOT.replace('"1-2"', '"1-3"')), "interval 1-3 does not hold two consecutive scores"),
        (reply_of(PLOT.replace('"1-2"', '"3-4"')), "intervals 3-4 and 3-4 overlap"),
        (reply_of(PLOT.replace('"1-2"', '"1"')), 'unknown key "1"'),
        (reply_of(PLOT.replace('"a"', r'"a\d"')), "line 2: a backslash that JSON does not know"),
        (reply_of(PLOT.replace('"name": "Plot"', '"name": "A", "Name": "B"')), "a second name"),
        (reply_of(PLOT.replace('"name"', "'name'")), 'line 2: "\'" where the next part or the end'),
        (
            reply_of(PLOT, "and so on"),
            "line 3: 'a' where the next part or the end of the list that begins on line 1",
        ),
        (reply_of(PLOT, PLOT.replace('"3-4": "b"', '"3-4"; "b"')), "line 3: a key inside a text"),
        (reply_of(PLOT.replace(', "3-4": ', ', 3-4": ')), "line 2: a key inside a text"),
        (reply_of(PLOT.replace(', "3-4": "b"', "\n3-4: b")), "line 2: a key inside a text"),
        (reply_of(PLOT.replace('"3-4": "b"', '"b"')), "line 2: a key inside a text"),
        (reply_of(PLOT.replace('"b"', '"b" or 3"')), "line 2: a text with a single quotation mark inside"),
        (reply_of(PLOT.replace("}", ""), PLOT), "line 3: a key inside a text"),
        (reply_of(PLOT.replace('"a"', "007")), "line 2: '0' where the next part or the end"),
        (
            reply_of(PLOT.replace('"1-2": "a"', '"levels": ["a"]')),
            '"levels" holds something other than labelled',
        ),
        (reply_of(PLOT.replace('"a"', '{"x":' * 12)), "JSON nested too deeply"),
        (reply_of(PLOT)[:-2], "line 1: a JSON list that is never closed"),
        (reply_of(PLOT)[:-3], "line 2: a JSON object that is never closed"),
        (reply_of(PLOT)[:-5], "line 2: a text that is never closed"),
    ],
)
def test_what_is_cut_or_in_doubt_is_refused_with_its_place(reply: str, message: str) -> None:
    with pytest.raises(UnusableReplyError) as refusal:
        parse_rubric(reply)
    assert message in str(refusal.value)


def test_the_same_list_twice_is_one_and_repeated_names_are_dropped() -> None:
    twice = reply_of(PLOT, PLOT.replace("Does it turn?", "Again."))
    (only,) = parse_rubric(f"{twice}\nOnce more:\n{twice}")
    assert only.dimension == Dimension("Plot", "Does it turn?")


def test_the_bounds_are_those_that_are_given() -> None:
    dimensions = [PLOT.replace("Plot", f"Plot {letter}") for letter in "abcdefghij"]
    assert len(parse_rubric(reply_of(*dimensions))) == 8
    bounds = AcceptanceBounds(min_consolidated=3, max_consolidated=3, min_intervals=5)
    found = parse_rubric(reply_of(*dimensions), bounds)
    assert [one.failure for one in found] == ["4 intervals in the reply, at least 5 are needed"] * 3


def test_a_text_keeps_what_json_escapes() -> None:
    (entry,) = find_objects(r'[{"name": "a \"b\" \\ \u4e00 \t", "1-2": "x"}]')
    assert entry.pairs[0].value == 'a "b" \\ 一 \t'


def test_some_thousand_mutated_replies_are_read_or_refused() -> None:
    read_as = fuzz(3_000, seed=7)
    assert {"dimensions", "intervals", "rubric", "assessment"} <= set(read_as)


@pytest.mark.parametrize(
    "run", ['"', '{"', '[{"', "\\", "“", '","', '": "', "}", "[", '{"a":{', "\n", '"a": "b", ']
)
@pytest.mark.parametrize("start", ["", '[{"name": "', '[{"'])
def test_a_long_run_of_one_sign_is_refused_in_time(start: str, run: str) -> None:
    begun = time.process_time()
    with contextlib.suppress(UnusableReplyError):
        parse_rubric(start + run * 20_000 + "x")
    assert time.process_time() - begun < 2
