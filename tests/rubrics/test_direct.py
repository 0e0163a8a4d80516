"""A rubric in one call: the direct baseline and the trained generator (paper B.4, G.3)."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from typing import Any

import pytest

from benchmarks.simulator import matching_text
from llm.types import RefusedError, SamplingParams
from rubrics.construction import AcceptanceBounds, MiningFailedError
from rubrics.direct import RUBRIC_STRUCTURE, draft_rubric, generate_rubric
from rubrics.rubric import Rubric
from rubrics.rubric_reply import parse_rubric
from tests.samples import dimensions
from tests.scripted import ScriptedChat, cut

REQUEST = "Write a 100-word blog post on why a Christmas cactus is a great buy."
SAMPLING = SamplingParams(temperature=0.7, top_p=0.8)
GOOD = json.dumps(dimensions(), ensure_ascii=False)


@pytest.mark.parametrize(("construct", "template"), [(draft_rubric, "drg"), (generate_rubric, "rubricgen")])
async def test_one_call_gives_the_whole_rubric(construct: Callable[..., Any], template: str) -> None:
    chat = ScriptedChat({template: f"```json\n{GOOD}\n```"})

    outcome = await construct(REQUEST, chat, SAMPLING)

    assert outcome.rubric == Rubric.from_json(dimensions())
    (question,) = chat.requests
    assert (question.template, question.sampling) == (f"{template}@1", SAMPLING)
    assert question.messages[0].content.count(REQUEST) == 1
    assert outcome.trace.completion_keys == (question.key("scripted-model"),)
    assert [each.dimension.name for each in outcome.trace.specifications] == [
        "Voice",
        "Structure",
        "Restraint",
    ]


@pytest.mark.parametrize("construct", [draft_rubric, generate_rubric])
async def test_a_request_in_chinese_is_asked_in_chinese(construct: Callable[..., Any]) -> None:
    chat = ScriptedChat([(lambda request: request.template.split("@")[0].endswith(".zh"), GOOD)])

    await construct("写一篇推文", chat, SAMPLING, language="zh")

    assert chat.requests[0].messages[0].content.startswith("你的任务是")


async def test_an_unusable_reply_is_asked_for_again_and_counts_to_the_trace() -> None:
    chat = ScriptedChat({"drg": ["No.", cut(GOOD), GOOD]})

    outcome = await draft_rubric(REQUEST, chat, SAMPLING)

    assert [request.attempt for request in chat.requests] == [0, 1, 2]
    assert len(outcome.trace.completion_keys) == 3


async def test_dimensions_without_enough_intervals_are_left_out_with_the_reason() -> None:
    short = {"name": "Tone", "criteria_description": "Warm?", "1-2": "no", "3-4": "a bit"}
    chat = ScriptedChat({"drg": json.dumps([short, *dimensions()])})

    outcome = await draft_rubric(REQUEST, chat, SAMPLING)

    assert [each.name for each in outcome.rubric.dimensions] == ["Voice", "Structure", "Restraint"]
    assert outcome.trace.specifications[0].failure == "2 intervals in the reply, at least 4 are needed"


async def test_too_few_dimensions_fail_with_what_the_last_reply_held() -> None:
    chat = ScriptedChat({"rubricgen": json.dumps(dimensions(("Voice", "Tone")))})

    with pytest.raises(MiningFailedError, match="2 scored dimensions, at least 3 are needed") as failure:
        await generate_rubric(REQUEST, chat, SAMPLING)

    assert len(failure.value.trace.completion_keys) == 3
    assert len(failure.value.trace.specifications) == 2
    bounds = AcceptanceBounds(min_dimensions=2)
    assert len((await generate_rubric(REQUEST, chat, SAMPLING, bounds=bounds)).rubric.dimensions) == 2


async def test_a_refusal_passes_through() -> None:
    with pytest.raises(RefusedError):
        await draft_rubric(REQUEST, ScriptedChat({"drg": RefusedError("context too long")}), SAMPLING)


def test_the_constrained_form_gives_rubrics_that_are_read() -> None:
    for seed in range(50):
        text = matching_text(RUBRIC_STRUCTURE.regex, str(seed))
        assert re.fullmatch(RUBRIC_STRUCTURE.regex, text)
        found = parse_rubric(text)
        assert [len(each.intervals) for each in found] == [5] * 5
        assert Rubric.from_json(text)


def test_the_constrained_form_takes_chinese_and_refuses_what_json_does_not_hold() -> None:
    chinese = "，".join(random.Random(1).choices("语气结构节奏", k=3))
    texts = ", ".join(f'"{low}-{low + 1}": "{chinese}"' for low in (1, 3, 5, 7, 9))
    rows = [f'{{"name": "{name}", "criteria_description": "{chinese}", {texts}}}' for name in "语气"]
    names = ("一气", "帀气", "洀气", "磀气", "退气")
    reply = "[" + ",\n".join(rows[0].replace('"语"', f'"{name}"') for name in names) + "]"

    assert re.fullmatch(RUBRIC_STRUCTURE.regex, reply)
    assert not re.fullmatch(RUBRIC_STRUCTURE.regex, reply.replace(chinese, '说"好"的', 1))
    assert not re.fullmatch(RUBRIC_STRUCTURE.regex, reply.replace("帀气", "一气"))
