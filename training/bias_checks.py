"""The step that has a judge read responses in the forms of `rubrics.bias`, and what came of a run of it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Q, QuerySet

from llm.engine.steps import Step, register
from llm.models import Run, RunItem
from llm.types import Chat, RefusedError
from rubrics.bias import TOLERANCE, Shift, Trial, Variant, as_json, shifts, variants
from rubrics.judging import AssessmentOutcome, assess_response
from rubrics.readings import incomplete
from rubrics.rubric import Rubric
from training.assessing import JUDGING_SAMPLING, policy_of, window_of
from training.models import BiasCheck, Candidate

KIND = "bias"


@dataclass(frozen=True, slots=True)
class Varied:
    """The forms in which one response is read."""

    variants: tuple[Variant, ...]
    language: str


@dataclass(frozen=True, slots=True)
class BiasReport:
    """What a run's checks came to. `responses` were read in every form; of `asked` ones `failed`
    could not be, and past the share that settings allow the report is `incomplete`."""

    run: Run
    judges: tuple[str, ...]
    policy: str
    seed: int
    shifts: tuple[Shift, ...]
    responses: int
    failed: int
    asked: int

    @property
    def incomplete(self) -> bool:
        return incomplete(self.failed, self.asked)

    def as_json(self) -> dict[str, Any]:
        return {
            "run": self.run.pk,
            "endpoint": self.run.endpoint.name if self.run.endpoint else None,
            "judges": list(self.judges),
            "policy": self.policy,
            "seed": self.seed,
            "tolerance": TOLERANCE,
            "responses": self.responses,
            "failed": self.failed,
            "asked": self.asked,
            "incomplete": self.incomplete,
            "checks": list(as_json(self.shifts)),
        }


@register
class BiasStep(Step[Varied, list[AssessmentOutcome | RefusedError]]):
    """One judge's reading of a response as it is and in each other form, side by side."""

    kind = KIND
    label = "Bias checks"

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self._policy = policy_of(run)
        self._seed = int(run.parameters.get("seed", 0))
        self._window = window_of(run.endpoint)

    def load(self, subject_ids: Sequence[int]) -> Mapping[int, Varied]:
        rows = Candidate.objects.filter(pk__in=subject_ids).select_related("rubric", "prompt")
        return {
            row.pk: Varied(
                tuple(variants(row.text, Rubric.from_json(row.rubric.dimensions), self._seed)),
                row.prompt.language,
            )
            for row in rows
        }

    async def execute(self, subject: Varied, chat: Chat) -> list[AssessmentOutcome | RefusedError]:
        answers = await asyncio.gather(
            *(
                assess_response(
                    variant.response,
                    variant.rubric,
                    chat,
                    JUDGING_SAMPLING,
                    policy=self._policy,
                    language=subject.language,
                    window=self._window,
                )
                for variant in subject.variants
            ),
            return_exceptions=True,
        )
        outcomes: list[AssessmentOutcome | RefusedError] = []
        for answer in answers:
            # A form that is too long for the judge is its own failure; an outage is that of the whole item.
            if isinstance(answer, BaseException) and not isinstance(answer, RefusedError):
                raise answer
            outcomes.append(answer)
        if isinstance(outcomes[0], RefusedError):
            raise outcomes[0]
        return outcomes

    def store(self, results: Sequence[tuple[int, list[AssessmentOutcome | RefusedError]]]) -> None:
        rows = Candidate.objects.select_related("rubric").in_bulk([pk for pk, _ in results])
        endpoint = self.run.endpoint
        assert endpoint is not None
        rubrics = {pk: Rubric.from_json(row.rubric.dimensions) for pk, row in rows.items()}
        BiasCheck.objects.bulk_create(
            (
                BiasCheck(
                    run=self.run,
                    candidate_id=pk,
                    endpoint=endpoint,
                    judge=next(one.judge for one in outcomes if isinstance(one, AssessmentOutcome)),
                    policy=self._policy,
                    maximum=rubrics[pk].maximum,
                    trials=[
                        _trial(variant.name, outcome)
                        for variant, outcome in zip(
                            variants(rows[pk].text, rubrics[pk], self._seed), outcomes, strict=True
                        )
                    ],
                )
                for pk, outcomes in results
            ),
            ignore_conflicts=True,
        )


def _trial(name: str, outcome: AssessmentOutcome | RefusedError) -> dict[str, Any]:
    if isinstance(outcome, RefusedError):
        return {"name": name, "value": None, "fallback": False, "failure": str(outcome), "completion": ""}
    return {
        "name": name,
        "value": outcome.reward.value if outcome.reward else None,
        "fallback": bool(outcome.reward and outcome.reward.fallback),
        "failure": outcome.failure,
        "completion": outcome.completion_key,
    }


def bias_report(run: Run) -> BiasReport:
    """The shifts over every response that a run has checked so far."""
    rows = list(BiasCheck.objects.filter(run=run).order_by("candidate"))
    responses = [
        (
            row.maximum,
            [Trial(each["name"], each["value"], each["fallback"], each["failure"]) for each in row.trials],
        )
        for row in rows
    ]
    failed = run.items.filter(state=RunItem.State.FAILED).count()
    return BiasReport(
        run=run,
        judges=tuple(sorted({row.judge for row in rows})),
        policy=policy_of(run),
        seed=int(run.parameters.get("seed", 0)),
        shifts=tuple(shifts(responses)),
        responses=len(rows),
        failed=failed,
        asked=run.total,
    )


def bias_runs() -> QuerySet[Run]:
    """The runs of bias checks, the newest first, each with how many of its items failed."""
    return (
        Run.objects.filter(kind=KIND)
        .select_related("endpoint")
        .annotate(failed=Count("items", filter=Q(items__state=RunItem.State.FAILED)))
        .order_by("-pk")
    )
