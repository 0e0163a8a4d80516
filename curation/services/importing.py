"""Writing requests out of a file into the database, each text once.

rows ─► batch ─► prompts (in a process of its own) ─► known digests left out ─► COPY ─► report
                    │ hashes                                                        │ at the end
                    └──────────────────────► near duplicates ◄──────────────────────┘
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import BinaryIO

from django.contrib.auth.models import User
from django.db import connection, transaction

from curation.import_formats import FileFormat, read_raw
from curation.jsonl import read_lines
from curation.minhash import band_rows
from curation.models import Reconstruction, Source, SourcePrompt
from curation.preparing import Prepared, PreparedBatch, Unread, left_out, prepare, size_of
from curation.rows import PromptLine
from curation.services.copying import copy_rows
from curation.services.duplicates import HashedPrompts, mark_near_duplicates
from curation.services.options import ImportOptions, NearDuplicates
from curation.services.reports import ImportReport
from llm.audit import kind_of, record, record_alike
from llm.processes import beside, processors
from llm.sql import fetch

BATCH, BATCH_SIZE = 1_000, 8_000_000

THERE = "SELECT digest FROM curation_sourceprompt WHERE digest = ANY(%(digests)s)"
"""One parameter for a thousand digests: a queryset's thousand take longer to send than to look up."""

_RECONSTRUCTION = kind_of(Reconstruction())

REWRITTEN = Reconstruction.State.REWRITTEN.value

Progress = Callable[[int], None]
"""Told the rows read so far after each batch, inside its transaction; may raise to stop the import there."""


@dataclass(frozen=True, slots=True)
class ImportTarget:
    """Where prompts go and on whose account.

    `since` is when this import began: rows of its own that an earlier attempt has stored since then count
    as added, not as duplicates.
    """

    source_name: str
    file_name: str
    user: User | None = None
    since: datetime | None = None


def import_prompts(
    *,
    file: BinaryIO,
    file_name: str,
    source_name: str,
    field_name: str | None = None,
    user: User | None = None,
    options: ImportOptions | None = None,
) -> ImportReport:
    """Reads JSON lines as a stream and keeps each text once.

    Good lines go in batch by batch, so a file that breaks off half way leaves what came before it, and
    importing it again adds only the rest. Raises `curation.jsonl` errors for a file that holds no JSON
    lines at all; a bad line is only reported.
    """
    options = options or ImportOptions(text_field=field_name)
    return import_rows(
        rows=read_lines(file), target=ImportTarget(source_name, file_name, user), options=options
    )


def import_path(
    *,
    path: Path,
    file_format: FileFormat,
    target: ImportTarget,
    options: ImportOptions,
    report_bytes: Callable[[int], None] = lambda _: None,
    progress: Progress = lambda _: None,
) -> ImportReport:
    """The same for a file or a dataset's folder of any format. Raises `ImportFormatError`."""
    rows = read_raw(path, file_format, wanted=options.wanted, split=options.split, report=report_bytes)
    return import_rows(rows=rows, target=target, options=options, progress=progress)


def import_rows(
    *,
    rows: Iterable[Unread],
    target: ImportTarget,
    options: ImportOptions,
    progress: Progress = lambda _: None,
) -> ImportReport:
    """Imports rows of whatever came from where, then looks for near duplicates as the options say."""
    report = ImportReport()
    source: Source | None = None
    wanted = None if options.near_duplicates is NearDuplicates.OFF else band_rows(options.threshold)
    hashed = HashedPrompts()
    work = partial(prepare, fields=options.fields, policy=options.length_policy, rows=wanted)
    for batch in beside(work, _batches(rows), workers=processors()):
        if source is None:
            source, _ = Source.objects.get_or_create(
                name=target.source_name,
                defaults={"file_name": target.file_name, "imported_by": target.user},
            )
        with transaction.atomic():
            stored = _Batch(source, target, options, report).take(batch)
            progress(report.read)
        if batch.bands is not None:
            hashed.add(stored, batch.bands)
    if source is not None:
        _look_for_near_duplicates(source, options, report, target.user, hashed)
        source.file_name, source.imported_by = target.file_name, target.user
        source.report = report.as_json()
        source.save()
        record(source, "imported into", after=_counts(report), actor=target.user)
    return report


