"""A judge reads a response against a rubric (paper B.5, G.4). Pure but for the injected chat."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from llm.asking import ask
from llm.forms import bounded_line
from llm.prompts import load_template
from llm.types import Chat, ChatRequest, SamplingParams, Structure, UnusableReplyError
from rubrics.assessment import ItemScore, Reward, departures, first_of_each, parse_assessment, reward
from rubrics.fitting import Window, fit
from rubrics.recording import RecordingChat
from rubrics.rubric import Rubric, name_key

Policy = Literal["paper", "checked"]
"""How a reply is read: as in B.5, or only when it keeps to the rubric (`rubrics.assessment.departures`)."""


@dataclass(frozen=True, slots=True)
class AssessmentOutcome:
    """One reading of one response. `completion_key` names the reply that was read last.

    `reward` is None when, under the policy `checked`, no reply kept to the rubric; `failure` says why.
    `missing` are dimensions of the rubric that the judge left out and `unknown` are names that the rubric
    does not have. Under the policy `paper` both are reported and change nothing: the reward is B.5's, over
    every valid item. `response_cut` says that the judge read a part of the response.
    """

    items: tuple[ItemScore, ...]
    reward: Reward | None
    completion_key: str
    missing: tuple[str, ...]
    unknown: tuple[str, ...]
    judge: str
    template: str
    policy: Policy = "paper"
    sample_index: int = 0
    response_cut: bool = False
    failure: str = ""


async def assess_response(
    response: str,
    rubric: Rubric,
    chat: Chat,
    sampling: SamplingParams,
    *,
    policy: Policy = "paper",
    sample_index: int = 0,
    language: str = "en",
    window: Window | None = None,
) -> AssessmentOutcome:
    """Asks until a reply can be read; after `chat.max_asks` replies gives the fallback, or a failure.

        response + rubric ─► judge ─► items ─► reward in [0, 1]
                               ▲        │
                               └────────┘ paper: no valid item, or one dimension scored twice
                                          checked: any departure from the rubric's names and maxima

    The response stands whole in the question, unless it is longer than `window` leaves room for. A
    ModelError other than an unusable reply passes through: a judge that cannot be reached has said nothing
    about the response.
    """
    recording, reader = RecordingChat(chat), _Reader(rubric, policy)

    def question(text: str) -> ChatRequest:
        return judge_request(text, rubric, sampling, sample_index=sample_index, language=language)

    shown, cut = fit(response, lambda text: question(text).messages[0].content, window, language=language)
    failure = ""
    try:
        items, _ = await ask(recording, question(shown), reader)
    except UnusableReplyError as error:
        failure, items = (str(error), reader.items) if policy == "checked" else ("", [])
    return AssessmentOutcome(
        items=tuple(items),
        reward=None if failure else reward(items),
        completion_key=recording.keys[-1],
        missing=_absent([dimension.name for dimension in rubric.dimensions], [item.name for item in items]),
        unknown=_absent([item.name for item in items], [dimension.name for dimension in rubric.dimensions]),
        judge=recording.completions[-1].resolved_model,
        template=question(shown).template,
        policy=policy,
        sample_index=sample_index,
        response_cut=cut,
        failure=failure,
    )


def judge_request(
    response: str, rubric: Rubric, sampling: SamplingParams, *, sample_index: int = 0, language: str = "en"
) -> ChatRequest:
    """The question that an assessment asks; `sample_index` (from 0) tells repeated readings apart.

    `language` is that of the writing request: a Chinese one is judged by the Chinese template.
    """
    template = load_template("rubrics", "assessment", 1, language=language)
    return ChatRequest(
        messages=template.render(response=response, rubric=rubric.serialize()),
        template=template.identity,
        sampling=sampling,
        structure=Structure(assessment_regex(rubric)),
        sample_index=sample_index,
    )


def assessment_regex(rubric: Rubric) -> str:
    """The form of a judge's reply: each dimension in order, a whole score, a comment of bounded length."""
    return r"\n\n".join(
        rf"name: {_literal(dimension.name)}"
        rf"\nscore: ({'|'.join(map(str, range(dimension.maximum + 1)))})/{dimension.maximum}"
        rf"\ncomments and suggestions: {bounded_line(9, 33)}"
        for dimension in rubric.dimensions
    )


class _Reader:
    """Reads replies under a policy; `items` are those of the last reply that was read, usable or not."""

    def __init__(self, rubric: Rubric, policy: Policy) -> None:
        self._maxima = {dimension.name: dimension.maximum for dimension in rubric.dimensions}
        self._policy = policy
        self.items: list[ItemScore] = []

    def __call__(self, text: str) -> list[ItemScore]:
        self.items = parse_assessment(text, maxima=self._maxima)
        if not any(item.valid for item in self.items):
            raise UnusableReplyError("no valid score in the reply")
        if self._policy == "paper":
            _refuse_repeats(self.items)
            return self.items
        if found := departures(self.items, self._maxima):
            raise UnusableReplyError("; ".join(found))
        return first_of_each(self.items)


def _refuse_repeats(items: Sequence[ItemScore]) -> None:
    scored: set[str] = set()
    for item in items:
        if name_key(item.name) in scored:
            raise UnusableReplyError(f'the reply scores "{item.name}" twice')
        scored.add(name_key(item.name))


def _absent(names: Sequence[str], present: Sequence[str]) -> tuple[str, ...]:
    """Those of `names` that are not among `present`."""
    known = {name_key(name) for name in present}
    return tuple(name for name in names if name_key(name) not in known)


def _literal(text: str) -> str:
    """Escaped for the plain regular expressions that constrained decoders read."""
    return re.sub(r"([\\.^$*+?{}\[\]()|])", r"\\\1", text)
