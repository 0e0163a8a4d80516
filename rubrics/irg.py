"""Inductive rubric generation: from a writing request to its rubric (paper 3.2, A.2-A.4).

Pure but for the injected chat.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from llm.asking import ask
from llm.forms import WIDE, bounded_line
from llm.prompts import load_template
from llm.types import Chat, ChatRequest, SamplingParams, Structure, UnusableReplyError
from rubrics.construction import (
    PAPER_BOUNDS,
    AcceptanceBounds,
    MiningFailedError,
    MiningOutcome,
    MiningTrace,
    Specification,
    assemble_rubric,
)
from rubrics.parsing import Dimension, parse_dimensions, parse_intervals, render_dimensions
from rubrics.recording import RecordingChat

_INITIALS = (
    ("A-Ea-e", "一-巿"),
    ("F-Jf-j", "帀-泿"),
    ("K-Ok-o", "洀-碿"),
    ("P-Tp-t", "磀-迿"),
    ("U-Zu-z", "退-鿿"),
)
_TEXT = bounded_line(15, 40)
_RECORDS = tuple(
    rf"name: ([{letters}][^\n\r:：|*_{WIDE}]{{2,23}}|[{characters}][^\n\r:：|*_]{{1,7}})\nreason: {_TEXT}"
    for letters, characters in _INITIALS
)
DISCOVERY_STRUCTURE = Structure(r"\n\n".join(_RECORDS * 3))
CONSOLIDATION_STRUCTURE = Structure(r"\n\n".join(_RECORDS))
SCORING_STRUCTURE = Structure(
    r"\n".join(f"{label}: {_TEXT}" for label in ("1-2", "3-4", "5-6", "7-8", "9-10"))
)
"""Forms for constrained decoding, so that a small model ends its records in bounded space: 15 candidates,
5 dimensions, 5 intervals. Small models repeat themselves and repeated names are dropped, so the names of
five records in a row must begin differently. The numbers lie within what the prompts ask for; the lengths
and the beginnings are ours."""

Reading = TypeVar("Reading")


@dataclass(frozen=True, slots=True)
class _Conversation:
    """Whom to ask, how, in which language, and what to take."""

    request_text: str
    chat: Chat
    sampling: SamplingParams
    language: str
    bounds: AcceptanceBounds

    async def ask(
        self,
        template_name: str,
        structure: Structure,
        read: Callable[[str], list[Reading]],
        *,
        chat: Chat | None = None,
        **slots: str,
    ) -> tuple[Reading, ...]:
        template = load_template("rubrics", template_name, 1, language=self.language)
        question = ChatRequest(
            messages=template.render(query=self.request_text, **slots),
            template=template.identity,
            sampling=self.sampling,
            structure=structure,
        )
        found, _ = await ask(chat or self.chat, question, read)
        return tuple(found)


async def mine_rubric(
    request_text: str,
    chat: Chat,
    sampling: SamplingParams,
    *,
    language: str = "en",
    bounds: AcceptanceBounds = PAPER_BOUNDS,
) -> MiningOutcome:
    """Mines the rubric of a writing request; `language` chooses the templates.

        request ─► discovery ─► consolidation ─► one scoring call per dimension ─► rubric
                   ≥ 2 of 15-20  ≥ 4 of 5-8       ≥ 4 intervals of 5-8              ≥ 3 dimensions
                                 first 8 kept     side by side                      consolidation's order

    A dimension whose scoring replies stay unusable is left out, and its `Specification` says why.
    Raises MiningFailedError when too little is left. Any other ModelError passes through, after the
    scoring calls in flight have ended and been stored.
    """
    recording = RecordingChat(chat)
    talk = _Conversation(request_text, recording, sampling, language, bounds)
    discovered: tuple[Dimension, ...] = ()
    try:
        discovered = await _discover(talk)
        consolidated = await _consolidate(talk, discovered)
    except UnusableReplyError as error:
        trace = MiningTrace(discovered=discovered, completion_keys=recording.keys)
        raise MiningFailedError(str(error), trace) from error
    specifications = await _specify_all(talk, consolidated, chat)
    trace = MiningTrace(
        discovered=discovered,
        consolidated=consolidated,
        specifications=specifications,
        completion_keys=recording.keys
        + tuple(key for spec in specifications for key in spec.completion_keys),
    )
    return MiningOutcome(assemble_rubric(trace, bounds), trace)


async def _discover(talk: _Conversation) -> tuple[Dimension, ...]:
    read = _at_least(talk.bounds.min_discovered, "dimensions", parse_dimensions)
    return await talk.ask("irg-discovery", DISCOVERY_STRUCTURE, read)


async def _consolidate(talk: _Conversation, discovered: Sequence[Dimension]) -> tuple[Dimension, ...]:
    read = _at_least(talk.bounds.min_consolidated, "dimensions", parse_dimensions)
    kept = await talk.ask(
        "irg-consolidation", CONSOLIDATION_STRUCTURE, read, metrics_block=render_dimensions(discovered)
    )
    return kept[: talk.bounds.max_consolidated]


async def _specify_all(
    talk: _Conversation, dimensions: Sequence[Dimension], chat: Chat
) -> tuple[Specification, ...]:
    """All scoring calls side by side. One that fails lets the others end, so that none is paid for twice."""
    outcomes = await asyncio.gather(
        *(_specify(talk, dimension, RecordingChat(chat)) for dimension in dimensions), return_exceptions=True
    )
    specifications = []
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            raise outcome
        specifications.append(outcome)
    return tuple(specifications)


async def _specify(talk: _Conversation, dimension: Dimension, recording: RecordingChat) -> Specification:
    read = _at_least(talk.bounds.min_intervals, "intervals", parse_intervals)
    try:
        intervals = await talk.ask(
            "irg-scoring",
            SCORING_STRUCTURE,
            read,
            chat=recording,
            name=dimension.name,
            criteria_description=dimension.reason,
        )
    except UnusableReplyError as error:
        return Specification(dimension, (), str(error), recording.keys)
    return Specification(dimension, intervals, "", recording.keys)


def _at_least(
    number: int, what: str, parse: Callable[[str], list[Reading]]
) -> Callable[[str], list[Reading]]:
    """`parse`, with too short a list being an unusable reply."""

    def read(text: str) -> list[Reading]:
        found = parse(text)
        if len(found) < number:
            raise UnusableReplyError(f"{len(found)} {what} in the reply, at least {number} are needed")
        return found

    return read