def _counts(report: ImportReport) -> dict[str, int]:
    return {name: value for name, value in report.as_json().items() if isinstance(value, int)}


def _batches(rows: Iterable[Unread]) -> Iterator[list[Unread]]:
    """As many rows as are stored in one transaction, fewer of them where they are long."""
    batch: list[Unread] = []
    size = 0
    for row in rows:
        batch.append(row)
        size += size_of(row)
        if len(batch) >= BATCH or size > BATCH_SIZE:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _look_for_near_duplicates(
    source: Source, options: ImportOptions, report: ImportReport, user: User | None, hashed: HashedPrompts
) -> None:
    if options.near_duplicates is NearDuplicates.OFF or not report.added:
        return
    found = mark_near_duplicates(
        threshold=options.threshold,
        source=source,
        exclude=options.near_duplicates is NearDuplicates.EXCLUDE,
        user=user,
        hashed=hashed,
    )
    report.near, report.near_lines = found.found, found.lines


@dataclass(frozen=True, slots=True)
class _Known:
    """A prompt that is stored already."""

    source_id: int
    source_name: str
    line: int
    created_at: datetime


class _Batch:
    """One batch of an import, inside its transaction."""

    def __init__(
        self, source: Source, target: ImportTarget, options: ImportOptions, report: ImportReport
    ) -> None:
        self.source, self.target, self.options, self.report = source, target, options, report

    def take(self, batch: PreparedBatch) -> list[int | None]:
        """Stores what is new; the key of each of the batch's prompts, None for one that was there."""
        self.report.read += batch.read
        for kind, line, reason in batch.left_out:
            (self.report.refuse if kind == "refused" else self.report.duplicate)(line, reason)
        keys = self._store(batch.prompts)
        known = self._known([digest for digest in batch.prompts if digest not in keys])
        for digest, prepared in batch.prompts.items():
            entry = prepared.entry
            if digest in keys or self._is_own(known.get(digest), entry):
                self.report.added += 1
                self.report.reconstructions += prepared.reconstruction is not None
                for note in prepared.notes():
                    self.report.note(entry.line, note)
            else:
                name = known[digest].source_name if digest in known else self.source.name
                self.report.duplicate(entry.line, left_out(f"already imported (source {name})", entry))
        return [keys.get(digest) for digest in batch.prompts]

    def _store(self, prompts: Mapping[str, Prepared]) -> dict[str, int]:
        """Stores what is not there; the keys by digest. Imports take turns, batch by batch."""
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(hashtext('import of source prompts'))")
        there = {digest for (digest,) in fetch(THERE, {"digests": list(prompts)})}
        fresh = [digest for digest in prompts if digest not in there]
        rows = [{"source_id": self.source.pk, **prompts[digest].prompt} for digest in fresh]
        keys = dict(zip(fresh, copy_rows(SourcePrompt, rows), strict=True))
        brought = copy_rows(
            Reconstruction,
            [
                {"source_prompt_id": key, "state": REWRITTEN, **reconstruction}
                for digest, key in keys.items()
                if (reconstruction := prompts[digest].reconstruction) is not None
            ],
        )
        after = {"state": Reconstruction.State.REWRITTEN.value}
        record_alike(_RECONSTRUCTION, brought, "imported", after=after, actor=self.target.user)
        return keys

    def _known(self, digests: Sequence[str]) -> dict[str, _Known]:
        if not digests:
            return {}
        found = SourcePrompt.objects.filter(digest__in=digests)
        fields = ("digest", "source_id", "source__name", "line", "created_at")
        return {digest: _Known(*rest) for digest, *rest in found.values_list(*fields)}

    def _is_own(self, known: _Known | None, entry: PromptLine) -> bool:
        """Whether an earlier attempt at this very import has stored the entry."""
        return (
            known is not None
            and self.target.since is not None
            and known.source_id == self.source.pk
            and known.line == entry.line
            and known.created_at >= self.target.since
        )
