"""Files on their way in: received, looked at, and imported by a run.

upload ─► receive_import ─► draft (preview, choice of fields) ─► begin_import ─► run ─► run_import
"""

from __future__ import annotations

import re
import shutil
import uuid
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from curation.archives import unpack_dataset
from curation.benchmark_files import read_benchmark
from curation.import_formats import FileFormat, detect_format, file_size, preview_file
from curation.models import ImportFile
from curation.rows import ImportFormatError
from curation.services.importing import ImportTarget, import_path
from curation.services.options import ImportOptions
from curation.services.reports import ImportReport
from curation.services.samples import import_screening_samples
from llm.audit import record
from llm.models import Run
from llm.services import start_run

MAX_UPLOAD_BYTES = 4 * 1024**3
"""The largest file that is taken (ours)."""

SINCE = "since"
"""Where an import's options hold when it was begun."""

_UNSHOWABLE = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")
_LONGEST_NAME = 300


class ImportStateError(Exception):
    """The import is not in a state that allows this; the message says in which it is."""


class ImportHeldError(Exception):
    """The run of an import is paused or cancelled; what is imported so far stays."""


def receive_import(
    *,
    chunks: Iterable[bytes],
    file_name: str,
    name: str,
    kind: str = ImportFile.Kind.PROMPTS,
    user: User | None = None,
) -> ImportFile:
    """Stores a file and looks at it: a draft, with the fields that its rows seem to have as its options.

    Raises `ImportFormatError`, with nothing left behind, for a file that cannot be imported.
    """
    folder = Path(settings.MEDIA_ROOT) / "imports" / uuid.uuid4().hex
    folder.mkdir(parents=True)
    shown = safe_file_name(file_name)
    try:
        path = folder / "upload"
        size = _write(path, chunks)
        if kind == ImportFile.Kind.SAMPLES:
            with path.open("rb") as file:
                name = read_benchmark(file, benchmark=name or None).shape.benchmark
            file_format, options = FileFormat.JSONL, {}
        else:
            path, file_format = _unpacked(path, shown)
            guess = preview_file(path, file_format, shown).guess
            options = ImportOptions(guess.text, guess.id, guess.reconstruction).as_json()
            size = file_size(path) if file_format is FileFormat.DATASET else size
        with transaction.atomic():
            received = ImportFile.objects.create(
                state=ImportFile.State.DRAFT,
                kind=kind,
                name=name or Path(shown).stem[:120],
                file_name=shown,
                path=str(path.relative_to(settings.MEDIA_ROOT)),
                format=file_format,
                size=size,
                options=options,
                created_by=user,
            )
            record(received, "received", after={"state": received.state, "file_name": shown}, actor=user)
        return received
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def begin_import(
    *, import_file: ImportFile, options: ImportOptions | None = None, user: User | None = None
) -> Run:
    """Queues a draft, or an import that has failed or whose run was cancelled.

    Raises `ImportStateError` when it is at work or done already.
    """
    with transaction.atomic():
        row = ImportFile.objects.select_for_update(of=("self",)).select_related("run").get(pk=import_file.pk)
        given_up = row.state == ImportFile.State.WAITING and (
            row.run is None or row.run.state == Run.State.CANCELLED
        )
        if row.state not in (ImportFile.State.DRAFT, ImportFile.State.FAILED) and not given_up:
            raise ImportStateError(
                f"This import is {'at work' if row.state == 'waiting' else 'done'} already."
            )
        # An import that was broken off goes on where it was: what it has stored is its own.
        since = row.options.get(SINCE) or timezone.now().isoformat()
        chosen = options.as_json() if options else row.options
        row.options = {**chosen, SINCE: since}
        before = {"state": row.state}
        row.state, row.error, row.finished_at = ImportFile.State.WAITING, "", None
        row.run = start_run(
            kind="import",
            subject_ids=[row.pk],
            parameters={"file": row.file_name, "name": row.name, **chosen},
            user=user,
        )
        row.save()
        record(row, "begun", before=before, after={"state": row.state, "name": row.name}, actor=user)
    import_file.refresh_from_db()
    return row.run


def start_import(
    *,
    chunks: Iterable[bytes],
    file_name: str,
    name: str,
    kind: str = ImportFile.Kind.PROMPTS,
    options: ImportOptions | None = None,
    user: User | None = None,
) -> ImportFile:
    """Receives a file and queues it at once. Without options its rows decide which fields are taken."""
    received = receive_import(chunks=chunks, file_name=file_name, name=name, kind=kind, user=user)
    begin_import(import_file=received, options=options, user=user)
    return received


