"""Every reply written by hand gives exactly what it must, or is refused for exactly that reason."""

from __future__ import annotations

import re
from dataclasses import astuple
from typing import Any

import pytest

from llm.text import answer_text
from llm.types import UnusableReplyError
from rubrics.assessment import parse_assessment
from rubrics.construction import MiningTrace, assemble_rubric
from rubrics.parsing import parse_dimensions, parse_intervals
from rubrics.rubric_reply import parse_rubric
from tests.replies.handwritten import HANDWRITTEN, Handwritten


def read(stage: str, reply: str) -> Any:
    """What is made of a reply, as plain values."""
    answer = answer_text(reply)
    if stage == "rubric":
        return assemble_rubric(MiningTrace(specifications=tuple(parse_rubric(answer)))).to_json()
    readers: dict[str, Any] = {
        "dimensions": parse_dimensions,
        "intervals": parse_intervals,
        "assessment": parse_assessment,
    }
    return [astuple(each) for each in readers[stage](answer)]


@pytest.mark.parametrize("one", HANDWRITTEN, ids=lambda one: f"{one.stage}: {one.manner} ({one.language})")
def test_a_reply_is_read_exactly_or_refused_for_its_reason(one: Handwritten) -> None:
    if one.failure:
        with pytest.raises(UnusableReplyError, match=re.escape(one.failure)):
            read(one.stage, one.reply)
    else:
        assert read(one.stage, one.reply) == one.expected


def test_both_languages_and_every_stage_are_there() -> None:
    kinds = {(one.stage, one.language) for one in HANDWRITTEN}
    assert len(kinds) == 8
    assert len(HANDWRITTEN) >= 40
    assert sum(bool(one.failure) for one in HANDWRITTEN) >= 15
