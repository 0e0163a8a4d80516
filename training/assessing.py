"""The step that has a judge read candidates, and what its readings change.

candidate ─► as many readings as are missing ─► rows ─► whose readings select ─► choices that are open again
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

from curation.tokenizer import qwen3_encoder
from llm.engine.steps import Step, register
from llm.models import Endpoint, Run
from llm.types import Chat, SamplingParams
from rubrics.fitting import Window, question_tokens
from rubrics.judging import AssessmentOutcome, Policy, assess_response
from rubrics.models import Assessment
from rubrics.rubric import Rubric
from training.choosing import lock_rubrics, point_at_first_readings, reopen
from training.models import Candidate
from training.readings import judge_of

JUDGING_SAMPLING = SamplingParams(temperature=0.1, top_p=0.8)
"""Ours: near to greedy, so that a judgement is steady, but not so that asking again cannot help. Repeated
readings are made with it too: their spread is that of the judge as it is used."""


@dataclass(frozen=True, slots=True)
class RubricResponse:
    """What a judge reads, and which of the wanted readings are not there yet."""

    response: str
    rubric: Rubric
    language: str
    samples: tuple[int, ...] = (0,)


def policy_of(run: Run) -> Policy:
    """The policy that a run was started with; runs of old say nothing, and theirs is the paper's."""
    return "checked" if run.parameters.get("policy") == "checked" else "paper"


def window_of(endpoint: Endpoint | None) -> Window | None:
    """How long a question to this endpoint may be, in Qwen3 tokens; None where its window is not known."""
    if endpoint is None or endpoint.context_window is None:
        return None
    return Window(question_tokens(endpoint.context_window, endpoint.max_output_tokens), qwen3_encoder())


def response_digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@register
class AssessStep(Step[RubricResponse, list[AssessmentOutcome]]):
    """One judge's readings of each candidate against its rubric."""

    kind = "assess"
    label = "Assessment"

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self._policy = policy_of(run)
        self._wanted = int(run.parameters.get("samples", 1))
        self._window = window_of(run.endpoint)

    def load(self, subject_ids: Sequence[int]) -> Mapping[int, RubricResponse]:
        rows = Candidate.objects.filter(pk__in=subject_ids).select_related("rubric", "prompt")
        there: dict[int, set[int]] = {}
        links = Candidate.assessments.through.objects.filter(
            candidate__in=subject_ids,
            assessment__endpoint=self.run.endpoint,
            assessment__policy=self._policy,
        )
        for candidate_id, sample in links.values_list("candidate", "assessment__sample_index"):
            there.setdefault(candidate_id, set()).add(sample)
        return {
            row.pk: RubricResponse(
                row.text,
                Rubric.from_json(row.rubric.dimensions),
                row.prompt.language,
                tuple(n for n in range(self._wanted) if n not in there.get(row.pk, ())),
            )
            for row in rows
        }

    async def execute(self, subject: RubricResponse, chat: Chat) -> list[AssessmentOutcome]:
        answers = await asyncio.gather(
            *(
                assess_response(
                    subject.response,
                    subject.rubric,
                    chat,
                    JUDGING_SAMPLING,
                    policy=self._policy,
                    sample_index=sample,
                    language=subject.language,
                    window=self._window,
                )
                for sample in subject.samples
            ),
            return_exceptions=True,
        )
        # All have ended by now: one that fails must not leave the others asking behind its back.
        for answer in answers:
            if isinstance(answer, BaseException):
                raise answer
        return [answer for answer in answers if not isinstance(answer, BaseException)]

    def store(self, results: Sequence[tuple[int, list[AssessmentOutcome]]]) -> None:
        outcomes = dict(results)
        rows = Candidate.objects.filter(pk__in=outcomes).select_related("rubric").order_by("pk")
        store_readings(list(rows), outcomes, endpoint=self.run.endpoint)


def store_readings(
    rows: Sequence[Candidate],
    outcomes: Mapping[int, Sequence[AssessmentOutcome]],
    *,
    endpoint: Endpoint | None,
) -> None:
    """Keeps the readings of candidates (`outcomes` by their keys), each response's once, and opens choices
    again that were made from fewer of them. Call it inside a transaction."""
    rubric_ids = {row.rubric_id for row in rows}
    lock_rubrics(rubric_ids)
    made = dict(_made(rows, outcomes, endpoint))
    known = {_key(row): row for row in _stored(rows, endpoint)}
    Assessment.objects.bulk_create(row for key, row in made.items() if key not in known)
    made |= known
    links = Candidate.assessments.through
    links.objects.bulk_create(
        (
            links(candidate_id=row.pk, assessment_id=made[_key(_assessment(row, outcome, endpoint))].pk)
            for row in rows
            for outcome in outcomes[row.pk]
        ),
        ignore_conflicts=True,
    )
    point_at_first_readings(rubric_ids)
    judges = {judge_of(row) for row in made.values()}
    selecting = Candidate.objects.filter(rubric__in=rubric_ids, assessment__isnull=False)
    reopen(
        {
            row.rubric_id
            for row in selecting.select_related("assessment")
            if row.assessment and judge_of(row.assessment) in judges
        }
    )


_Key = tuple[int, str, str, int]


def _key(row: Assessment) -> _Key:
    return (row.rubric_id, row.response_digest, row.policy, row.sample_index)


def _stored(rows: Sequence[Candidate], endpoint: Endpoint | None) -> Iterator[Assessment]:
    """What this endpoint has read of these responses before, for a candidate of the same text, say."""
    digests = [response_digest(row.text) for row in rows]
    yield from Assessment.objects.filter(
        rubric__in={row.rubric_id for row in rows}, response_digest__in=digests, endpoint=endpoint
    )


def _made(
    rows: Sequence[Candidate],
    outcomes: Mapping[int, Sequence[AssessmentOutcome]],
    endpoint: Endpoint | None,
) -> Iterator[tuple[_Key, Assessment]]:
    for row in rows:
        for outcome in outcomes[row.pk]:
            made = _assessment(row, outcome, endpoint)
            yield _key(made), made


def _assessment(row: Candidate, outcome: AssessmentOutcome, endpoint: Endpoint | None) -> Assessment:
    return Assessment(
        rubric=row.rubric,
        rubric_digest=row.rubric.digest,
        response_digest=response_digest(row.text),
        response_cut=outcome.response_cut,
        completion_id=outcome.completion_key,
        endpoint=endpoint,
        judge=outcome.judge,
        template=outcome.template,
        sample_index=outcome.sample_index,
        policy=outcome.policy,
        value=outcome.reward.value if outcome.reward else None,
        fallback=bool(outcome.reward and outcome.reward.fallback),
        failure=outcome.failure,
        items=[asdict(item) for item in outcome.items],
        missing=list(outcome.missing),
        unknown=list(outcome.unknown),
    )
