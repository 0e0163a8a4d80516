"""Reading source prompts out of a file of JSON lines, one line in memory at a time. Pure but for the handle.

    handle ─► lines (bounded) ─► JSON object ─► text of the field ─► cleaned ─► PromptLine
                     └──────────────┴────────────────┴──────────────────────► Refusal (number, reason)

A bad line is refused by its number and the reading goes on; a file that holds no JSON lines at all raises.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

LIMIT_BYTES = 4 * 1024 * 1024
"""The longest line that is read (ours)."""

_BLOCK_BYTES = 64 * 1024
_MAX_DEPTH = 100
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_OBJECT_START = re.compile(rb'(\xef\xbb\xbf)?\s*\{\s*["}]')
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")

PROMPT_FIELDS = ("prompt", "messages", "conversations")
"""Where the text is looked for when no field is named, in this order."""

_ID_FIELDS = ("id", "index", "external_id")
_TURN_SHAPES = (("role", "content"), ("from", "value"))
_USER_ROLES = ("user", "human")

Json = Any


class JsonLinesError(ValueError):
    """The file as a whole cannot be read as JSON lines; the message says why and what to do."""


class NotJsonLinesError(JsonLinesError):
    """The file is binary."""


class EmptyFileError(JsonLinesError):
    """The file has no line with anything in it."""


@dataclass(frozen=True, slots=True)
class PromptLine:
    """One prompt: `line` counts from 1, `text` is as in the file but for what `notes` tell.

    `external_id` is the object's id in its own data set; `extra` holds its other fields, safe to store.
    """

    line: int
    text: str
    external_id: str | None
    notes: tuple[str, ...] = ()
    extra: dict[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Refusal:
    """A line that was left out, and why."""

    line: int
    reason: str


class BinaryHandle(Protocol):
    """An open binary file, or an upload that reads like one."""

    def read(self, size: int, /) -> bytes: ...


class _RefusedLineError(Exception):
    """Carries the reason out of the parsing of one line."""


def read_prompts(
    lines: BinaryHandle | Iterable[bytes], field: str | None, *, limit_bytes: int = LIMIT_BYTES
) -> Iterator[PromptLine | Refusal]:
    """Yields every line of a file as a prompt or a refusal; blank lines are passed over.

    `lines` is a binary handle, of which no more than one line and one block are held, or the lines
    themselves. `field` names the key that holds the text: a string, or a list of chat turns of which the
    first user turn counts. None stands for the first of `PROMPT_FIELDS` that the line has. Raises
    `NotJsonLinesError` or `EmptyFileError` once iteration starts.
    """
    blocks = _leading_block_checked(_blocks(lines))
    empty = True
    for number, line in _split(blocks, limit_bytes):
        if line is None:
            empty = False
            yield Refusal(number, f"the line is longer than {limit_bytes:,} bytes")
            continue
        marked = number == 1 and line.startswith(_BYTE_ORDER_MARK)
        content = line.removeprefix(_BYTE_ORDER_MARK) if marked else line
        if not content.strip():
            continue
        empty = False
        notes = ["a byte-order mark was removed from the start of the file"] if marked else []
        try:
            yield _prompt_line(number, _parse(content), field, notes)
        except _RefusedLineError as refusal:
            yield Refusal(number, str(refusal))
    if empty:
        raise EmptyFileError("The file is empty: it has no line with anything in it.")


# Lines


def _blocks(lines: BinaryHandle | Iterable[bytes]) -> Iterator[bytes]:
    read = getattr(lines, "read", None)
    if read is not None:
        yield from iter(lambda: read(_BLOCK_BYTES), b"")
    elif isinstance(lines, Iterable):
        yield from (line if line.endswith(b"\n") else line + b"\n" for line in lines)


def _leading_block_checked(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """The same blocks; NUL bytes in the first, unless it begins with a JSON object, mean a binary file."""
    first = next(blocks, b"")
    if b"\0" in first and not _OBJECT_START.match(first):
        encoding = " It looks like UTF-16." if first[:2] in (b"\xff\xfe", b"\xfe\xff") else ""
        raise NotJsonLinesError(
            f"The file is binary, not JSON lines.{encoding} Save it as UTF-8 text, one JSON object a line."
        )
    yield first
    yield from blocks


def _split(blocks: Iterable[bytes], limit_bytes: int) -> Iterator[tuple[int, bytes | None]]:
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
    """The JSON object of a line. Raw control characters inside strings are let through."""
    try:
        parsed = json.loads(content.decode("utf-8"), strict=False)
    except UnicodeDecodeError as error:
        where = f"byte 0x{content[error.start]:02X} at position {error.start + 1}"
        raise _RefusedLineError(f"the line is not UTF-8 text ({where})") from None
    except json.JSONDecodeError as error:
        raise _RefusedLineError(f"the line is not JSON: {error.msg} at column {error.colno}") from None
    except RecursionError:
        raise _RefusedLineError("the line's JSON is nested too deeply") from None
    except ValueError:
        raise _RefusedLineError("the line holds a number with too many digits") from None
    if not isinstance(parsed, dict):
        raise _RefusedLineError(f"the line is {_kind(parsed)}, not a JSON object")
    return parsed


def _prompt_line(number: int, parsed: dict[str, Json], field: str | None, notes: list[str]) -> PromptLine:
    name = field if field is not None else next((one for one in PROMPT_FIELDS if one in parsed), None)
    if name is None or name not in parsed:
        wanted = f"'{field}'" if field is not None else " or ".join(f"'{one}'" for one in PROMPT_FIELDS)
        there = ", ".join(f"'{_shown(key)}'" for key in parsed) or "none"
        raise _RefusedLineError(f"the line has no field {wanted}; its fields: {there}")
    text = _clean(_text_of(name, parsed[name]), notes)
    if not text.strip():
        raise _RefusedLineError(f"the text in '{name}' is empty")
    id_field = next((one for one in _ID_FIELDS if one != name and _is_id(parsed.get(one))), None)
    external_id = _clean(str(parsed[id_field]), notes) if id_field else None
    other_notes: list[str] = []
    extra = {key: value for key, value in parsed.items() if key not in (name, id_field)}
    extra = _storable(extra, other_notes)
    notes += [f"in other fields, {note}" for note in other_notes]
    return PromptLine(number, text, external_id, tuple(dict.fromkeys(notes)), extra)


def _text_of(name: str, value: Json) -> str:
    if isinstance(value, str):
        return value
    if not isinstance(value, list):
        raise _RefusedLineError(f"'{name}' is {_kind(value)}, not a text")
    for turn in value:
        for role, content in _TURN_SHAPES:
            if isinstance(turn, dict) and turn.get(role) in _USER_ROLES:
                if not isinstance(turn.get(content), str):
                    raise _RefusedLineError(f"the first user turn in '{name}' has no text in '{content}'")
                return str(turn[content])
    raise _RefusedLineError(f"'{name}' is a list without a user turn")


def _clean(text: str, notes: list[str]) -> str:
    """Takes out what cannot be stored, and says so in `notes`."""
    if text.startswith("\ufeff"):
        text = text.removeprefix("\ufeff")
        notes.append("a byte-order mark was removed from the start of the text")
    if "\0" in text:
        text = text.replace("\0", "")
        notes.append("NUL characters were removed")
    if _LONE_SURROGATE.search(text):
        text = _LONE_SURROGATE.sub("\ufffd", text)
        notes.append("lone surrogates were replaced by U+FFFD")
    return text


def _storable(value: Json, notes: list[str], depth: int = 0) -> Json:
    """A JSON value that a database takes: cleaned texts, no infinities, no endless nesting."""
    if depth > _MAX_DEPTH:
        raise _RefusedLineError(f"the line's JSON is nested deeper than {_MAX_DEPTH} levels")
    if isinstance(value, str):
        return _clean(value, notes)
    if isinstance(value, float) and not math.isfinite(value):
        notes.append("numbers without a finite value became null")
        return None
    if isinstance(value, list):
        return [_storable(item, notes, depth + 1) for item in value]
    if isinstance(value, dict):
        return {_clean(key, notes): _storable(item, notes, depth + 1) for key, item in value.items()}
    return value


def _is_id(value: Json) -> bool:
    return isinstance(value, (str, int)) and not isinstance(value, bool) and value != ""


def _shown(key: str) -> str:
    return _LONE_SURROGATE.sub("\ufffd", key.replace("\0", ""))[:40]


def _kind(value: Json) -> str:
    names = {type(None): "null", bool: "true or false", list: "a list", dict: "an object", str: "a text"}
    return names.get(type(value), "a number")
