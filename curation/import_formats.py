"""Which kind of file this is, by what is in it, and its rows whatever the kind.

path ─► detect ─► JSON lines | CSV | Parquet | saved dataset (folder, or zip that is unpacked) ─► rows
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import BinaryIO, cast

from curation.columnar import (
    Report,
    dataset_columns,
    dataset_splits,
    parquet_columns,
    read_dataset,
    read_parquet,
)
from curation.jsonl import OBJECT_START, RawLine, parse_line, read_lines
from curation.rows import EmptyFileError, FieldChoice, ImportFormatError, Refusal, Row, guess_fields
from curation.tabular import read_table

PREVIEW_ROWS = 8

_HEAD_BYTES = 4096


class FileFormat(StrEnum):
    JSONL = "jsonl"
    CSV = "csv"
    PARQUET = "parquet"
    DATASET = "dataset"
    ZIP = "zip"


FORMAT_NAMES = {
    FileFormat.JSONL: "JSON lines",
    FileFormat.CSV: "CSV",
    FileFormat.PARQUET: "Parquet",
    FileFormat.DATASET: "a saved dataset",
    FileFormat.ZIP: "a zipped dataset folder",
}

_BY_SUFFIX = {
    ".jsonl": FileFormat.JSONL,
    ".ndjson": FileFormat.JSONL,
    ".json": FileFormat.JSONL,
    ".csv": FileFormat.CSV,
    ".tsv": FileFormat.CSV,
    ".txt": FileFormat.CSV,
    ".parquet": FileFormat.PARQUET,
    ".zip": FileFormat.ZIP,
}

_FOREIGN = (
    (b"\x89PNG", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"%PDF", "a PDF document"),
    (b"\x1f\x8b", "a gzip archive; unpack it first"),
    (b"7z\xbc\xaf", "a 7z archive; unpack it first"),
    (b"Rar!", "a RAR archive; unpack it first"),
    (b"BZh", "a bzip2 archive; unpack it first"),
    (b"(\xb5/\xfd", "a zstd archive; unpack it first"),
    (b"\xd0\xcf\x11\xe0", "an old Office document; save the table as CSV in UTF-8"),
    (b"SQLite format 3", "a SQLite database"),
    (b"ARROW1", "a single arrow file; upload Parquet, or zip the saved dataset's folder"),
    (b"\xff\xff\xff\xff", "a single arrow file; zip the saved dataset's whole folder"),
    (b"\x7fELF", "a program"),
)


@dataclass(frozen=True, slots=True)
class Preview:
    """What a file holds, as far as its beginning tells. `warning` says when its name says otherwise."""

    format: FileFormat
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    refusals: tuple[Refusal, ...]
    guess: FieldChoice
    splits: tuple[str, ...] = ()
    warning: str = ""


def detect_format(path: Path, name: str | None = None) -> FileFormat:
    """The format by the content. `name` is the file's own name, where `path` has another.

    Raises `ImportFormatError` for content that cannot be imported, saying what it is.
    """
    if path.is_dir():
        return FileFormat.DATASET
    with path.open("rb") as file:
        head = file.read(_HEAD_BYTES)
    if head.startswith(b"PAR1"):
        return FileFormat.PARQUET
    if head.startswith(b"PK\x03\x04"):
        if b"[Content_Types].xml" in head or Path(name or path.name).suffix.lower() == ".xlsx":
            raise ImportFormatError(_not_as_named(name or path.name, "an Office document; save it as CSV"))
        return FileFormat.ZIP
    for magic, kind in _FOREIGN:
        if head.startswith(magic):
            raise ImportFormatError(_not_as_named(name or path.name, kind))
    return _text_format(head, name or path.name)


def _text_format(head: bytes, name: str) -> FileFormat:
    named = _BY_SUFFIX.get(Path(name).suffix.lower())
    begins = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if not begins and len(head) < _HEAD_BYTES:
        raise EmptyFileError("The file is empty: it has no line with anything in it.")
    if OBJECT_START.match(head):
        return FileFormat.JSONL
    if begins[:15].lower().startswith((b"<!doctype", b"<html", b"<?xml")):
        raise ImportFormatError(_not_as_named(name, "a web page or an XML document"))
    if begins.startswith(b"[") and named in (FileFormat.JSONL, None):
        raise ImportFormatError("The file is one JSON list. Save it as JSON lines: one object a line.")
    if named in (FileFormat.PARQUET, FileFormat.ZIP):
        kind = "a binary file of another kind" if b"\0" in head else "text"
        raise ImportFormatError(_not_as_named(name, kind))
    return named or FileFormat.CSV


def _not_as_named(name: str, kind: str) -> str:
    suffix = Path(name).suffix
    return f"The file is named {suffix} but is {kind}." if suffix else f"The file is {kind}."


def name_warning(format_: FileFormat, name: str) -> str:
    """What to say when the name promises another format than the content is."""
    named = _BY_SUFFIX.get(Path(name).suffix.lower())
    if format_ is FileFormat.DATASET or named in (None, format_):
        return ""
    return f"The name says {FORMAT_NAMES[named]}; it is read as what it holds, {FORMAT_NAMES[format_]}."


def read_file(
    path: Path,
    format_: FileFormat,
    *,
    wanted: Collection[str] | None = None,
    split: str = "",
    report: Report = lambda _: None,
) -> Iterator[Row | Refusal]:
    """The rows of a file or of a dataset's folder, as `read_raw` reads them."""
    for row in read_raw(path, format_, wanted=wanted, split=split, report=report):
        yield parse_line(row) if isinstance(row, RawLine) else row


