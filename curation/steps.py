"""The curation steps for the engine: reconstruct, and filter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from curation.languages import detect_language
from curation.models import Reconstruction, ReconstructionDraft, ScreeningMatch, ScreeningSample
from curation.reconstruction import ReconstructionOutcome, Strategy, reconstruct
from curation.repetition import RepetitionReport, degenerate_repetition
from curation.screening import ScreeningResult, TrigramIndex
from curation.tokenizer import qwen3_encoder
from llm.engine.steps import Step, register
from llm.models import Run
from llm.text import count_characters, count_segments
from llm.types import Chat, ModelError, SamplingParams

RECONSTRUCTION_SAMPLING = SamplingParams(temperature=0.7, top_p=0.8)
"""Ours, Qwen3's own advice for answers without thinking: the paper names none for this call."""


@dataclass(frozen=True, slots=True)
class SourceText:
    text: str
    strategy: Strategy
    index: int


@register
class ReconstructStep(Step[SourceText, ReconstructionOutcome]):
    kind = "reconstruct"
    label = "Reconstruction"

    def load(self, subject_ids: Sequence[int]) -> Mapping[int, SourceText]:
        rows = Reconstruction.objects.filter(pk__in=subject_ids).select_related("source_prompt")
        return {row.pk: SourceText(row.source_prompt.text, Strategy(row.strategy), row.index) for row in rows}

    async def execute(self, subject: SourceText, chat: Chat) -> ReconstructionOutcome:
        return await reconstruct(
            subject.text, subject.strategy, chat, RECONSTRUCTION_SAMPLING, index=subject.index
        )

    def store(self, results: Sequence[tuple[int, ReconstructionOutcome]]) -> None:
        outcomes = dict(results)
        unwritten = [Reconstruction.State.PLANNED, Reconstruction.State.FAILED]
        rows = list(Reconstruction.objects.select_for_update().filter(pk__in=outcomes, state__in=unwritten))
        outcomes = {row.pk: outcomes[row.pk] for row in rows}
        for row in rows:
            text = outcomes[row.pk].text
            row.text, row.state, row.state_reason = text, Reconstruction.State.REWRITTEN, ""
            row.language = detect_language(text).code
            row.characters, row.segments = count_characters(text), count_segments(text)
        Reconstruction.objects.bulk_update(
            rows, ["text", "state", "state_reason", "language", "characters", "segments"]
        )
        ReconstructionDraft.objects.filter(reconstruction__in=outcomes).delete()
        ReconstructionDraft.objects.bulk_create(
            ReconstructionDraft(
                reconstruction_id=pk,
                number=number,
                kind=draft.kind,
                text=draft.text,
                characters=draft.characters,
                segments=draft.segments,
                completion_id=draft.completion_key,
            )
            for pk, outcome in outcomes.items()
            for number, draft in enumerate(outcome.drafts)
        )

    def store_failures(self, failures: Sequence[tuple[int, ModelError]]) -> None:
        for pk, error in failures:
            unwritten = [Reconstruction.State.PLANNED, Reconstruction.State.FAILED]
            Reconstruction.objects.filter(pk=pk, state__in=unwritten).update(
                state=Reconstruction.State.FAILED, state_reason=f"{error.kind}: {error}"
            )


@dataclass(frozen=True, slots=True)
class FilterOutcome:
    repetition: RepetitionReport
    screening: ScreeningResult


@register
class FilterStep(Step[str, FilterOutcome]):
    """Degenerate repetition, then overlap with the benchmarks; calls no model."""

    kind = "filter"
    label = "Filters and screening"

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        encoder = qwen3_encoder()
        self._tokenizer = encoder.identity
        samples = {str(pk): text for pk, text in ScreeningSample.objects.values_list("pk", "text").iterator()}
        self._index = TrigramIndex(samples, encoder.encode)

    def load(self, subject_ids: Sequence[int]) -> Mapping[int, str]:
        return dict(Reconstruction.objects.filter(pk__in=subject_ids).values_list("pk", "text"))

    async def execute(self, subject: str, chat: Chat) -> FilterOutcome:
        return FilterOutcome(degenerate_repetition(subject), self._index.screen(subject))

    def store(self, results: Sequence[tuple[int, FilterOutcome]]) -> None:
        outcomes = dict(results)
        rows = list(
            Reconstruction.objects.select_for_update().filter(
                pk__in=outcomes, state=Reconstruction.State.REWRITTEN
            )
        )
        outcomes = {row.pk: outcomes[row.pk] for row in rows}
        for row in rows:
            row.state, row.state_reason = _decision(outcomes[row.pk])
            row.overlap = outcomes[row.pk].screening.overlap
        Reconstruction.objects.bulk_update(rows, ["state", "state_reason", "overlap"])
        ScreeningMatch.objects.filter(reconstruction__in=outcomes).delete()
        ScreeningMatch.objects.bulk_create(
            ScreeningMatch(
                reconstruction_id=pk,
                sample_id=int(outcome.screening.sample_id),
                shared=outcome.screening.shared,
                total=outcome.screening.total,
                tokenizer=self._tokenizer,
            )
            for pk, outcome in outcomes.items()
            if outcome.screening.sample_id is not None
        )


def _decision(outcome: FilterOutcome) -> tuple[Reconstruction.State, str]:
    if outcome.repetition.degenerate:
        return Reconstruction.State.REPETITIVE, outcome.repetition.reason
    if outcome.screening.contaminated:
        found = outcome.screening
        return (
            Reconstruction.State.CONTAMINATED,
            f"shares {found.shared} of a benchmark sample's {found.total} distinct trigrams "
            f"({found.overlap:.0%})",
        )
    return Reconstruction.State.IN_REVIEW, ""
