"""Reading rows out of Parquet files and saved Hugging Face datasets, a few hundred in memory at a time.

A saved dataset is a folder with `state.json`, which names the arrow files, and `dataset_info.json`; a
`dataset_dict.json` beside folders of that kind names its splits. Only pyarrow is needed to read them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from curation.jsonl import LIMIT_BYTES
from curation.rows import EmptyFileError, ImportFormatError, Refusal, Row

BATCH_ROWS = 256

Report = Callable[[int], None]
"""Told the bytes that are behind the reader, by and by."""


@dataclass(frozen=True, slots=True)
class Split:
    """A part of a dataset and its arrow files in order; a dataset without splits is one, named ''."""

    name: str
    files: tuple[Path, ...]


def parquet_columns(path: Path) -> list[str]:
    """Raises `ImportFormatError` for a file that is not whole."""
    with _parquet(path) as file:
        return list(file.schema_arrow.names)


def read_parquet(
    path: Path, wanted: Collection[str] | None = None, report: Report = lambda _: None
) -> Iterator[Row | Refusal]:
    """Rows counted from 1, with the `wanted` columns only (all of them for None)."""
    size = path.stat().st_size
    with _parquet(path) as file:
        total = file.metadata.num_rows
        if not total:
            raise EmptyFileError("The file is empty: it has no rows.")
        names = [name for name in file.schema_arrow.names if wanted is None or name in wanted]
        # A dot in a name would be read as a path into a nested column.
        chosen = None if any("." in name for name in names) else names
        number = 0
        try:
            for batch in file.iter_batches(batch_size=BATCH_ROWS, columns=chosen):
                yield from _rows(batch, number, names)
                number += batch.num_rows
                report(size * number // total)
        except (pa.ArrowException, OSError) as error:
            raise ImportFormatError(f"The file is damaged after row {number:,}: {_reason(error)}") from None


def dataset_splits(folder: Path) -> list[Split]:
    """The splits of a saved dataset. Raises `ImportFormatError`, naming the file that is missing or wrong."""
    if not (folder / "dataset_dict.json").is_file():
        return [Split("", _arrow_files(folder))]
    names = _json(folder / "dataset_dict.json").get("splits")
    if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
        raise ImportFormatError("dataset_dict.json names no splits.")
    return [Split(name, _arrow_files(_within(folder, name))) for name in names]


def dataset_columns(splits: Sequence[Split]) -> list[str]:
    """The columns of all splits, each once."""
    names: dict[str, None] = {}
    for split in splits:
        for path in split.files:
            with _ArrowFile(path) as batches:
                names.update(dict.fromkeys(batches.schema.names))
    return list(names)


def read_dataset(
    splits: Sequence[Split], wanted: Collection[str] | None = None, report: Report = lambda _: None
) -> Iterator[Row | Refusal]:
    """Rows counted from 1 through all the splits given, one after the other."""
    number = behind = 0
    for path in (path for split in splits for path in split.files):
        with _ArrowFile(path) as batches:
            names = [name for name in batches.schema.names if wanted is None or name in wanted]
            try:
                for batch in batches:
                    for start in range(0, batch.num_rows, BATCH_ROWS):
                        piece = batch.slice(start, BATCH_ROWS)
                        yield from _rows(piece, number, names)
                        number += piece.num_rows
                    report(behind + min(path.stat().st_size, batches.handle.tell()))
            except (pa.ArrowException, OSError) as error:
                raise ImportFormatError(
                    f"{path.name} is damaged after row {number:,}: {_reason(error)}"
                ) from None
        behind += path.stat().st_size
        report(behind)
    if not number:
        raise EmptyFileError("The dataset is empty: it has no rows.")


def _rows(batch: pa.RecordBatch, before: int, names: Sequence[str]) -> Iterator[Row | Refusal]:
    columns = {name: batch.column(name) for name in names}
    try:
        values = {name: column.to_pylist() for name, column in columns.items()}
    except (UnicodeDecodeError, pa.ArrowException, ValueError, OverflowError):
        for place in range(batch.num_rows):
            yield _single_row(columns, place, before + place + 1)
        return
    for place in range(batch.num_rows):
        row = {name: column[place] for name, column in values.items()}
        yield _bounded(Row(before + place + 1, row))


def _single_row(columns: dict[str, Any], place: int, number: int) -> Row | Refusal:
    """One row of a batch in which some value cannot be read."""
    row = {}
    for name, column in columns.items():
        try:
            row[name] = column[place].as_py()
        except UnicodeDecodeError:
            return Refusal(number, f"the text in '{name}' is not UTF-8")
        except (pa.ArrowException, ValueError, OverflowError):
            return Refusal(number, f"the value in '{name}' cannot be read")
    return _bounded(Row(number, row))


def _bounded(row: Row) -> Row | Refusal:
    for name, value in row.values.items():
        if isinstance(value, str) and len(value) > LIMIT_BYTES:
            return Refusal(row.number, f"the text in '{name}' is longer than {LIMIT_BYTES:,} characters")
    return row


# Files


def _parquet(path: Path) -> pq.ParquetFile:
    try:
        return pq.ParquetFile(path, memory_map=False, pre_buffer=False, buffer_size=64 * 1024)
    except (pa.ArrowException, OSError) as error:
        raise ImportFormatError(f"The file is not a whole Parquet file: {_reason(error)}") from None


class _ArrowFile:
    """An arrow file of a saved dataset, open for reading batch by batch."""

    def __init__(self, path: Path) -> None:
        self.handle = pa.OSFile(str(path), "rb")
        try:
            self._reader = pa.ipc.open_stream(self.handle)
        except (pa.ArrowException, OSError) as error:
            self.handle.close()
            raise ImportFormatError(f"{path.name} is not a saved arrow file: {_reason(error)}") from None
        self.schema = self._reader.schema

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return iter(self._reader)

    def __enter__(self) -> _ArrowFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.handle.close()


def _arrow_files(folder: Path) -> tuple[Path, ...]:
    state = _json(folder / "state.json")
    if state.get("_indices_data_files"):
        raise ImportFormatError(
            f"{folder.name}: the dataset was saved with a selection; save it again after flatten_indices()."
        )
    listed = state.get("_data_files")
    if not isinstance(listed, list) or not listed:
        raise ImportFormatError(f"{folder.name}/state.json names no data files.")
    names = [entry.get("filename") if isinstance(entry, dict) else None for entry in listed]
    return tuple(_within(folder, name) for name in names)


def _within(folder: Path, name: object) -> Path:
    """A file or folder that is in `folder` itself: what a dataset names must not lead out of it."""
    if not isinstance(name, str) or name != Path(name).name or name in ("", ".", ".."):
        raise ImportFormatError(f"The dataset names something outside its folder: {str(name)[:80]!r}.")
    path = folder / name
    if not path.exists() or path.is_symlink():
        raise ImportFormatError(f"The dataset has no {name!r}, which it names.")
    return path


def _json(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            content = json.loads(file.read(LIMIT_BYTES))
    except FileNotFoundError:
        raise ImportFormatError(f"The folder is no saved dataset: it has no {path.name}.") from None
    except (OSError, ValueError, RecursionError):
        raise ImportFormatError(f"{path.name} cannot be read as JSON.") from None
    if not isinstance(content, dict):
        raise ImportFormatError(f"{path.name} holds no JSON object.")
    return content


def _reason(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200]
