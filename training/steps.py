"""The steps for the engine that write candidates, select demonstrations, and export corpora.

`training.assessing` and `training.bias_checks` have those that ask a judge.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from django.db import connection
from django.utils import timezone

from curation.models import CorpusPrompt
from llm.asking import ask
from llm.engine.steps import Step, register
from llm.text import count_characters
from llm.types import Chat, Completion, ModelError, RefusedError, SamplingParams, UnusableReplyError
from rubrics.models import Rubric as RubricRow
from rubrics.rubric import Rubric
from training.choosing import keep_selection
from training.models import Candidate, CorpusSnapshot
from training.readings import scored, with_readings
from training.selection import CANDIDATES_PER_PROMPT, ScoredCandidate, Selection, select_demonstration
from training.snapshots import write_snapshot
from training.writing import candidate_request

WRITING_SAMPLING = SamplingParams(temperature=0.7, top_p=0.8, max_tokens=4096)
"""The paper's decoding for writers (4.1) and its response limit (B.2); ours to use them for candidates."""

NO_CANDIDATES = "no candidates: "


@dataclass(frozen=True, slots=True)
class RubricPrompt:
    request: str
    rubric: Rubric


@register
class WriteStep(Step[RubricPrompt, list[tuple[str, Completion]]]):
    """Five responses to request + rubric, written side by side."""

    kind = "write"
    label = "Candidates"

    def load(self, subject_ids: Sequence[int]) -> Mapping[int, RubricPrompt]:
        rows = RubricRow.objects.filter(pk__in=subject_ids).select_related("prompt")
        return {row.pk: RubricPrompt(row.prompt.text, Rubric.from_json(row.dimensions)) for row in rows}

    async def execute(self, subject: RubricPrompt, chat: Chat) -> list[tuple[str, Completion]]:
        requests = [
            candidate_request(subject.request, subject.rubric, index, WRITING_SAMPLING)
            for index in range(CANDIDATES_PER_PROMPT)
        ]
        answers = await asyncio.gather(
            *(ask(chat, request, str, allow_cut=True) for request in requests), return_exceptions=True
        )
        # All five have ended by now: one that fails must not leave the others asking behind its back.
        for answer in answers:
            if isinstance(answer, BaseException):
                raise answer
        return [answer for answer in answers if not isinstance(answer, BaseException)]

    def store(self, results: Sequence[tuple[int, list[tuple[str, Completion]]]]) -> None:
        written = set(
            Candidate.objects.filter(rubric__in=[pk for pk, _ in results]).values_list("rubric", flat=True)
        )
        results = [(pk, answers) for pk, answers in results if pk not in written]
        prompts = dict(
            RubricRow.objects.filter(pk__in=[pk for pk, _ in results]).values_list("pk", "prompt_id")
        )
        CorpusPrompt.objects.filter(
            pk__in=prompts.values(), excluded_because__startswith=NO_CANDIDATES
        ).update(excluded_because="")
        Candidate.objects.bulk_create(
            Candidate(
                prompt_id=prompts[rubric_id],
                rubric_id=rubric_id,
                index=index,
                text=text,
                cut=completion.cut,
                characters=count_characters(text),
                completion_id=completion.key,
            )
            for rubric_id, answers in results
            for index, (text, completion) in enumerate(answers)
        )

    def store_failures(self, failures: Sequence[tuple[int, ModelError]]) -> None:
        for rubric_id, error in failures:
            if isinstance(error, UnusableReplyError | RefusedError):
                prompt = CorpusPrompt.objects.filter(rubrics=rubric_id, withdrawn_at__isnull=True)
                prompt.update(excluded_because=f"{NO_CANDIDATES}{error}")


@register
class SelectStep(Step[list[ScoredCandidate], Selection]):
    """The best of a rubric's candidates becomes the demonstration; calls no model."""

    kind = "select"
    label = "Selection"

    def load(self, subject_ids: Sequence[int]) -> Mapping[int, list[ScoredCandidate]]:
        rows = with_readings(Candidate.objects.filter(rubric__in=subject_ids)).order_by("rubric", "index")
        by_rubric = itertools.groupby(rows, key=attrgetter("rubric_id"))
        return {rubric_id: scored(list(candidates)) for rubric_id, candidates in by_rubric}

    async def execute(self, subject: list[ScoredCandidate], chat: Chat) -> Selection:
        return select_demonstration(subject)

    def store(self, results: Sequence[tuple[int, Selection]]) -> None:
        for rubric_id, selection in results:
            keep_selection(rubric_id, selection)


@register
class ExportStep(Step[CorpusSnapshot, dict[str, Any]]):
    """Writes a snapshot's files on a thread of its own, under the engine's lease; calls no model."""

    kind = "export"
    label = "Export"

    def load(self, subject_ids: Sequence[int]) -> Mapping[int, CorpusSnapshot]:
        return CorpusSnapshot.objects.in_bulk(subject_ids)

    async def execute(self, subject: CorpusSnapshot, chat: Chat) -> dict[str, Any]:
        return await asyncio.to_thread(_write_and_disconnect, subject)

    def store(self, results: Sequence[tuple[int, dict[str, Any]]]) -> None:
        for pk, manifest in results:
            CorpusSnapshot.objects.filter(pk=pk).update(
                state=CorpusSnapshot.State.DONE, error="", manifest=manifest, finished_at=timezone.now()
            )

    def store_failures(self, failures: Sequence[tuple[int, ModelError]]) -> None:
        for pk, error in failures:
            CorpusSnapshot.objects.filter(pk=pk).update(state=CorpusSnapshot.State.FAILED, error=str(error))


def _write_and_disconnect(snapshot: CorpusSnapshot) -> dict[str, Any]:
    try:
        return write_snapshot(snapshot)
    finally:
        connection.close()
