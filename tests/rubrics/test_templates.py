"""The prompt templates: slots, frames around foreign text, and the numbers that the paper asks for."""

from __future__ import annotations

import re

import pytest

from llm.prompts import load_template
from llm.types import UnusableReplyError
from rubrics.assessment import parse_assessment
from rubrics.parsing import parse_dimensions, parse_intervals

SLOTS = {
    "irg-discovery": {"query"},
    "irg-consolidation": {"metrics_block", "query"},
    "irg-scoring": {"name", "criteria_description", "query"},
    "rubricgen": {"query"},
    "assessment": {"response", "rubric"},
}


@pytest.mark.parametrize("name", SLOTS)
def test_every_slot_stands_once_between_two_frames_of_its_own(name: str) -> None:
    template = load_template("rubrics", name, 1)

    for slot in SLOTS[name]:
        frame = f"{{{{fence:{slot}}}}}"
        assert template.body.count(f"{frame}\n{{{{{slot}}}}}\n{frame}") == 1
        assert template.body.count(slot + "}}") == 3
    assert set(re.findall(r"\{\{(\w+)\}\}", template.body)) == SLOTS[name]
    assert template.identity == f"{name}@1"


@pytest.mark.parametrize(
    ("name", "phrases"),
    [
        ("irg-discovery", ["15 to 20", "At least half", "name: <", "reason: <", "language of the request"]),
        ("irg-consolidation", ["5 to 8", "At least half", "name: <", "reason: <", "language of the request"]),
        ("irg-scoring", ["5 to 8", "two consecutive", "1-2: <", "3-4: <", "language of the request"]),
        ("rubricgen", ["5 to 8 dim", "5 to 8 score", "At least half", '"criteria_description"', '"1-2"']),
        ("assessment", ["name: <", "score: <", "comments and suggestions: <", "whole numbers"]),
    ],
)
def test_numbers_and_labels_of_the_paper_are_asked_for(name: str, phrases: list[str]) -> None:
    body = load_template("rubrics", name, 1).body

    for phrase in phrases:
        assert phrase in body


def test_a_model_that_repeats_the_form_instead_of_filling_it_is_not_understood() -> None:
    for name, parse in (
        ("irg-discovery", parse_dimensions),
        ("irg-consolidation", parse_dimensions),
        ("irg-scoring", parse_intervals),
    ):
        lines = load_template("rubrics", name, 1).body.splitlines()
        form = "\n".join(line for line in lines if re.match(r"[\w-]+: <.*>$", line))
        assert form
        with pytest.raises(UnusableReplyError, match="placeholder"):
            parse(form)
    assert parse_assessment(load_template("rubrics", "assessment", 1).body) == []
