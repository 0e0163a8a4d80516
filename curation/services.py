"""Every write on the way from a file of requests to the queue of reviews."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, BinaryIO, TypeVar

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Model, QuerySet

from curation.jsonl import PromptLine, Refusal, read_prompts
from curation.languages import UNDETERMINED, detect_language
from curation.models import Reconstruction, ScreeningSample, Source, SourcePrompt
from curation.reconstruction import MAX_SOURCE_SEGMENTS, Strategy, exceeds_source_limit, plan_strategies
from llm.models import Endpoint, Run
from llm.services import start_run
from llm.text import count_characters, count_segments

Row = TypeVar("Row", bound=Model)

BATCH = 500
LISTED_LINES = 500
"""How many refused or noted lines a stored report lists; all of them are counted."""


@dataclass
class LineReport:
    """One line of an import that was not simply taken."""

    line: int
    reason: str


@dataclass
class ImportReport:
    """`read` = `added` + `duplicates` + `refused`; `notes` are lines that went in, cleaned or in doubt."""

    read: int = 0
    added: int = 0
    duplicates: int = 0
    refused: int = 0
    noted: int = 0
    duplicate_lines: list[LineReport] = field(default_factory=list)
    refused_lines: list[LineReport] = field(default_factory=list)
    noted_lines: list[LineReport] = field(default_factory=list)

    def refuse(self, line: int, reason: str) -> None:
        self.refused += 1
        _list(self.refused_lines, line, reason)

    def duplicate(self, line: int, reason: str) -> None:
        self.duplicates += 1
        _list(self.duplicate_lines, line, reason)

    def note(self, line: int, reason: str) -> None:
        self.noted += 1
        _list(self.noted_lines, line, reason)

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def _list(lines: list[LineReport], line: int, reason: str) -> None:
    if len(lines) < LISTED_LINES:
        lines.append(LineReport(line, reason))


def digest_of(text: str) -> str:
    """SHA-256 of the text's UTF-8, in hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()


def import_prompts(
    *,
    file: BinaryIO,
    file_name: str,
    source_name: str,
    field_name: str | None = None,
    user: User | None = None,
) -> ImportReport:
    """Reads JSON lines as a stream and keeps each text once.

    Good lines go in batch by batch, so a file that breaks off half way leaves what came before it, and
    importing it again adds only the rest. Raises `curation.jsonl` errors for a file that holds no JSON
    lines at all; a bad line is only reported.
    """
    report = ImportReport()
    source: Source | None = None
    for batch in _batches(read_prompts(file, field_name), BATCH):
        if source is None:
            source, _ = Source.objects.get_or_create(
                name=source_name, defaults={"file_name": file_name, "imported_by": user}
            )
        _import_batch(batch, source, report)
    if source is not None:
        source.file_name, source.imported_by, source.report = file_name, user, report.as_json()
        source.save()
    return report


def _batches(lines: Iterable[PromptLine | Refusal], size: int) -> Iterator[list[PromptLine | Refusal]]:
    iterator = iter(lines)
    while batch := list(itertools.islice(iterator, size)):
        yield batch


def _import_batch(batch: Sequence[PromptLine | Refusal], source: Source, report: ImportReport) -> None:
    prompts: dict[str, PromptLine] = {}
    for entry in batch:
        report.read += 1
        if isinstance(entry, Refusal):
            report.refuse(entry.line, entry.reason)
        elif (first := prompts.setdefault(digest_of(entry.text), entry)) is not entry:
            report.duplicate(entry.line, f"the same text as line {first.line}")
    with transaction.atomic():
        known = dict(
            SourcePrompt.objects.filter(digest__in=prompts).values_list("digest", "source__name", named=False)
        )
        for digest, entry in prompts.items():
            if digest in known:
                report.duplicate(entry.line, f"already imported (source {known[digest]})")
        rows = [_row(d, entry, source, report) for d, entry in prompts.items() if d not in known]
        SourcePrompt.objects.bulk_create(rows)
        report.added += len(rows)


