"""The engine's step that writes reconstructions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from curation.indexing import index_now
from curation.languages import detect_language
from curation.models import Reconstruction, ReconstructionDraft
from curation.reconstruction import ReconstructionOutcome, Strategy, reconstruct
from llm.audit import Change, record_many
from llm.engine.steps import Step, register
from llm.text import LengthPolicy, count_characters, count_length
from llm.types import Chat, ModelError, SamplingParams

State = Reconstruction.State

RECONSTRUCTION_SAMPLING = SamplingParams(temperature=0.7, top_p=0.8)
"""Ours, Qwen3's own advice for answers without thinking: the paper names none for this call."""


@dataclass(frozen=True, slots=True)
class SourceText:
    text: str
    strategy: Strategy
    index: int
    policy: LengthPolicy


@register
class ReconstructStep(Step[SourceText, ReconstructionOutcome]):
    kind = "reconstruct"
    label = "Reconstruction"

    def load(self, subject_ids: Sequence[int]) -> Mapping[int, SourceText]:
        rows = Reconstruction.objects.filter(pk__in=subject_ids).select_related("source_prompt")
        return {
            row.pk: SourceText(
                row.source_prompt.text, Strategy(row.strategy), row.index, LengthPolicy(row.length_policy)
            )
            for row in rows
        }

    async def execute(self, subject: SourceText, chat: Chat) -> ReconstructionOutcome:
        return await reconstruct(
            subject.text,
            subject.strategy,
            chat,
            RECONSTRUCTION_SAMPLING,
            index=subject.index,
            policy=subject.policy,
        )

    def store(self, results: Sequence[tuple[int, ReconstructionOutcome]]) -> None:
        outcomes = dict(results)
        rows = _unwritten(outcomes)
        outcomes = {row.pk: outcomes[row.pk] for row in rows}
        before = {row.pk: row.state for row in rows}
        for row in rows:
            text = outcomes[row.pk].text
            row.text, row.state, row.state_reason = text, State.REWRITTEN, ""
            row.language, row.search = detect_language(text).code, None
            row.characters = count_characters(text)
            row.segments = count_length(text, LengthPolicy(row.length_policy))
        Reconstruction.objects.bulk_update(
            rows, ["text", "state", "state_reason", "language", "characters", "segments", "search"]
        )
        index_now(Reconstruction, {row.pk: row.text for row in rows})
        _store_drafts(outcomes)
        self._record("rewritten", rows, before)

    def store_failures(self, failures: Sequence[tuple[int, ModelError]]) -> None:
        errors = dict(failures)
        rows = _unwritten(errors)
        before = {row.pk: row.state for row in rows}
        for row in rows:
            row.state, row.state_reason = State.FAILED, f"{errors[row.pk].kind}: {errors[row.pk]}"
        Reconstruction.objects.bulk_update(rows, ["state", "state_reason"])
        self._record("not reconstructed", rows, before)

    def _record(self, action: str, rows: Iterable[Reconstruction], before: Mapping[int, str]) -> None:
        record_many(
            Change(
                row,
                action,
                {"state": str(before[row.pk])},
                {"state": str(row.state)},
                row.state_reason,
                run=self.run,
            )
            for row in rows
        )


def _unwritten(keys: Collection[int]) -> list[Reconstruction]:
    """Those of the reconstructions that have no text yet, locked in the order of their keys."""
    rows = Reconstruction.objects.select_for_update().filter(pk__in=keys)
    return list(rows.filter(state__in=[State.PLANNED, State.FAILED]).order_by("pk"))


def _store_drafts(outcomes: Mapping[int, ReconstructionOutcome]) -> None:
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
