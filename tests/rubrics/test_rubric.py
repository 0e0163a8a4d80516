"""The rubric's value object: canonical form, digest, what is refused and how it is said."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rubrics.rubric import (
    InvalidRubricError,
    Rubric,
    RubricDimension,
    ScoreLevel,
    name_key,
    writer_input,
)

TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1).filter(
    lambda text: bool(text.strip())
)
NAMES = TEXTS.filter(lambda name: name.splitlines() == [name])


def entry(name: str = "Plot", levels: int = 5, **changes: Any) -> dict[str, Any]:
    labels = {f"{2 * order + 1}-{2 * order + 2}": f"level {order}" for order in range(levels)}
    return {"name": name, "criteria_description": f"Whether {name} works", **labels, **changes}


@st.composite
def rubrics(draw: st.DrawFn) -> Rubric:
    names = draw(st.lists(NAMES, min_size=1, max_size=4, unique_by=name_key))
    return Rubric.from_json(
        [
            {
                "name": name,
                "criteria_description": draw(TEXTS),
                **{
                    f"{2 * order + 1}-{2 * order + 2}": draw(TEXTS)
                    for order in range(draw(st.integers(4, 8)))
                },
            }
            for name in names
        ]
    )


@settings(deadline=None)
@given(rubrics())
def test_reading_what_was_serialized_gives_the_same_rubric(rubric: Rubric) -> None:
    assert Rubric.from_json(rubric.serialize()) == rubric
    assert Rubric.from_json(rubric.to_json()) == rubric
    assert Rubric.from_json(rubric.serialize()).digest == rubric.digest


def test_the_canonical_form_has_its_keys_in_order_whatever_the_order_given() -> None:
    shuffled = dict(sorted(entry(levels=6).items(), reverse=True))

    rubric = Rubric.from_json([shuffled])

    keys = ["name", "criteria_description", "1-2", "3-4", "5-6", "7-8", "9-10", "11-12"]
    assert list(rubric.to_json()[0]) == keys
    assert rubric.digest == Rubric.from_json([entry(levels=6)]).digest


def test_maxima_come_from_the_highest_interval() -> None:
    rubric = Rubric.from_json([entry("Plot", 4), entry("Tone", 6)])

    assert [dimension.maximum for dimension in rubric.dimensions] == [8, 12]
    assert rubric.maximum == 20


def test_serialized_text_is_readable_and_digest_is_a_sha256() -> None:
    rubric = Rubric.from_json([entry("时代感")])

    assert "时代感" in rubric.serialize()
    assert len(rubric.digest) == 64
    assert int(rubric.digest, 16) >= 0


def test_any_change_of_a_text_changes_the_digest() -> None:
    plain, changed = entry(), entry() | {"9-10": "level 4 "}

    assert Rubric.from_json([plain]).digest != Rubric.from_json([changed]).digest


def test_the_writer_reads_request_then_rubric() -> None:
    rubric = Rubric.from_json([entry()])

    assert writer_input("Write a poem.", rubric) == "Write a poem.\n\n" + rubric.serialize()


@pytest.mark.parametrize(
    ("third", "message"),
    [
        (entry("plot "), r'dimension 3: the name "plot " repeats that of dimension 1'),
        (entry("ＰＬＯＴ"), "dimension 3: the name .* repeats that of dimension 1"),
        (entry(""), "dimension 3: name is empty"),
        (entry(" \n"), "dimension 3: name is empty"),
        (entry("a\nb"), "dimension 3: name goes over more than one line"),
        (entry("a\u2028b"), "dimension 3: name goes over more than one line"),
        (entry("x", criteria_description="\t"), "dimension 3: criteria_description is empty"),
        (entry("x", criteria_description=7), "dimension 3: criteria_description is not a text"),
        (entry("x", weight=1), "dimension 3: unknown key 'weight'"),
        (entry("x", levels=3), "dimension 3: 3 score intervals, at least 4 are needed"),
        (entry("x") | {"5-6": " "}, 'dimension 3: interval "5-6" is empty'),
        (entry("x") | {"5-6": "\0"}, 'dimension 3: interval "5-6" holds a character'),
        (entry("x") | {"5-6": "\ud800"}, 'dimension 3: interval "5-6" holds a character'),
        (entry("x") | {"13-14": "gap"}, 'dimension 3: interval "11-12" is missing'),
        (entry("x") | {"01-02": "again"}, 'dimension 3: interval "11-12" is missing'),
        ({"name": "x", "1-2": "a"}, "dimension 3: criteria_description is missing"),
        ("x", "dimension 3: not an object"),
    ],
)
def test_a_refusal_names_the_dimension_and_the_fault(third: object, message: str) -> None:
    with pytest.raises(InvalidRubricError, match=message):
        Rubric.from_json([entry("Plot"), entry("Tone"), third])


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("[", "not JSON"),
        ("{}", "a JSON list"),
        ("[]", "at least one dimension"),
        ('[{"name": "a", "name": "b"}]', 'the key "name" is given twice'),
        ("[" * 100_000, "nested too deeply"),
        ("[" + "9" * 5000 + "]", "not JSON"),
    ],
)
def test_text_that_is_no_rubric_is_refused(source: str, message: str) -> None:
    with pytest.raises(InvalidRubricError, match=message):
        Rubric.from_json(source)


def test_values_built_by_hand_are_held_to_the_same_rules() -> None:
    levels = tuple(ScoreLevel(low, low + 1, "x") for low in (1, 3, 5, 9))

    with pytest.raises(InvalidRubricError, match='"9-10" stands where "7-8" must stand'):
        RubricDimension("Plot", "Its turns", levels)


@pytest.mark.skipif("BENCHMARK_DATA" not in os.environ, reason="BENCHMARK_DATA names no folder")
def test_writingbench_checklists_are_rubrics() -> None:
    lines = (Path(os.environ["BENCHMARK_DATA"]) / "writingbench/length_subset.jsonl").read_text("utf-8")
    rows = [json.loads(line) for line in lines.split("\n") if line]

    assert len(rows) == 222
    for row in rows:
        assert Rubric.from_json(row["checklist"]).to_json() == row["checklist"]
