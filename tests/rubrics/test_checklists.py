"""Rubrics as files: what is read, what is refused and where, and that nothing changes on the way."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rubrics.checklists import checklist_line, in_canonical_order, read_checklist
from rubrics.rubric import InvalidRubricError, Rubric
from tests.samples import dimensions

OFFICIAL = Path(__file__).parents[1] / "fixtures" / "official" / "writingbench.jsonl"
SHAPE = dimensions(("Voice", "结构", "Tabs\tand “quotes”, \u00a0"))


def test_the_canonical_list_and_an_official_line_are_read() -> None:
    assert read_checklist(json.dumps(SHAPE)) == Rubric.from_json(SHAPE)
    assert read_checklist("\ufeff".encode() + json.dumps(SHAPE).encode()) == Rubric.from_json(SHAPE)
    line = OFFICIAL.read_text(encoding="utf-8").split("\n")[0]
    rubric = read_checklist(line + "\n")
    assert [one.name for one in rubric.dimensions] == ["Lesson structure"]
    assert rubric.maximum == 10


def test_what_goes_out_comes_in_again() -> None:
    rubric = Rubric.from_json(SHAPE)
    line = checklist_line(
        index=7, query="Write \u2028 it.", checklist=rubric.to_json(), provenance={"rubric": 7}
    )
    assert line.count("\n") == 1
    assert list(json.loads(line)) == ["index", "domain1", "domain2", "query", "checklist", "provenance"]
    assert read_checklist(line) == rubric
    assert read_checklist(rubric.serialize()) == rubric


def test_a_stored_dimension_gets_its_keys_in_order() -> None:
    (one,) = dimensions(("Voice",))
    longer = {**one, "9-10": "better", "11-12": "best"}
    assert list(in_canonical_order(dict(sorted(longer.items())))) == list(longer)


def _without(key: str) -> str:
    return json.dumps([SHAPE[0], {name: text for name, text in SHAPE[1].items() if name != key}])


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("", "nothing in it"),
        (b"\xff\xfe", "byte 0"),
        ("{", "not JSON"),
        ("[{]", "not JSON"),
        ("3", "a JSON list"),
        ('{"query": "x"}', '"checklist": it has query'),
        ('{"checklist": []}', "at least one dimension"),
        ('{"checklist": [1]}', "dimension 1: not an object"),
        ('{"checklist": [], "checklist": []}', '"checklist" is given twice'),
        ('{"a": 1}\n{"a": 2}', "2 lines"),
        (_without("name"), "dimension 2: name is missing"),
        (_without("3-4"), 'dimension 2: interval "3-4" is missing'),
        (json.dumps([SHAPE[0] | {"9 to 10": "x"}]), "dimension 1: unknown key '9 to 10'"),
        (json.dumps([SHAPE[0] | {"5-6": 4}]), 'dimension 1: interval "5-6" is not a text'),
        (json.dumps([SHAPE[0], SHAPE[0]]), "repeats that of dimension 1"),
        ("[" * 100_000, "nested too deeply"),
        ('{"a":' * 100_000, "nested too deeply"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(source: str | bytes, said: str) -> None:
    with pytest.raises(InvalidRubricError) as caught:
        read_checklist(source)
    assert said in str(caught.value)
