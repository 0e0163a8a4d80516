"""Reading rows out of a file of JSON lines, one line in memory at a time. Pure but for the handle.

    handle ─► lines (bounded) ─► JSON object ─► Row ─► PromptLine (curation.rows)
                     └──────────────┴────────────┴───► Refusal (number, reason)

A bad line is refused by its number and the reading goes on; a file that holds no JSON lines at all raises.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple, Protocol

import orjson

from curation.rows import (
    PROMPT_FIELDS,
    EmptyFileError,
    FieldChoice,
    ImportFormatError,
    Json,
    PromptLine,
    Refusal,
    RefusedRowError,
    Row,
    kind_of,
    read_prompt,
)

__all__ = [
    "LIMIT_BYTES",
    "PROMPT_FIELDS",
    "BinaryHandle",
    "EmptyFileError",
    "JsonLinesError",
    "NotJsonLinesError",
    "PromptLine",
    "RawLine",
    "Refusal",
    "parse_line",
    "read_lines",
    "read_prompts",
    "read_rows",
    "split_lines",
]

LIMIT_BYTES = 4 * 1024 * 1024
"""The longest line that is read (ours)."""

BLOCK_BYTES = 64 * 1024
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_LONG_NUMBER = re.compile(rb"[0-9]{19}")
OBJECT_START = re.compile(rb'(\xef\xbb\xbf)?\s*\{\s*["}]')

JsonLinesError = ImportFormatError
"""The file as a whole cannot be read as JSON lines; the message says why and what to do."""


class NotJsonLinesError(JsonLinesError):
    """The file is binary."""


class RawLine(NamedTuple):
    """One line of a file, not yet read as JSON; `number` counts from 1."""

    number: int
    content: bytes
    notes: tuple[str, ...] = ()


class BinaryHandle(Protocol):
    """An open binary file, or an upload that reads like one."""

    def read(self, size: int, /) -> bytes: ...


def read_prompts(
    lines: BinaryHandle | Iterable[bytes], field: str | None, *, limit_bytes: int = LIMIT_BYTES
) -> Iterator[PromptLine | Refusal]:
    """Yields every line of a file as a prompt or a refusal; blank lines are passed over.

    `lines` is a binary handle, of which no more than one line and one block are held, or the lines
    themselves. `field` names the key that holds the text: a string, or a list of chat turns of which the
    first user turn counts. None stands for the first of `PROMPT_FIELDS` that the line has. Raises
    `NotJsonLinesError` or `EmptyFileError` once iteration starts.
    """
    choice = FieldChoice(field)
    for row in read_rows(lines, limit_bytes=limit_bytes):
        yield row if isinstance(row, Refusal) else read_prompt(row, choice)


def read_rows(
    lines: BinaryHandle | Iterable[bytes], *, limit_bytes: int = LIMIT_BYTES
) -> Iterator[Row | Refusal]:
    """Yields every line of a file as a row or a refusal; raises as `read_prompts` does."""
    for line in read_lines(lines, limit_bytes=limit_bytes):
        yield line if isinstance(line, Refusal) else parse_line(line)


def read_lines(
    lines: BinaryHandle | Iterable[bytes], *, limit_bytes: int = LIMIT_BYTES
) -> Iterator[RawLine | Refusal]:
    """Yields every line with something in it, to be read by `parse_line`; raises as `read_prompts` does."""
    blocks = _leading_block_checked(_blocks(lines))
    empty = True
    for number, line in split_lines(blocks, limit_bytes):
        if line is None:
            empty = False
            yield Refusal(number, f"the line is longer than {limit_bytes:,} bytes")
            continue
        marked = number == 1 and line.startswith(BYTE_ORDER_MARK)
        content = line.removeprefix(BYTE_ORDER_MARK) if marked else line
        if not content.strip():
            continue
        empty = False
        notes = ("a byte-order mark was removed from the start of the file",) if marked else ()
        yield RawLine(number, content, notes)
    if empty:
        raise EmptyFileError("The file is empty: it has no line with anything in it.")


def parse_line(line: RawLine) -> Row | Refusal:
    """The row that a line of JSON holds."""
    try:
        return Row(line.number, _parse(line.content), line.notes)
    except RefusedRowError as refusal:
        return Refusal(line.number, str(refusal))


# Lines


def _blocks(lines: BinaryHandle | Iterable[bytes]) -> Iterator[bytes]:
    read = getattr(lines, "read", None)
    if read is not None:
        yield from iter(lambda: read(BLOCK_BYTES), b"")
    elif isinstance(lines, Iterable):
        yield from (line if line.endswith(b"\n") else line + b"\n" for line in lines)


def _leading_block_checked(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """The same blocks; NUL bytes in the first, unless it begins with a JSON object, mean a binary file."""
    first = next(blocks, b"")
    if b"\0" in first and not OBJECT_START.match(first):
        encoding = " It looks like UTF-16." if first[:2] in (b"\xff\xfe", b"\xfe\xff") else ""
        raise NotJsonLinesError(
            f"The file is binary, not JSON lines.{encoding} Save it as UTF-8 text, one JSON object a line."
        )
    yield first
    yield from blocks


def split_lines(blocks: Iterable[bytes], limit_bytes: int) -> Iterator[tuple[int, bytes | None]]:
    """Numbered lines without their line feed; None for one over the limit, which is never held whole."""
    number, pending, overlong = 1, bytearray(), False
    for block in blocks:
        *ends, rest = block.split(b"\n")
        for piece in ends:
            overlong = overlong or len(pending) + len(piece) > limit_bytes
            yield number, None if overlong else bytes(pending) + piece
            number, overlong = number + 1, False
            pending.clear()
        overlong = overlong or len(pending) + len(rest) > limit_bytes
        if overlong:
            pending.clear()
        else:
            pending += rest
    if pending or overlong:
        yield number, None if overlong else bytes(pending)


# One line


def _parse(content: bytes) -> dict[str, Json]:
    """The JSON object of a line. Raw control characters inside strings are let through.

    What orjson takes, `json` takes alike, at a third of the speed; the rest it reads or explains. Numbers
    that orjson would round are the exception.
    """
    try:
        parsed = _parse_leniently(content) if _LONG_NUMBER.search(content) else orjson.loads(content)
    except orjson.JSONDecodeError:
        parsed = _parse_leniently(content)
    if not isinstance(parsed, dict):
        raise RefusedRowError(f"the line is {kind_of(parsed)}, not a JSON object")
    return parsed


def _parse_leniently(content: bytes) -> Json:
    try:
        return json.loads(content.decode("utf-8"), strict=False)
    except UnicodeDecodeError as error:
        where = f"byte 0x{content[error.start]:02X} at position {error.start + 1}"
        raise RefusedRowError(f"the line is not UTF-8 text ({where})") from None
    except json.JSONDecodeError as error:
        raise RefusedRowError(f"the line is not JSON: {error.msg} at column {error.colno}") from None
    except RecursionError:
        raise RefusedRowError("the line's JSON is nested too deeply") from None
    except ValueError:
        raise RefusedRowError("the line holds a number with too many digits") from None