def read_raw(
    path: Path,
    format_: FileFormat,
    *,
    wanted: Collection[str] | None = None,
    split: str = "",
    report: Report = lambda _: None,
) -> Iterator[RawLine | Row | Refusal]:
    """The same with JSON lines left as they are, for a reader who parses them elsewhere. `report` is told
    the bytes read so far.

    `wanted` narrows the columns where that saves reading; `split` takes one split of a dataset. Raises
    `ImportFormatError` while it is iterated over.
    """
    if format_ is FileFormat.PARQUET:
        yield from read_parquet(path, wanted, report)
    elif format_ is FileFormat.DATASET:
        splits = [each for each in dataset_splits(path) if split in ("", each.name)]
        if not splits:
            raise ImportFormatError(f"The dataset has no split '{split}'.")
        yield from read_dataset(splits, wanted, report)
    else:
        with path.open("rb") as file:
            counted = cast(BinaryIO, CountedHandle(file, report))
            yield from (read_lines if format_ is FileFormat.JSONL else read_table)(counted)


class CountedHandle:
    """A binary handle that says how far it has been read."""

    def __init__(self, file: BinaryIO, report: Callable[[int], None]) -> None:
        self._file, self._report, self._bytes = file, report, 0

    def read(self, size: int, /) -> bytes:
        block = self._file.read(size)
        self._bytes += len(block)
        self._report(self._bytes)
        return block


def preview_file(path: Path, format_: FileFormat, name: str) -> Preview:
    """The first rows, the columns, and what the fields may be. Raises `ImportFormatError`."""
    first = list(islice(read_file(path, format_), 4 * PREVIEW_ROWS))
    rows = [entry for entry in first if isinstance(entry, Row)]
    refusals = [entry for entry in first if isinstance(entry, Refusal)]
    splits: tuple[str, ...] = ()
    if format_ is FileFormat.PARQUET:
        columns = parquet_columns(path)
    elif format_ is FileFormat.DATASET:
        found = dataset_splits(path)
        columns = dataset_columns(found)
        splits = tuple(split.name for split in found if split.name)
    else:
        columns = list(dict.fromkeys(name for row in rows for name in row.values))
    return Preview(
        format=format_,
        columns=tuple(columns),
        rows=tuple(rows[:PREVIEW_ROWS]),
        refusals=tuple(refusals[:PREVIEW_ROWS]),
        guess=guess_fields(rows),
        splits=splits,
        warning=name_warning(format_, name),
    )


def file_size(path: Path) -> int:
    """Bytes of a file, or of everything in a folder."""
    if path.is_dir():
        return sum(each.stat().st_size for each in path.rglob("*") if each.is_file())
    return path.stat().st_size
