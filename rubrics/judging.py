"""A judge reads a response against a rubric (paper B.5, G.4). Pure but for the injected chat."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from llm.asking import ask
from llm.forms import bounded_line
from llm.prompts import load_template
from llm.types import Chat, ChatRequest, SamplingParams, Structure, UnusableReplyError
from rubrics.assessment import ItemScore, Reward, parse_assessment, reward
from rubrics.recording import RecordingChat
from rubrics.rubric import Rubric, name_key


@dataclass(frozen=True, slots=True)
class AssessmentOutcome:
    """One reading of one response. `completion_key` names the reply that was read last.

    `missing` are dimensions of the rubric that the judge left out and `unknown` are names that the rubric
    does not have; both are reported and change nothing: the reward is B.5's, over every valid item.
    """

    items: tuple[ItemScore, ...]
    reward: Reward
    completion_key: str
    missing: tuple[str, ...]
    unknown: tuple[str, ...]


async def assess_response(
    response: str, rubric: Rubric, chat: Chat, sampling: SamplingParams
) -> AssessmentOutcome:
    """Asks for scores until a reply holds a valid one; after `chat.max_asks` replies gives the fallback.

        response + rubric ─► judge ─► items ─► reward in [0, 1]
                               ▲        │
                               └────────┘ no valid item, or one dimension scored twice

    The response stands whole in the question. A ModelError other than an unusable reply passes through:
    a judge that cannot be reached has said nothing about the response.
    """
    recording = RecordingChat(chat)
    try:
        items, _ = await ask(recording, judge_request(response, rubric, sampling), _reader(rubric))
    except UnusableReplyError:
        items = []
    return AssessmentOutcome(
        items=tuple(items),
        reward=reward(items),
        completion_key=recording.keys[-1],
        missing=_absent([dimension.name for dimension in rubric.dimensions], [item.name for item in items]),
        unknown=_absent([item.name for item in items], [dimension.name for dimension in rubric.dimensions]),
    )


def judge_request(response: str, rubric: Rubric, sampling: SamplingParams) -> ChatRequest:
    """The question that an assessment asks."""
    template = load_template("rubrics", "assessment", 1)
    return ChatRequest(
        messages=template.render(response=response, rubric=rubric.serialize()),
        template=template.identity,
        sampling=sampling,
        structure=Structure(assessment_regex(rubric)),
    )


def assessment_regex(rubric: Rubric) -> str:
    """The form of a judge's reply: each dimension in order, a whole score, a comment of bounded length."""
    return r"\n\n".join(
        rf"name: {_literal(dimension.name)}"
        rf"\nscore: ({'|'.join(map(str, range(dimension.maximum + 1)))})/{dimension.maximum}"
        rf"\ncomments and suggestions: {bounded_line(9, 33)}"
        for dimension in rubric.dimensions
    )


def _reader(rubric: Rubric) -> Callable[[str], list[ItemScore]]:
    """Reads a reply; without a valid item, or with one dimension scored twice, it is unusable."""
    maxima = {dimension.name: dimension.maximum for dimension in rubric.dimensions}

    def read(text: str) -> list[ItemScore]:
        items = parse_assessment(text, maxima=maxima)
        if not any(item.valid for item in items):
            raise UnusableReplyError("no valid score in the reply")
        scored: set[str] = set()
        for item in items:
            if name_key(item.name) in scored:
                raise UnusableReplyError(f'the reply scores "{item.name}" twice')
            scored.add(name_key(item.name))
        return items

    return read


def _absent(names: Sequence[str], present: Sequence[str]) -> tuple[str, ...]:
    """Those of `names` that are not among `present`."""
    known = {name_key(name) for name in present}
    return tuple(name for name in names if name_key(name) not in known)


def _literal(text: str) -> str:
    """Escaped for the plain regular expressions that constrained decoders read."""
    return re.sub(r"([\\.^$*+?{}\[\]()|])", r"\\\1", text)
