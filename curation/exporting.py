"""What a row of an export holds, and how it stands in a file. Pure.

    JSONL  one object a line, texts as they are (line and paragraph separators escaped, so that every reader
           splits the same lines)
    CSV    RFC 4180: CR LF, quotes where needed; an empty cell is null or ''; cells that a spreadsheet would
           run are escaped, and column `workbench_format` says so

The texts stand under `prompt` and `reconstruction`, where our import looks for them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

import orjson

from curation.spreadsheet import FORMAT_COLUMN, FORMAT_VERSION, escape_cell

FORMATS = ("jsonl", "csv")

CHECKS = "checks"
"""The column of a review that holds its verdicts: {check: {verdict, note, evidence}}."""

VERDICT_PARTS = ("verdict", "note", "evidence")

_QUOTED = re.compile('[,"\r\n]')
_SEPARATORS = ("\u0085", "\u2028", "\u2029")

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Column:
    """One value of a row. `path` says where the value is found from the exported object; `text` marks the
    long ones, which a reader may leave out."""

    name: str
    path: str
    text: bool = False


SOURCE_PROMPT = (
    Column("source_prompt_id", "pk"),
    Column("source", "source__name"),
    Column("line", "line"),
    Column("external_id", "external_id"),
    Column("language", "language"),
    Column("characters", "characters"),
    Column("segments", "segments"),
    Column("length_policy", "length_policy"),
    Column("excluded_because", "excluded_because"),
    Column("duplicate_of", "duplicate_of"),
    Column("similarity", "similarity"),
    Column("created_at", "created_at"),
    Column("prompt", "text", text=True),
)

RECONSTRUCTION = (
    Column("reconstruction_id", "pk"),
    Column("source_prompt_id", "source_prompt"),
    Column("source", "source_prompt__source__name"),
    Column("external_id", "source_prompt__external_id"),
    Column("number", "index"),
    Column("strategy", "strategy"),
    Column("state", "state"),
    Column("state_reason", "state_reason"),
    Column("language", "language"),
    Column("characters", "characters"),
    Column("segments", "segments"),
    Column("length_policy", "length_policy"),
    Column("imported", "imported"),
    Column("overlap", "overlap"),
    Column("screened_with", "screened_with"),
    Column("wanted_reviews", "wanted_reviews"),
    Column("agreement", "shown_agreement"),
    Column("corpus_prompt_id", "shown_corpus_prompt"),
    Column("created_at", "created_at"),
    Column("prompt", "source_prompt__text", text=True),
    Column("reconstruction", "text", text=True),
)

REVIEW = (
    Column("review_id", "pk"),
    Column("reconstruction_id", "reconstruction"),
    Column("source_prompt_id", "reconstruction__source_prompt"),
    Column("source", "reconstruction__source_prompt__source__name"),
    Column("external_id", "reconstruction__source_prompt__external_id"),
    Column("language", "reconstruction__language"),
    Column("strategy", "reconstruction__strategy"),
    Column("state", "reconstruction__state"),
    Column("reviewer", "reviewer__username"),
    Column("decision", "decision"),
    Column("automatic", "automatic"),
    Column("adjudication", "adjudication"),
    Column("opened_at", "opened_at"),
    Column("seconds", "seconds"),
    Column("created_at", "created_at"),
    Column("prompt", "reconstruction__source_prompt__text", text=True),
    Column("reconstruction", "reconstruction__text", text=True),
)

CORPUS_PROMPT = (
    Column("corpus_prompt_id", "pk"),
    Column("reconstruction_id", "reconstruction"),
    Column("source_prompt_id", "reconstruction__source_prompt"),
    Column("source", "reconstruction__source_prompt__source__name"),
    Column("external_id", "reconstruction__source_prompt__external_id"),
    Column("strategy", "reconstruction__strategy"),
    Column("language", "language"),
    Column("excluded_because", "excluded_because"),
    Column("withdrawn_at", "withdrawn_at"),
    Column("created_at", "created_at"),
    Column("prompt", "text", text=True),
)


def json_lines(rows: Iterable[Row]) -> bytes:
    """Each row as one line of JSON, UTF-8.

    >>> json_lines([{"prompt": "a\\u2028b", "line": 1}])
    b'{"prompt":"a\\\\u2028b","line":1}\\n'
    """
    lines = b"".join(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE) for row in rows)
    for separator in _SEPARATORS:
        lines = lines.replace(separator.encode(), f"\\u{ord(separator):04x}".encode())
    return lines


def csv_lines(rows: Iterable[Row]) -> bytes:
    """Each row as one record, UTF-8, without a header; a review's verdicts take three columns a check.

    As `csv.writer` would write it, in a third of its time.
    """
    return "".join(map(_record, rows)).encode()


def csv_header(names: Iterable[str], checks: Sequence[str]) -> bytes:
    """The first record of a file; `names` are those of a row, in its order."""
    flat: list[str] = [FORMAT_COLUMN]
    for name in names:
        flat += (
            [f"{check}_{part}" for check in checks for part in VERDICT_PARTS] if name == CHECKS else [name]
        )
    return (",".join(flat) + "\r\n").encode()


def _record(row: Row) -> str:
    cells = [FORMAT_VERSION]
    for name, value in row.items():
        if name != CHECKS:
            cells.append(_cell(value))
            continue
        for given in value.values():
            evidence = given["evidence"]
            cells.append(_verdict_cells(given["verdict"], given["note"]))
            cells.append("" if evidence is None else _cell(evidence))
    return ",".join(cells) + "\r\n"


@lru_cache(maxsize=1_000)
def _verdict_cells(verdict: str | None, note: str | None) -> str:
    """Both cells: the same few stand in most rows."""
    return f"{_cell(verdict)},{_cell(note)}"


def _cell(value: Any) -> str:
    if isinstance(value, str):
        escaped = escape_cell(value)
        return '"' + escaped.replace('"', '""') + '"' if _QUOTED.search(escaped) else escaped
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Mapping):
        return _cell(json.dumps(value, ensure_ascii=False))
    return str(value)