def _row(digest: str, entry: PromptLine, source: Source, report: ImportReport) -> SourcePrompt:
    language = detect_language(entry.text).code
    segments = count_segments(entry.text)
    for note in entry.notes:
        report.note(entry.line, note)
    if language == UNDETERMINED:
        report.note(entry.line, "its language could not be told; kept as 'und'")
    excluded = ""
    if exceeds_source_limit(entry.text):
        excluded = f"{segments:,} segments: sources over {MAX_SOURCE_SEGMENTS:,} are left out"
        report.note(entry.line, excluded)
    return SourcePrompt(
        source=source,
        line=entry.line,
        external_id=(entry.external_id or "")[:200],
        text=entry.text,
        digest=digest,
        language=language,
        characters=count_characters(entry.text),
        segments=segments,
        excluded_because=excluded,
    )


def import_screening_samples(*, benchmark: str, samples: Mapping[str, str]) -> int:
    """Adds or refreshes a benchmark's samples by id; returns how many are new or changed."""
    known = dict(ScreeningSample.objects.filter(benchmark=benchmark).values_list("external_id", "digest"))
    rows = [
        ScreeningSample(benchmark=benchmark, external_id=sample_id, text=text, digest=digest_of(text))
        for sample_id, text in samples.items()
        if known.get(sample_id) != digest_of(text)
    ]
    ScreeningSample.objects.bulk_create(
        rows,
        batch_size=BATCH,
        update_conflicts=True,
        unique_fields=["benchmark", "external_id"],
        update_fields=["text", "digest"],
    )
    return len(rows)


def plan_reconstructions(
    *, per_source: int, seed: int, limit: int | None = None, source: Source | None = None
) -> list[int]:
    """Plans `per_source` reconstructions of each usable source prompt, topping up what is already planned.

    Returns the reconstructions of those prompts that still wait to be written. `limit` takes the first
    prompts in the order of import.
    """
    source_ids = usable_source_prompts(source=source, limit=limit)
    with transaction.atomic():
        existing: dict[int, list[tuple[int, Strategy]]] = {}
        rows = Reconstruction.objects.filter(source_prompt__in=source_ids)
        for source_id, index, strategy in rows.values_list("source_prompt_id", "index", "strategy"):
            existing.setdefault(source_id, []).append((index, Strategy(strategy)))
        plan = plan_strategies(source_ids, per_source, seed, existing)
        Reconstruction.objects.bulk_create(
            (
                Reconstruction(source_prompt_id=place.source_id, index=place.index, strategy=place.strategy)
                for place in plan
            ),
            batch_size=BATCH,
        )
    waiting = Reconstruction.objects.filter(
        source_prompt__in=source_ids, state=Reconstruction.State.PLANNED
    ).order_by("pk")
    return list(waiting.values_list("pk", flat=True))


def start_reconstruction(
    *,
    endpoint: Endpoint,
    per_source: int = 1,
    seed: int = 0,
    limit: int | None = None,
    source: Source | None = None,
    user: User | None = None,
) -> Run:
    """Plans, then queues every planned reconstruction."""
    return start_run(
        kind="reconstruct",
        subject_ids=plan_reconstructions(per_source=per_source, seed=seed, limit=limit, source=source),
        endpoint=endpoint,
        parameters={"per_source": per_source, "seed": seed, "limit": limit},
        user=user,
    )


def made_from(
    source_prompts: Collection[int] | None, rows: QuerySet[Row], path: str = "source_prompt"
) -> QuerySet[Row]:
    """The rows whose source prompt (found along `path`) is among these; all of them for None."""
    return rows if source_prompts is None else rows.filter(**{f"{path}__in": source_prompts})


def usable_source_prompts(*, source: Source | None = None, limit: int | None = None) -> list[int]:
    """The source prompts that are not excluded, the first `limit` in the order of import."""
    prompts = SourcePrompt.objects.filter(excluded_because="").order_by("pk")
    if source is not None:
        prompts = prompts.filter(source=source)
    return list(prompts.values_list("pk", flat=True)[:limit])


def start_filtering(
    *, limit: int | None = None, among: Collection[int] | None = None, user: User | None = None
) -> Run:
    """Queues rewritten reconstructions (those of the source prompts `among`) for filters and screening."""
    rewritten = Reconstruction.objects.filter(state=Reconstruction.State.REWRITTEN)
    waiting = made_from(among, rewritten).order_by("pk")
    return start_run(
        kind="filter",
        subject_ids=waiting.values_list("pk", flat=True)[:limit],
        parameters={"limit": limit, "screening_samples": ScreeningSample.objects.count()},
        user=user,
    )
