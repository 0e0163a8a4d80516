"""Samples out of the files that the benchmarks are published as. Pure but for the handle.

Screening must not miss a sample unseen, so a line that cannot be read stops the reading, with its number.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from curation.jsonl import BinaryHandle, read_rows
from curation.rows import ImportFormatError, Refusal, Row, clean_text, kind_of

LONGEST_ID = 200


@dataclass(frozen=True, slots=True)
class BenchmarkShape:
    """Which benchmark a file is of, and the fields of its samples."""

    benchmark: str
    text_field: str
    id_field: str


OFFICIAL_SHAPES = (
    BenchmarkShape("WritingBench", "query", "index"),
    BenchmarkShape("HelloBench", "instruction", "id"),
)


@dataclass(frozen=True, slots=True)
class BenchmarkSamples:
    """The texts of one file by id, and the shape that they were read by."""

    shape: BenchmarkShape
    samples: Mapping[str, str]


def read_benchmark(
    file: BinaryHandle,
    *,
    benchmark: str | None = None,
    text_field: str | None = None,
    id_field: str | None = None,
) -> BenchmarkSamples:
    """The samples of a file of JSON lines. What is not named is told by the first line's official shape.

    Raises `ImportFormatError` naming the line for a file of another shape or a sample that cannot be read.
    """
    shape: BenchmarkShape | None = None
    samples: dict[str, str] = {}
    for row in read_rows(file):
        if isinstance(row, Refusal):
            raise ImportFormatError(f"line {row.line}: {row.reason}")
        shape = shape or _shape(row, benchmark, text_field, id_field)
        sample_id, text = _sample(row, shape)
        if samples.setdefault(sample_id, text) != text:
            raise ImportFormatError(
                f"line {row.number}: the id {sample_id!r} is there twice with different texts"
            )
    assert shape is not None, "an empty file raises"
    return BenchmarkSamples(shape, samples)


def merge_benchmarks(files: Iterable[tuple[str, BenchmarkSamples]]) -> BenchmarkSamples:
    """The samples of several files, by name, of one benchmark.

    Raises `ImportFormatError` when they are of different benchmarks or give one id different texts.
    """
    merged: dict[str, str] = {}
    shape: BenchmarkShape | None = None
    for name, found in files:
        if shape is not None and found.shape.benchmark != shape.benchmark:
            raise ImportFormatError(f"{name} is of {found.shape.benchmark}, not of {shape.benchmark}")
        shape = shape or found.shape
        for sample_id, text in found.samples.items():
            if merged.setdefault(sample_id, text) != text:
                raise ImportFormatError(f"{name}: the id {sample_id!r} has another text in an earlier file")
    if shape is None:
        raise ImportFormatError("no file is named")
    return BenchmarkSamples(shape, merged)


def _shape(row: Row, benchmark: str | None, text_field: str | None, id_field: str | None) -> BenchmarkShape:
    official = next(
        (one for one in OFFICIAL_SHAPES if one.text_field in row.values and one.id_field in row.values), None
    )
    text_field = text_field or (official.text_field if official else None)
    id_field = id_field or (official.id_field if official and official.text_field == text_field else "id")
    if not text_field:
        fields = ", ".join(f"'{name[:40]}'" for name in row.values) or "none"
        shapes = " or ".join(
            f"'{one.text_field}' and '{one.id_field}' ({one.benchmark})" for one in OFFICIAL_SHAPES
        )
        raise ImportFormatError(
            f"line {row.number}: not a benchmark's samples; they have {shapes}. The line's fields: {fields}"
        )
    name = benchmark or (official.benchmark if official else "")
    if not name:
        raise ImportFormatError("the file does not say which benchmark it is of; give its name")
    return BenchmarkShape(name, text_field, id_field)


def _sample(row: Row, shape: BenchmarkShape) -> tuple[str, str]:
    for field in (shape.text_field, shape.id_field):
        if field not in row.values:
            raise ImportFormatError(f"line {row.number}: no field '{field}'")
    text, sample_id = row.values[shape.text_field], row.values[shape.id_field]
    if not isinstance(text, str) or not text.strip():
        raise ImportFormatError(f"line {row.number}: the field '{shape.text_field}' holds no text")
    if not isinstance(sample_id, str | int) or isinstance(sample_id, bool) or sample_id == "":
        raise ImportFormatError(
            f"line {row.number}: the field '{shape.id_field}' is {kind_of(sample_id)}, not an id"
        )
    cleaned = clean_text(str(sample_id), [])
    if len(cleaned) > LONGEST_ID:
        raise ImportFormatError(f"line {row.number}: the field '{shape.id_field}' is too long to be an id")
    return cleaned, clean_text(text, [])
