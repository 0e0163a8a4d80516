"""The mining step for the engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict

from curation.models import CorpusPrompt
from llm.engine.steps import Step, register
from llm.models import Completion
from llm.types import Chat, ModelError, RefusedError, SamplingParams
from rubrics.irg import MiningFailedError, MiningOutcome, mine_rubric
from rubrics.irg import MiningTrace as Trace
from rubrics.models import MiningTrace, Rubric

MINING_SAMPLING = SamplingParams(temperature=0.7, top_p=0.8)
"""Ours, Qwen3's own advice for answers without thinking: the paper names none for these calls."""


@register
class MineStep(Step[str, MiningOutcome]):
    kind = "mine"
    label = "Rubric mining (IRG)"

    def load(self, subject_ids: Sequence[int]) -> Mapping[int, str]:
        return dict(CorpusPrompt.objects.filter(pk__in=subject_ids).values_list("pk", "text"))

    async def execute(self, subject: str, chat: Chat) -> MiningOutcome:
        return await mine_rubric(subject, chat, MINING_SAMPLING)

    def store(self, results: Sequence[tuple[int, MiningOutcome]]) -> None:
        mined = set(
            Rubric.objects.filter(prompt__in=[pk for pk, _ in results], method=Rubric.Method.IRG).values_list(
                "prompt", flat=True
            )
        )
        for prompt_id, outcome in results:
            if prompt_id in mined:
                continue
            constructor = Completion.objects.values_list("resolved_model", flat=True).get(
                pk=outcome.trace.completion_keys[0]
            )
            rubric = Rubric.objects.create(
                prompt_id=prompt_id,
                method=Rubric.Method.IRG,
                constructor=constructor,
                dimensions=outcome.rubric.to_json(),
                digest=outcome.rubric.digest,
            )
            self._keep(prompt_id, outcome.trace, rubric=rubric)
        prompts = CorpusPrompt.objects.filter(pk__in=[pk for pk, _ in results])
        prompts.filter(withdrawn_at__isnull=True).update(excluded_because="")

    def store_failures(self, failures: Sequence[tuple[int, ModelError]]) -> None:
        """Unusable replies and refusals exclude the prompt; an outage does not."""
        for prompt_id, error in failures:
            if isinstance(error, MiningFailedError | RefusedError):
                trace = error.trace if isinstance(error, MiningFailedError) else Trace()
                self._keep(prompt_id, trace, failure=str(error))
                prompt = CorpusPrompt.objects.filter(pk=prompt_id, withdrawn_at__isnull=True)
                prompt.update(excluded_because=f"no rubric: {error}")

    def _keep(self, prompt_id: int, trace: Trace, rubric: Rubric | None = None, failure: str = "") -> None:
        row = MiningTrace.objects.create(
            prompt_id=prompt_id,
            run=self.run,
            rubric=rubric,
            failure=failure,
            discovered=[asdict(dimension) for dimension in trace.discovered],
            consolidated=[asdict(dimension) for dimension in trace.consolidated],
            specifications=[asdict(specification) for specification in trace.specifications],
        )
        row.completions.set(Completion.objects.filter(pk__in=trace.completion_keys))
