"""Reading stored replies again with today's parsers, without a call: what would be read otherwise now.

    trace ─► its stored replies ─► the same construction over them ─► same | changed | usable | unusable
    assessment ─► its stored reply ─► the same reading ─────────────►

Nothing is written: a rubric is frozen, and a score stays under the reading that it was given by.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import cast

from llm.models import Completion as CompletionRow
from llm.replay import digest_of, digest_of_row
from llm.types import Chat, ChatRequest, Completion, ModelError
from rubrics.construction import AcceptanceBounds, MiningFailedError
from rubrics.judging import Policy, assess_response
from rubrics.models import Assessment, MiningTrace
from rubrics.rubric import Rubric as RubricValue
from rubrics.steps import CONSTRUCTORS, MINING_SAMPLING

MORE_ASKS = 100
"""More attempts than were ever stored: what would be asked next then shows as not stored."""


class Verdict(StrEnum):
    SAME = "same"
    CHANGED = "changed"
    USABLE = "now usable"
    UNUSABLE = "now unusable"


@dataclass(frozen=True, slots=True)
class Reread:
    """What came of one row; `why` says in words what is different."""

    subject: str
    verdict: Verdict
    why: str = ""


class NotStoredError(ModelError):
    """Today's parser would ask a question that was not asked then."""

    kind = "not stored"


class StoredReplies:
    """`llm.types.Chat` over replies by question; one that is not there raises NotStoredError."""

    def __init__(self, replies: Mapping[bytes, Completion], max_asks: int = MORE_ASKS) -> None:
        self._replies, self.max_asks = replies, max_asks

    async def __call__(self, request: ChatRequest) -> Completion:
        reply = self._replies.get(digest_of(request))
        if reply is None:
            raise NotStoredError(f"{request.template} would be asked again (attempt {request.attempt + 1})")
        return reply


class TheOneReply:
    """`llm.types.Chat` that gives the same reply to every question."""

    max_asks = 1

    def __init__(self, reply: Completion) -> None:
        self._reply = reply

    async def __call__(self, request: ChatRequest) -> Completion:
        return self._reply


def stored_replies(rows: Iterable[CompletionRow]) -> dict[bytes, Completion]:
    return {digest_of_row({"template": row.template, "request": row.request}): row.value() for row in rows}


def reread_mining() -> Iterator[Reread]:
    """Every attempt to make a rubric whose replies are stored, those that failed too."""
    traces = MiningTrace.objects.select_related("prompt", "rubric", "run").order_by("pk")
    with_replies = traces.exclude(completions=None).prefetch_related("completions").distinct()
    for trace in with_replies.iterator(chunk_size=100):
        if method := _method_of(trace):
            yield _reread_trace(trace, method)


def _method_of(trace: MiningTrace) -> str:
    """'' for one that no run of today's methods left."""
    if trace.rubric is not None:
        return trace.rubric.method if trace.rubric.method in CONSTRUCTORS else ""
    method = str(trace.run.parameters.get("method", "")) if trace.run else ""
    return method if method in CONSTRUCTORS else ""


def _reread_trace(trace: MiningTrace, method: str) -> Reread:
    subject = f"mining of prompt {trace.prompt_id} (rubric {trace.rubric_id or 'none'})"
    chat: Chat = StoredReplies(stored_replies(trace.completions.all()))
    bounds = AcceptanceBounds.from_json(trace.run.parameters.get("bounds") if trace.run else None)
    construct = CONSTRUCTORS[method](
        trace.prompt.text, chat, MINING_SAMPLING, language=trace.prompt.language, bounds=bounds
    )
    try:
        made = asyncio.run(construct).rubric
    except (MiningFailedError, NotStoredError) as error:
        if trace.rubric is None:
            return Reread(subject, Verdict.SAME)
        return Reread(subject, Verdict.UNUSABLE, str(error))
    if trace.rubric is None:
        return Reread(
            subject, Verdict.USABLE, f"{len(made.dimensions)} dimensions; it failed then: {trace.failure}"
        )
    if made.digest == trace.rubric.digest:
        return Reread(subject, Verdict.SAME)
    return Reread(subject, Verdict.CHANGED, _difference(RubricValue.from_json(trace.rubric.dimensions), made))


def _difference(then: RubricValue, now: RubricValue) -> str:
    if len(then.dimensions) != len(now.dimensions):
        return f"{len(then.dimensions)} dimensions then, {len(now.dimensions)} now"
    changed = [new.name for old, new in zip(then.dimensions, now.dimensions, strict=True) if old != new]
    return f"other wording in {', '.join(changed)}"


def reread_assessments() -> Iterator[Reread]:
    """Every reading of a response, from the reply that was read last."""
    rows = Assessment.objects.select_related("rubric", "completion").order_by("pk")
    for row in rows.iterator(chunk_size=200):
        outcome = asyncio.run(
            assess_response(
                "",
                RubricValue.from_json(row.rubric.dimensions),
                TheOneReply(row.completion.value()),
                MINING_SAMPLING,
                policy=cast(Policy, row.policy),
            )
        )
        value = outcome.reward.value if outcome.reward else None
        fallback = bool(outcome.reward and outcome.reward.fallback)
        yield _verdict_on(row, value, fallback, [asdict(item) for item in outcome.items])


def _verdict_on(
    row: Assessment, value: float | None, fallback: bool, items: list[dict[str, object]]
) -> Reread:
    subject = f"assessment {row.pk} ({row.policy})"
    read_then, read_now = row.value is not None and not row.fallback, value is not None and not fallback
    if read_then and not read_now:
        return Reread(subject, Verdict.UNUSABLE, f"{row.value:.3f} then, no valid score now")
    if read_now and not read_then:
        return Reread(subject, Verdict.USABLE, f"{value:.3f} now, no valid score then")
    if read_now and (row.value != value or row.items != items):
        return Reread(subject, Verdict.CHANGED, f"{row.value:.3f} then, {value:.3f} now")
    return Reread(subject, Verdict.SAME)


KINDS = {"mining": reread_mining, "assessments": reread_assessments}
