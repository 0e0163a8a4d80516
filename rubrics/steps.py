"""The mining step for the engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from curation.models import CorpusPrompt
from llm.engine.steps import Step, register
from llm.models import Run
from llm.types import Chat, ModelError, RefusedError, SamplingParams
from rubrics.construction import AcceptanceBounds, MiningFailedError, MiningOutcome
from rubrics.construction import MiningTrace as Trace
from rubrics.direct import draft_rubric, generate_rubric
from rubrics.irg import mine_rubric
from rubrics.models import Rubric
from rubrics.services import NO_RUBRIC
from rubrics.storing import store_rubric, store_trace

MINING_SAMPLING = SamplingParams(temperature=0.7, top_p=0.8)
"""Ours, Qwen3's own advice for answers without thinking: the paper names none for these calls."""


@dataclass(frozen=True, slots=True)
class MiningRequest:
    """A writing request and its language, which chooses the templates."""

    text: str
    language: str


class Constructor(Protocol):
    """A way of making a rubric. Raises MiningFailedError when none came of the request."""

    async def __call__(
        self,
        request_text: str,
        chat: Chat,
        sampling: SamplingParams,
        *,
        language: str,
        bounds: AcceptanceBounds,
    ) -> MiningOutcome: ...


CONSTRUCTORS: Mapping[str, Constructor] = {
    Rubric.Method.IRG: mine_rubric,
    Rubric.Method.DRG: draft_rubric,
    Rubric.Method.RUBRICGEN: generate_rubric,
}


@register
class MineStep(Step[MiningRequest, MiningOutcome]):
    kind = "mine"
    label = "Rubric mining"

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self.method = run.parameters["method"]
        self.bounds = AcceptanceBounds.from_json(run.parameters.get("bounds"))

    def load(self, subject_ids: Sequence[int]) -> Mapping[int, MiningRequest]:
        rows = CorpusPrompt.objects.filter(pk__in=subject_ids).values_list("pk", "text", "language")
        return {pk: MiningRequest(text, language) for pk, text, language in rows}

    async def execute(self, subject: MiningRequest, chat: Chat) -> MiningOutcome:
        construct = CONSTRUCTORS[self.method]
        return await construct(
            subject.text, chat, MINING_SAMPLING, language=subject.language, bounds=self.bounds
        )

    def store(self, results: Sequence[tuple[int, MiningOutcome]]) -> None:
        for prompt_id, outcome in results:
            store_rubric(
                prompt_id=prompt_id,
                method=self.method,
                rubric=outcome.rubric,
                trace=outcome.trace,
                endpoint=self.run.endpoint,
                run=self.run,
            )
        prompts = CorpusPrompt.objects.filter(pk__in=[pk for pk, _ in results])
        prompts.filter(withdrawn_at__isnull=True, excluded_because__startswith=NO_RUBRIC).update(
            excluded_because=""
        )

    def store_failures(self, failures: Sequence[tuple[int, ModelError]]) -> None:
        """Unusable replies and refusals exclude a prompt that has no rubric at all; an outage does not."""
        for prompt_id, error in failures:
            if isinstance(error, MiningFailedError | RefusedError):
                trace = error.trace if isinstance(error, MiningFailedError) else Trace()
                store_trace(prompt_id=prompt_id, trace=trace, run=self.run, failure=str(error))
                prompt = CorpusPrompt.objects.filter(pk=prompt_id, withdrawn_at=None, rubrics=None)
                prompt.update(excluded_because=f"{NO_RUBRIC}{error}")
