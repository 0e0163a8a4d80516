"""Writing requests out of a file into the database, each text once.

rows ─► prompts ─► batch ─► known digests left out ─► COPY ─► report
                                                          │ at the end
                                 near duplicates ◄────────┘
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import BinaryIO

from django.contrib.auth.models import User
from django.db import connection, transaction

from curation.import_formats import FileFormat, read_file
from curation.jsonl import read_rows
from curation.languages import UNDETERMINED, detect_language
from curation.models import Reconstruction, Source, SourcePrompt
from curation.reconstruction import MAX_SOURCE_SEGMENTS, Strategy
from curation.rows import PromptLine, Refusal, Row, read_prompt
from curation.services.copying import copy_rows
from curation.services.duplicates import mark_near_duplicates
from curation.services.options import ImportOptions, NearDuplicates
from curation.services.reports import ImportReport
from llm.text import LengthPolicy, count_characters, count_length

BATCH, BATCH_CHARACTERS = 1_000, 4_000_000

LENGTH_UNITS = {
    LengthPolicy.PAPER: "segments",
    LengthPolicy.SCRIPT: "words and characters",
}
"""What a length policy counts, in words."""

Entry = PromptLine | Refusal
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
    options: ImportOptions | None = None,
) -> ImportReport:
    """Reads JSON lines as a stream and keeps each text once.

    Good lines go in batch by batch, so a file that breaks off half way leaves what came before it, and
    importing it again adds only the rest. Raises `curation.jsonl` errors for a file that holds no JSON
    lines at all; a bad line is only reported.
    """
    options = options or ImportOptions(text_field=field_name)
    return import_rows(
        rows=read_rows(file), target=ImportTarget(source_name, file_name, user), options=options
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
    rows = read_file(path, file_format, wanted=options.wanted, split=options.split, report=report_bytes)
    return import_rows(rows=rows, target=target, options=options, progress=progress)


def import_rows(
    *,
    rows: Iterable[Row | Refusal],
    target: ImportTarget,
    options: ImportOptions,
    progress: Progress = lambda _: None,
) -> ImportReport:
    """Imports rows of whatever came from where, then looks for near duplicates as the options say."""
    report = ImportReport()
    source: Source | None = None
    fields = options.fields
    entries = (
        row if isinstance(row, Refusal) else read_prompt(row, fields, with_extra=False) for row in rows
    )
    for batch in _batches(entries):
        if source is None:
            source, _ = Source.objects.get_or_create(
                name=target.source_name,
                defaults={"file_name": target.file_name, "imported_by": target.user},
            )
        with transaction.atomic():
            _Batch(source, target, options, report).take(batch)
            progress(report.read)
    if source is not None:
        _look_for_near_duplicates(source, options, report, target.user)
        source.file_name, source.imported_by = target.file_name, target.user
        source.report = report.as_json()
        source.save()
    return report


def _batches(entries: Iterable[Entry]) -> Iterator[list[Entry]]:
    """As many entries as are stored in one transaction, fewer of them where texts are long."""
    batch: list[Entry] = []
    size = 0
    for entry in entries:
        batch.append(entry)
        if isinstance(entry, PromptLine):
            size += len(entry.text) + len(entry.reconstruction or "")
        if len(batch) >= BATCH or size > BATCH_CHARACTERS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _look_for_near_duplicates(
    source: Source, options: ImportOptions, report: ImportReport, user: User | None
) -> None:
    if options.near_duplicates is NearDuplicates.OFF or not report.added:
        return
    found = mark_near_duplicates(
        threshold=options.threshold,
        source=source,
        exclude=options.near_duplicates is NearDuplicates.EXCLUDE,
        user=user,
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

    def take(self, batch: Sequence[Entry]) -> None:
        prompts: dict[str, PromptLine] = {}
        for entry in batch:
            self.report.read += 1
            if isinstance(entry, Refusal):
                self.report.refuse(entry.line, entry.reason)
            elif (first := prompts.setdefault(digest_of(entry.text), entry)) is not entry:
                self.report.duplicate(entry.line, _left_out(f"the same text as line {first.line}", entry))
        rows = {digest: self._row(digest, entry) for digest, entry in prompts.items()}
        fresh = self._store(rows)
        known = self._known([digest for digest in prompts if digest not in fresh])
        for digest, entry in prompts.items():
            if digest in fresh or self._is_own(known.get(digest), entry):
                self.report.added += 1
                self._note(entry, rows[digest])
                self.report.reconstructions += self._usable(entry, rows[digest]) is not None
            else:
                name = known[digest].source_name if digest in known else self.source.name
                self.report.duplicate(entry.line, _left_out(f"already imported (source {name})", entry))
        copy_rows(
            [
                self._reconstruction(row, text)
                for digest, row in rows.items()
                if digest in fresh and (text := self._usable(prompts[digest], row)) is not None
            ]
        )

    def _store(self, rows: Mapping[str, SourcePrompt]) -> set[str]:
        """Stores the rows that are not there yet; their digests. Imports take turns, batch by batch."""
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(hashtext('import of source prompts'))")
        there = set(SourcePrompt.objects.filter(digest__in=rows).values_list("digest", flat=True))
        fresh = [row for digest, row in rows.items() if digest not in there]
        copy_rows(fresh)
        return {row.digest for row in fresh}

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

    def _row(self, digest: str, entry: PromptLine) -> SourcePrompt:
        policy = self.options.length_policy
        length = count_length(entry.text, policy)
        excluded = ""
        if length > MAX_SOURCE_SEGMENTS:
            excluded = f"{length:,} {LENGTH_UNITS[policy]}: sources over {MAX_SOURCE_SEGMENTS:,} are left out"
        return SourcePrompt(
            source=self.source,
            line=entry.line,
            external_id=(entry.external_id or "")[:200],
            text=entry.text,
            digest=digest,
            language=detect_language(entry.text).code,
            characters=count_characters(entry.text),
            segments=length,
            length_policy=policy,
            excluded_because=excluded,
        )

    def _note(self, entry: PromptLine, row: SourcePrompt) -> None:
        for note in entry.notes:
            self.report.note(entry.line, note)
        if row.language == UNDETERMINED:
            self.report.note(entry.line, "its language could not be told; kept as 'und'")
        if row.excluded_because:
            self.report.note(entry.line, row.excluded_because)

    def _usable(self, entry: PromptLine, row: SourcePrompt) -> str | None:
        """The reconstruction that comes with a source, unless the source is excluded."""
        return None if row.excluded_because else entry.reconstruction

    def _reconstruction(self, row: SourcePrompt, text: str) -> Reconstruction:
        """As if it had been written here by the strategy that takes a rewrite as it is."""
        return Reconstruction(
            source_prompt=row,
            index=0,
            strategy=Strategy.LENGTH_AWARE,
            state=Reconstruction.State.REWRITTEN,
            text=text,
            language=detect_language(text).code,
            characters=count_characters(text),
            segments=count_length(text, self.options.length_policy),
            length_policy=self.options.length_policy,
            imported=True,
        )


def _left_out(reason: str, entry: PromptLine) -> str:
    return reason if entry.reconstruction is None else f"{reason}; its reconstruction was left out"
