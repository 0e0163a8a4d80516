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
from rubrics.parsing import (
    Dimension,
    ScoreInterval,
    parse_dimensions,
    parse_intervals,
    render_dimensions,
)
from rubrics.recording import RecordingChat
from rubrics.rubric import MIN_DIMENSIONS, MIN_LEVELS, Rubric, RubricDimension, numbered_levels

MIN_DISCOVERED = 2
"""Dimensions that a discovery reply must hold; the prompt asks for 15 to 20 (paper A.2, A.4)."""

MIN_CONSOLIDATED = 4
"""Dimensions that a consolidation reply must hold; the prompt asks for 5 to 8 (paper A.2, A.4)."""

MAX_CONSOLIDATED = 8
"""Dimensions kept of a consolidation reply, the first ones (paper A.4)."""

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
class Specification:
    """What the scoring call of one dimension gave: its intervals, or why there are none."""

    dimension: Dimension
    intervals: tuple[ScoreInterval, ...]
    failure: str
    completion_keys: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MiningTrace:
    """The sets between request and rubric, as far as mining came, and the replies that they were read from.

    `completion_keys` names every stored reply, unusable ones too: discovery, consolidation, then one
    dimension's scoring after the other.
    """

    discovered: tuple[Dimension, ...] = ()
    consolidated: tuple[Dimension, ...] = ()
    specifications: tuple[Specification, ...] = ()
    completion_keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MiningOutcome:
    """A rubric and the trace that led to it."""

    rubric: Rubric
    trace: MiningTrace


class MiningFailedError(UnusableReplyError):
    """No rubric came of a request; `trace` holds what did."""

    def __init__(self, reason: str, trace: MiningTrace) -> None:
        super().__init__(reason)
        self.reason = reason
        self.trace = trace


async def mine_rubric(request_text: str, chat: Chat, sampling: SamplingParams) -> MiningOutcome:
    """Mines the rubric of a writing request.

        request ─► discovery ─► consolidation ─► one scoring call per dimension ─► rubric
                   ≥ 2 of 15-20  ≥ 4 of 5-8       ≥ 4 intervals of 5-8              ≥ 3 dimensions
                                 first 8 kept     side by side                      consolidation's order

    A dimension whose scoring replies stay unusable is left out, and its `Specification` says why.
    Raises MiningFailedError when too little is left. Any other ModelError passes through, after the
    scoring calls in flight have ended and been stored.
    """
    recording = RecordingChat(chat)
    discovered: tuple[Dimension, ...] = ()
    try:
        discovered = await _discover(request_text, recording, sampling)
        consolidated = await _consolidate(request_text, discovered, recording, sampling)
    except UnusableReplyError as error:
        trace = MiningTrace(discovered=discovered, completion_keys=recording.keys)
        raise MiningFailedError(str(error), trace) from error
    specifications = await _specify_all(request_text, consolidated, chat, sampling)
    trace = MiningTrace(
        discovered=discovered,
        consolidated=consolidated,
        specifications=specifications,
        completion_keys=recording.keys
        + tuple(key for spec in specifications for key in spec.completion_keys),
    )
    return MiningOutcome(assemble_rubric(trace), trace)


def assemble_rubric(trace: MiningTrace) -> Rubric:
    """The scored dimensions in consolidation order, their intervals labelled anew as 1-2, 3-4, … (A.4).

    Raises MiningFailedError when fewer than MIN_DIMENSIONS are scored.
    """
    scored = [spec for spec in trace.specifications if spec.intervals]
    if len(scored) < MIN_DIMENSIONS:
        dropped = "; ".join(
            f"{spec.dimension.name}: {spec.failure}" for spec in trace.specifications if not spec.intervals
        )
        reason = f"{len(scored)} scored dimensions, at least {MIN_DIMENSIONS} are needed ({dropped})"
        raise MiningFailedError(reason, trace)
    return Rubric(
        tuple(
            RubricDimension(
                spec.dimension.name,
                spec.dimension.reason,
                numbered_levels(interval.description for interval in spec.intervals),
            )
            for spec in scored
        )
    )


async def _discover(request_text: str, chat: Chat, sampling: SamplingParams) -> tuple[Dimension, ...]:
    template = load_template("rubrics", "irg-discovery", 1)
    question = ChatRequest(
        messages=template.render(query=request_text),
        template=template.identity,
        sampling=sampling,
        structure=DISCOVERY_STRUCTURE,
    )
    found, _ = await ask(chat, question, _at_least(MIN_DISCOVERED, "dimensions", parse_dimensions))
    return tuple(found)


async def _consolidate(
    request_text: str, discovered: Sequence[Dimension], chat: Chat, sampling: SamplingParams
) -> tuple[Dimension, ...]:
    template = load_template("rubrics", "irg-consolidation", 1)
    question = ChatRequest(
        messages=template.render(query=request_text, metrics_block=render_dimensions(discovered)),
        template=template.identity,
        sampling=sampling,
        structure=CONSOLIDATION_STRUCTURE,
    )
    kept, _ = await ask(chat, question, _at_least(MIN_CONSOLIDATED, "dimensions", parse_dimensions))
    return tuple(kept[:MAX_CONSOLIDATED])


async def _specify_all(
    request_text: str, dimensions: Sequence[Dimension], chat: Chat, sampling: SamplingParams
) -> tuple[Specification, ...]:
    """All scoring calls side by side. One that fails lets the others end, so that none is paid for twice."""
    outcomes = await asyncio.gather(
        *(_specify(request_text, dimension, chat, sampling) for dimension in dimensions),
        return_exceptions=True,
    )
    specifications = []
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            raise outcome
        specifications.append(outcome)
    return tuple(specifications)


async def _specify(
    request_text: str, dimension: Dimension, chat: Chat, sampling: SamplingParams
) -> Specification:
    template = load_template("rubrics", "irg-scoring", 1)
    question = ChatRequest(
        messages=template.render(
            query=request_text, name=dimension.name, criteria_description=dimension.reason
        ),
        template=template.identity,
        sampling=sampling,
        structure=SCORING_STRUCTURE,
    )
    recording = RecordingChat(chat)
    try:
        intervals, _ = await ask(recording, question, _at_least(MIN_LEVELS, "intervals", parse_intervals))
    except UnusableReplyError as error:
        return Specification(dimension, (), str(error), recording.keys)
    return Specification(dimension, tuple(intervals), "", recording.keys)


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
