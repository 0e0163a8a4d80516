"""The file of an export: written beside its place batch by batch, continued where it broke off, then renamed.

batch ─► part file ─► rows, bytes and last key noted ─► … ─► flushed to disk ─► renamed ─► checksum
                                 ▲
         begun before? cut to the bytes noted, and on from there

One thread reads the next batch while another writes the one before.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from django.conf import settings

from curation.export_rows import SHAPES, Batch, last_key, read_batches, rows_to_export
from curation.exporting import csv_header, csv_lines, json_lines
from curation.models import CheckVerdict, ExportFile
from llm.types import ModelError

FOLDER = "exports"
HASHED_AT_ONCE = 1024 * 1024

Item = TypeVar("Item")
Made = TypeVar("Made")


class BeingWrittenError(ModelError):
    """Another process still writes this export."""

    kind = "busy"


@dataclass(frozen=True, slots=True)
class Written:
    """A finished file; `path` is within the media folder."""

    path: str
    rows: int
    bytes: int
    sha256: str


@dataclass(slots=True)
class Progress:
    """What is safely in the part file. `until` is the largest key when the export began: it ends there."""

    rows: int
    bytes: int
    last: int
    until: int


def export_path(export: ExportFile) -> Path:
    """Where the finished file lies, or would."""
    return Path(settings.MEDIA_ROOT) / FOLDER / f"{export.pk}.{export.format}"


def write_export(export: ExportFile) -> Written:
    """Writes the whole file, or the rest of it. Raises NarrowingError for filters that no longer exist."""
    path = export_path(export)
    part = path.with_suffix(f"{path.suffix}.part")
    path.parent.mkdir(parents=True, exist_ok=True)
    with _alone(part) as file:
        progress, digest = _begin(export, file)

        def put(batch: Batch) -> tuple[Batch, int]:
            content = _encode(export, batch)
            file.write(content)
            file.flush()
            digest.update(content)
            return batch, len(content)

        for batch, size in _one_behind(put, _rest(export, progress)):
            progress.rows += len(batch.rows)
            progress.bytes += size
            progress.last = batch.last
            _note(export, progress)
        os.fsync(file.fileno())
        part.replace(path)
    return Written(f"{FOLDER}/{path.name}", progress.rows, progress.bytes, digest.hexdigest())


def _one_behind(work: Callable[[Item], Made], items: Iterable[Item]) -> Iterator[Made]:
    """`work` on each item, in order, on a thread of its own while the next item is made."""
    with ThreadPoolExecutor(1, thread_name_prefix="export") as thread:
        before: Future[Made] | None = None
        for item in items:
            if before:
                yield before.result()
            before = thread.submit(work, item)
        if before:
            yield before.result()


@contextmanager
def _alone(part: Path) -> Iterator[BinaryIO]:
    """The part file, open for reading and writing, and for one process only."""
    with part.open("a+b") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BeingWrittenError("another process still writes this file; try again later") from None
        yield file


def _begin(export: ExportFile, file: BinaryIO) -> tuple[Progress, Any]:
    """Where the writing begins, with the digest of what is there; a part file that lacks what was noted, or
    was never noted, is written again."""
    progress = _noted(export)
    if progress is None or os.fstat(file.fileno()).st_size < progress.bytes:
        file.truncate(0)
        model = rows_to_export(export.kind, {}).model
        progress = Progress(0, 0, 0, last_key(model))
        header = _header(export)
        file.write(header)
        progress.bytes = len(header)
        _note(export, progress)
        return progress, hashlib.sha256(header)
    file.truncate(progress.bytes)
    file.seek(0)
    digest = hashlib.sha256()
    while block := file.read(HASHED_AT_ONCE):
        digest.update(block)
    return progress, digest


def _rest(export: ExportFile, progress: Progress) -> Iterator[Batch]:
    rows = rows_to_export(export.kind, export.options["filters"])
    shape, texts = SHAPES[export.kind], export.options["texts"]
    return read_batches(rows, shape, texts=texts, after=progress.last, until=progress.until)


def _header(export: ExportFile) -> bytes:
    if export.format != "csv":
        return b""
    return csv_header(SHAPES[export.kind].names(export.options["texts"]), CheckVerdict.Check.values)


def _encode(export: ExportFile, batch: Batch) -> bytes:
    return csv_lines(batch.rows) if export.format == "csv" else json_lines(batch.rows)


def _noted(export: ExportFile) -> Progress | None:
    place = export.options.get("place")
    return Progress(export.rows, export.bytes, **place) if place else None


def _note(export: ExportFile, progress: Progress) -> None:
    export.rows, export.bytes = progress.rows, progress.bytes
    export.options["place"] = {"last": progress.last, "until": progress.until}
    export.save(update_fields=["rows", "bytes", "options"])
