"""The question for a candidate."""

from __future__ import annotations

import re

from llm.types import ChatMessage, SamplingParams
from rubrics.rubric import Rubric, writer_input
from training.writing import CANDIDATE_STRUCTURE, candidate_request

RUBRIC = Rubric.from_json(
    [{"name": "Plot", "criteria_description": "Turns", "1-2": "a", "3-4": "b", "5-6": "c", "7-8": "d"}]
)


def test_the_writer_is_asked_with_request_and_rubric_and_nothing_else() -> None:
    sampling = SamplingParams(temperature=1.0, max_tokens=50)

    request = candidate_request("Write {{rubric}} on\n\ncats.", RUBRIC, 3, sampling)

    assert request.messages == (ChatMessage("user", writer_input("Write {{rubric}} on\n\ncats.", RUBRIC)),)
    assert (request.template, request.sample_index, request.sampling) == ("writer@1", 3, sampling)


def test_candidates_of_a_prompt_are_calls_of_their_own() -> None:
    keys = {candidate_request("Cats.", RUBRIC, index, SamplingParams()).key("model") for index in range(5)}

    assert len(keys) == 5


def test_the_constrained_form_bounds_the_length_and_takes_any_text() -> None:
    form = CANDIDATE_STRUCTURE.regex

    assert re.fullmatch(form, "从前\n\n" + "长" * 80)
    assert re.fullmatch(form, "Once\n\n" + "x" * 200)
    assert not re.fullmatch(form, " " + "x" * 200)
    assert not re.fullmatch(form, "x" * 302)
    assert not re.fullmatch(form, "长" * 150)
