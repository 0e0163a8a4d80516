"""The whole method on recorded replies of a large language model: what real replies give, parsed for real.

Every prompt that is asked must be one that was recorded, word for word; a changed template needs new replies.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from curation.languages import detect_language
from curation.reconstruction import Strategy, reconstruct
from curation.repetition import degenerate_repetition
from llm.text import answer_text
from llm.types import ChatRequest, Completion, SamplingParams, UnusableReplyError
from rubrics.irg import mine_rubric
from rubrics.judging import assess_response
from tests.replies.record import question_of, read_reply, recorded
from training.selection import CANDIDATES_PER_PROMPT
from training.writing import candidate_request

RECORDED = [
    json.loads(line)
    for line in (Path(__file__).parent / "replies" / "large_language_model.jsonl")
    .read_text(encoding="utf-8")
    .split("\n")
    if line
]
SAMPLING = SamplingParams()
EXAMPLES = {
    row["id"]: row["prompt"]
    for row in map(
        json.loads,
        (Path(__file__).parent.parent / "curation" / "examples" / "requests.jsonl")
        .read_text(encoding="utf-8")
        .split("\n")[:-1],
    )
}


REAL = recorded()


class RecordedChat:
    """Answers what was recorded, once; anything else raises."""

    max_asks = 1

    def __init__(self) -> None:
        self.replies = {
            (row["template"], row["prompt"], row["sample_index"]): row["reply"] for row in RECORDED
        }
        self.read: list[str] = []

    async def __call__(self, request: ChatRequest) -> Completion:
        (message,) = request.messages
        reply = self.replies[request.template, message.content, request.sample_index]
        self.read.append(reply)
        return Completion(f"{len(self.read)}", reply, "stop", "recorded", 1, 1)


@pytest.mark.parametrize(
    ("example", "strategy", "language"),
    [("en-letter", Strategy.LENGTH_AWARE, "en"), ("zh-science", Strategy.LENGTH_RECOVERY, "zh")],
)
async def test_a_request_goes_all_the_way(example: str, strategy: Strategy, language: str) -> None:
    chat = RecordedChat()
    source = EXAMPLES[example]
    outcome = await reconstruct(source, strategy, chat, SAMPLING)
    assert detect_language(outcome.text).code == language
    assert 0.8 <= len(outcome.text) / len(source) <= 1.2
    assert not degenerate_repetition(outcome.text).degenerate

    mined = await mine_rubric(outcome.text, chat, SAMPLING)
    discovery, consolidation, *scoring = chat.read[1:]
    assert [len(mined.trace.discovered), len(mined.trace.consolidated)] == [
        len(re.findall(r"^name: ", reply, re.MULTILINE)) for reply in (discovery, consolidation)
    ]
    assert 15 <= len(mined.trace.discovered) <= 20
    assert 5 <= len(mined.rubric.dimensions) <= 8
    for dimension, reply in zip(mined.rubric.dimensions, scoring, strict=True):
        lines = [line for line in reply.split("\n") if line]
        assert [f"{level.low}-{level.high}: {level.description}" for level in dimension.levels] == lines
        assert detect_language(dimension.criteria_description).code == language

    for index in range(CANDIDATES_PER_PROMPT):
        request = candidate_request(outcome.text, mined.rubric, index, SAMPLING)
        response = answer_text((await chat(request)).text)
        assessed = await assess_response(response, mined.rubric, chat, SAMPLING)
        pairs = re.findall(r"^score: (\d+)/(\d+)$", chat.read[-1], re.MULTILINE)
        assert [(str(item.score), str(item.maximum)) for item in assessed.items] == pairs
        assert len(pairs) == len(mined.rubric.dimensions)
        assert (assessed.missing, assessed.unknown, assessed.reward.fallback) == ((), (), False)
        assert assessed.reward.value == pytest.approx(
            sum(int(score) for score, _ in pairs) / sum(int(maximum) for _, maximum in pairs)
        )
        assert all(item.comment for item in assessed.items)


NONE_YET = pytest.param({}, marks=pytest.mark.skip("no replies to real requests are recorded yet"), id="none")


@pytest.mark.parametrize(
    "row",
    [pytest.param(row, id=f"{row['request']}-{row['stage']}-{row['model']}") for row in REAL] or [NONE_YET],
)
def test_a_reply_to_a_real_request_is_read_exactly(row: dict[str, Any]) -> None:
    """The reply gives what it gave when it was looked at; one in the plain form also gives what the plainest
    reading gives."""
    if row["failure"]:
        with pytest.raises(UnusableReplyError, match=re.escape(row["failure"])):
            read_reply(row["stage"], row["reply"])
        return
    assert read_reply(row["stage"], row["reply"]) == row["expected"]
    plain = plainest_reading(row["stage"], row["reply"])
    assert plain in (None, row["expected"])


@pytest.mark.skipif("BENCHMARK_DATA" not in os.environ, reason="BENCHMARK_DATA is not set")
def test_the_recorded_prompts_are_rendered_today_as_they_were_answered() -> None:
    for row in REAL:
        question = question_of(row)
        assert (question.template.identity, question.digest) == (row["template"], row["prompt_sha256"])


def plainest_reading(stage: str, reply: str) -> Any:
    """What stands in a reply that keeps to the form to the letter; None for any other."""
    if stage in ("drg", "rubricgen"):
        return json.loads(reply) if reply.startswith("[") else None
    lines = [line for line in reply.split("\n") if line]
    if stage == "scoring":
        found = [re.fullmatch(r"(\d+)-(\d+): (.*\S)", line) for line in lines]
        if None in found:
            return None
        return [{"low": int(m[1]), "high": int(m[2]), "description": m[3]} for m in found if m]
    pairs = re.fullmatch(r"(name: .*\S\nreason: .*\S\n?)+", "\n".join(lines))
    names = re.findall(r"^name: (.*)$", reply, re.MULTILINE)
    reasons = re.findall(r"^reason: (.*)$", reply, re.MULTILINE)
    if not pairs or len(set(names)) < len(names):
        return None
    return [{"name": name, "reason": reason} for name, reason in zip(names, reasons, strict=True)]
