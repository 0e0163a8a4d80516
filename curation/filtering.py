"""The engine's step that filters: degenerate repetition, then overlap with the benchmarks. Calls no model.

    rewritten ─┬─► repetitive      (with the rule and the passage)
               ├─► contaminated    (with the sample and the counts)
               └─► in review

The settings are those of the moment a run is first taken up, and stay with the run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from curation.models import CurationPolicy, Reconstruction, ScreeningMatch, ScreeningSample
from curation.repetition import (
    RepetitionLimits,
    RepetitionReport,
    degenerate_repetition,
    limits_from,
)
from curation.review import open_for_review
from curation.screening import ScreeningResult, TrigramIndex
from curation.tokenizer import Encoder, load_encoder
from llm.audit import Change, record_many
from llm.engine.steps import Step, register
from llm.models import Run
from llm.types import Chat

State = Reconstruction.State

POLICY = "policy"
"""Key of the run's parameters that holds the settings it filters by."""


@dataclass(frozen=True, slots=True)
class FilterOutcome:
    repetition: RepetitionReport
    screening: ScreeningResult


def filter_policy(run: Run) -> dict[str, Any]:
    """The settings of a run; the first to ask fixes them."""
    if POLICY not in run.parameters:
        policy = CurationPolicy.current()
        run.parameters = {
            **run.parameters,
            POLICY: {
                "tokenizer": policy.tokenizer,
                "minimum_shared_trigrams": policy.minimum_shared_trigrams,
                "repetition_limits": policy.repetition_limits,
            },
        }
        run.save(update_fields=["parameters"])
    fixed: dict[str, Any] = run.parameters[POLICY]
    return fixed


def screening_index(encoder: Encoder, *, minimum_shared: int = 0) -> TrigramIndex:
    """All held-out samples, by their row's number."""
    samples = {str(pk): text for pk, text in ScreeningSample.objects.values_list("pk", "text").iterator()}
    return TrigramIndex(
        samples, encoder.encode, minimum_shared=minimum_shared, encode_batch=encoder.encode_batch
    )


@register
class FilterStep(Step[FilterOutcome, FilterOutcome]):
    """`load` filters a whole batch at once: that is what screening is quick at."""

    kind = "filter"
    label = "Filters and screening"

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        policy = filter_policy(run)
        self._encoder = load_encoder(policy["tokenizer"])
        self._changed_limits: Mapping[str, Any] = policy["repetition_limits"]
        self._limits: RepetitionLimits = limits_from(self._changed_limits)
        self._index = screening_index(self._encoder, minimum_shared=policy["minimum_shared_trigrams"])

    def load(self, subject_ids: Sequence[int]) -> Mapping[int, FilterOutcome]:
        texts = dict(Reconstruction.objects.filter(pk__in=subject_ids).values_list("pk", "text"))
        screened = self._index.screen_many(texts.values())
        return {
            pk: FilterOutcome(degenerate_repetition(text, self._limits), result)
            for (pk, text), result in zip(texts.items(), screened, strict=True)
        }

    async def execute(self, subject: FilterOutcome, chat: Chat) -> FilterOutcome:
        return subject

    def store(self, results: Sequence[tuple[int, FilterOutcome]]) -> None:
        waiting = Reconstruction.objects.select_for_update().filter(
            pk__in=[pk for pk, _ in results], state=State.REWRITTEN
        )
        rows = {row.pk: row for row in waiting.only("pk").order_by("pk")}
        outcomes = {pk: outcome for pk, outcome in results if pk in rows}
        passed: list[int] = []
        for pk, outcome in outcomes.items():
            row = rows[pk]
            row.state, row.state_reason = _decision(outcome)
            row.repetition = self._repetition(outcome.repetition)
            row.overlap, row.screened_with = outcome.screening.overlap, self._encoder.identity
            if row.state == State.REWRITTEN:
                passed.append(pk)
        Reconstruction.objects.bulk_update(
            rows.values(), ["state", "state_reason", "repetition", "overlap", "screened_with"]
        )
        self._store_matches(outcomes)
        record_many(self._discards(rows.values()))
        open_for_review(reconstruction_ids=passed, run=self.run)

    def _repetition(self, report: RepetitionReport) -> dict[str, Any] | None:
        if not report.degenerate:
            return None
        return {
            "rule": report.rule,
            "passage": report.passage,
            "reason": report.reason,
            "limits": dict(self._changed_limits),
        }

    def _store_matches(self, outcomes: Mapping[int, FilterOutcome]) -> None:
        ScreeningMatch.objects.filter(reconstruction__in=outcomes).delete()
        ScreeningMatch.objects.bulk_create(
            ScreeningMatch(
                reconstruction_id=pk,
                sample_id=int(outcome.screening.sample_id),
                shared=outcome.screening.shared,
                total=outcome.screening.total,
                tokenizer=self._encoder.identity,
            )
            for pk, outcome in outcomes.items()
            if outcome.screening.sample_id is not None
        )

    def _discards(self, rows: Iterable[Reconstruction]) -> list[Change]:
        return [
            Change(
                row,
                "discarded",
                {"state": State.REWRITTEN.value},
                {"state": row.state},
                row.state_reason,
                run=self.run,
            )
            for row in rows
            if row.state != State.REWRITTEN
        ]


def _decision(outcome: FilterOutcome) -> tuple[Reconstruction.State, str]:
    """One that passes keeps its state until it is opened for review."""
    if outcome.repetition.degenerate:
        return State.REPETITIVE, outcome.repetition.reason
    screening = outcome.screening
    if screening.contaminated:
        return State.CONTAMINATED, (
            f"shares {screening.shared} of a benchmark sample's {screening.total} distinct trigrams "
            f"({screening.overlap:.0%})"
        )
    return State.REWRITTEN, ""
