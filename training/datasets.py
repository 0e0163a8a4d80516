"""A snapshot as a dataset: one Parquet file for each corpus, and a card that `datasets.load_dataset` reads.

CORPUS.jsonl ─► CORPUS/train.parquet
manifest     ─► README.md, whose YAML header has a configuration for each corpus
"""

from __future__ import annotations

import json
import shutil
import uuid
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import yaml

ROWS_AT_ONCE = 512

_TURNS = pa.list_(pa.struct([("role", pa.string()), ("content", pa.string())]))
_COLUMNS = {
    "id": pa.int64(),
    "messages": _TURNS,
    "rubric": pa.string(),
    "language": pa.string(),
    "rubric_digest": pa.string(),
}
SHAPES: Mapping[str, tuple[str, ...]] = {
    "sft": ("id", "messages", "rubric_digest"),
    "sft_no_rubric": ("id", "messages"),
    "rl": ("id", "messages", "rubric", "language", "rubric_digest"),
    "rubricgen": ("id", "messages", "rubric_digest"),
}
"""The columns of each corpus, as `training.corpora` writes its rows."""


def write_dataset(snapshot: Path, folder: Path) -> dict[str, int]:
    """Writes the finished snapshot in `snapshot` as a dataset; how many rows each corpus has.

    Streamed; `folder` appears when it is whole. Corpora without rows are left out. Raises FileExistsError
    when there is a folder already, ValueError for a snapshot without any row.
    """
    if folder.exists():
        raise FileExistsError(f"{folder} is there already")
    manifest = json.loads((snapshot / "manifest.json").read_text(encoding="utf-8"))
    counts = {name: count for name, count in manifest["rows"].items() if count}
    if not counts:
        raise ValueError(f"{manifest['name']} has no rows")
    part = folder.with_name(f"{folder.name}.part-{uuid.uuid4().hex[:8]}")
    try:
        for name in counts:
            (part / name).mkdir(parents=True)
            _write_parquet(snapshot / f"{name}.jsonl", part / name / "train.parquet", SHAPES[name])
        (part / "README.md").write_text(card(manifest, counts), encoding="utf-8")
        shutil.copyfile(snapshot / "manifest.json", part / "manifest.json")
        part.rename(folder)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise
    return counts


def _write_parquet(rows: Path, path: Path, columns: tuple[str, ...]) -> None:
    schema = pa.schema([(name, _COLUMNS[name]) for name in columns])
    with rows.open(encoding="utf-8", newline="\n") as lines, pq.ParquetWriter(path, schema) as writer:
        parsed: Iterator[dict[str, Any]] = map(json.loads, lines)
        while batch := list(islice(parsed, ROWS_AT_ONCE)):
            writer.write_table(pa.Table.from_pylist(batch, schema=schema))


def card(manifest: Mapping[str, Any], counts: Mapping[str, int]) -> str:
    """The README: a YAML header with a configuration for each corpus, and where the rows are from."""
    header = {
        "configs": [
            {
                "config_name": name,
                "data_files": [{"split": "train", "path": f"{name}/train.parquet"}],
                **({"default": True} if place == 0 else {}),
            }
            for place, name in enumerate(counts)
        ],
        "tags": ["writing", "rubrics"],
    }
    rubrics = manifest["rubrics"]
    lines = [
        f"# {_one_line(manifest['name'])}",
        "",
        "Writing requests with rubrics, as rows for training a writer and a rubric generator.",
        "",
        *(f"- `{name}`: {count:,} rows" for name, count in counts.items()),
        "",
        f"Written {manifest['written_at']}. Rubrics: {rubrics['method']}, made by "
        f"{_one_line(', '.join(manifest['rubric_constructors'])) or 'nobody that is known'}. "
        f"Responses: {_one_line(', '.join(manifest['writers'])) or 'none'}.",
        f"Prompt templates: {', '.join(manifest['templates']) or 'none'}.",
        "",
        "`manifest.json` accounts for every prompt: what was left out and why, settings, and the SHA-256 of",
        "the files that these were made from.",
    ]
    return f"---\n{yaml.safe_dump(header, sort_keys=False)}---\n\n" + "\n".join(lines) + "\n"


def _one_line(text: str) -> str:
    return " ".join(text.split())