def discard_import(*, import_file: ImportFile, user: User | None = None) -> None:
    """Deletes a draft and its file. Raises `ImportStateError` once it was begun."""
    with transaction.atomic():
        row = ImportFile.objects.select_for_update().get(pk=import_file.pk)
        if row.state != ImportFile.State.DRAFT:
            raise ImportStateError("Only an import that has not been begun can be discarded.")
        record(row, "discarded", before={"state": row.state}, actor=user)
        row.delete()
    shutil.rmtree(_upload_folder(row), ignore_errors=True)


def stored_path(import_file: ImportFile) -> Path:
    """Where the file, or the folder of the dataset, lies."""
    return Path(settings.MEDIA_ROOT) / import_file.path


def import_options(import_file: ImportFile) -> ImportOptions:
    """The options that an import was begun with."""
    return ImportOptions.from_json({key: value for key, value in import_file.options.items() if key != SINCE})


def run_import(*, import_file: ImportFile) -> Mapping[str, Any]:
    """Does the import, and says how far it is as it goes; returns its report.

    May be broken off at any point and called again: rows that are stored already count as added. Raises
    `ImportFormatError` for a file that cannot be read (to the end), `ImportHeldError` when its run stops.
    """
    if not stored_path(import_file).exists():
        raise ImportFormatError("The file is no longer on this machine. Upload it again.")
    if import_file.kind == ImportFile.Kind.SAMPLES:
        return _import_samples(import_file)
    behind = [0]

    def note_bytes(count: int) -> None:
        behind[0] = count

    def note_rows(count: int) -> None:
        _say_how_far(import_file, count, behind[0])

    report = import_path(
        path=stored_path(import_file),
        file_format=FileFormat(import_file.format),
        target=ImportTarget(
            import_file.name,
            import_file.file_name,
            import_file.created_by,
            parse_datetime(import_file.options.get(SINCE, "")),
        ),
        options=import_options(import_file),
        report_bytes=note_bytes,
        progress=note_rows,
    )
    ImportFile.objects.filter(pk=import_file.pk).update(rows=report.read, bytes=import_file.size)
    return report.as_json()


def _import_samples(import_file: ImportFile) -> Mapping[str, Any]:
    with stored_path(import_file).open("rb") as file:
        found = read_benchmark(file, benchmark=import_file.name)
    with transaction.atomic():
        changed = import_screening_samples(benchmark=import_file.name, samples=found.samples)
        _say_how_far(import_file, len(found.samples), import_file.size)
    total = len(found.samples)
    return ImportReport(read=total, added=changed, duplicates=total - changed).as_json()


def _say_how_far(import_file: ImportFile, rows: int, count: int) -> None:
    if import_file.run_id is not None:
        state = Run.objects.filter(pk=import_file.run_id).values_list("state", flat=True).first()
        if state != Run.State.RUNNING:
            raise ImportHeldError(f"run {import_file.run_id} is {state}")
    ImportFile.objects.filter(pk=import_file.pk).update(rows=rows, bytes=count)


def safe_file_name(name: str) -> str:
    """A file's own name as it can be stored and shown: no folders, no control characters, not too long."""
    base = _UNSHOWABLE.sub("", re.split(r"[/\\]", name)[-1]).strip()
    stem, dot, suffix = base.rpartition(".")
    if len(base) > _LONGEST_NAME and dot and len(suffix) < 12:
        base = f"{stem[: _LONGEST_NAME - len(suffix) - 1]}.{suffix}"
    return base[:_LONGEST_NAME] or "upload"


def _write(path: Path, chunks: Iterable[bytes]) -> int:
    size = 0
    with path.open("xb") as file:
        for chunk in chunks:
            size += len(chunk)
            if size > MAX_UPLOAD_BYTES:
                raise ImportFormatError(f"The file is larger than {MAX_UPLOAD_BYTES // 1024**3} GiB.")
            file.write(chunk)
    return size


def _unpacked(path: Path, name: str) -> tuple[Path, FileFormat]:
    """The file as it is, or the folder of the dataset that was zipped, in the archive's place."""
    file_format = detect_format(path, name)
    if file_format is not FileFormat.ZIP:
        return path, file_format
    folder = unpack_dataset(path, path.with_name("dataset"))
    path.unlink()
    return folder, FileFormat.DATASET


def _upload_folder(import_file: ImportFile) -> Path:
    """The folder of its own that everything of an upload is in: imports/<number>."""
    return Path(settings.MEDIA_ROOT, *Path(import_file.path).parts[:2])
