"""What every imported file comes down to: numbered rows of named values, and the prompt in one of them. Pure.

row ─► text of the field ─► cleaned ─► PromptLine
        └──────────────────────────► Refusal (number, reason)
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

PROMPT_FIELDS = ("prompt", "messages", "conversations")
"""Where the text is looked for when no field is named, in this order."""

LIKELY_TEXT_FIELDS = (*PROMPT_FIELDS, "query", "instruction", "text", "request", "question", "input")
LIKELY_RECONSTRUCTION_FIELDS = ("reconstruction", "reconstructed_prompt", "rewritten_prompt")
ID_FIELDS = ("id", "index", "external_id")

_MAX_DEPTH = 100
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_TURN_SHAPES = (("role", "content"), ("from", "value"))
_USER_ROLES = ("user", "human")

Json = Any


class ImportFormatError(ValueError):
    """A file as a whole cannot be imported; the message says why and what to do."""


class EmptyFileError(ImportFormatError):
    """The file has no row with anything in it."""


class RefusedRowError(Exception):
    """Carries the reason out of the reading of one row."""


@dataclass(frozen=True, slots=True)
class FieldChoice:
    """Which fields to take. No text field stands for the first of `PROMPT_FIELDS` that a row has; no id
    field for the first of `ID_FIELDS`; no reconstruction field for none."""

    text: str | None = None
    id: str | None = None
    reconstruction: str | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a file as it stands there; `number` counts lines or rows from 1."""

    number: int
    values: dict[str, Json]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PromptLine:
    """One prompt: `line` counts from 1, `text` is as in the file but for what `notes` tell.

    `external_id` is the row's id in its own data set; `extra` holds its other fields, safe to store.
    """

    line: int
    text: str
    external_id: str | None
    notes: tuple[str, ...] = ()
    extra: dict[str, Json] = field(default_factory=dict)
    reconstruction: str | None = None


@dataclass(frozen=True, slots=True)
class Refusal:
    """A line or row that was left out, and why."""

    line: int
    reason: str


def read_prompt(row: Row, choice: FieldChoice, *, with_extra: bool = True) -> PromptLine | Refusal:
    """The prompt of a row. A reconstruction that cannot be used is left out with a note.

    `extra` stays empty, and its faults unsaid, where nobody wants it.
    """
    notes = list(row.notes)
    try:
        name = choice.text
        if name is None:
            name = next((one for one in PROMPT_FIELDS if one in row.values), None)
        if name is None or name not in row.values:
            raise RefusedRowError(_missing(choice.text, row.values))
        text = clean_text(_text_of(name, row.values[name]), notes)
        if not text.strip():
            raise RefusedRowError(f"the text in '{name}' is empty")
        id_field, external_id = _external_id(row.values, name, choice, notes)
        reconstruction = _reconstruction(row.values, choice.reconstruction, text, notes)
        extra: dict[str, Json] = {}
        other_notes: list[str] = []
        if with_extra:
            taken = (name, id_field, choice.reconstruction)
            others = {key: value for key, value in row.values.items() if key not in taken}
            extra = storable(others, other_notes)
    except RefusedRowError as refusal:
        return Refusal(row.number, str(refusal))
    notes += [f"in other fields, {note}" for note in other_notes]
    return PromptLine(row.number, text, external_id, tuple(dict.fromkeys(notes)), extra, reconstruction)


def guess_fields(rows: Iterable[Row]) -> FieldChoice:
    """Which fields of the first rows look like text, id and reconstruction.

    A known name before any other; otherwise the field with the longest texts on average.
    """
    lengths: dict[str, list[int]] = {}
    names: dict[str, None] = {}
    for row in rows:
        for name, value in row.values.items():
            names.setdefault(name)
            try:
                length = len(_text_of(name, value))
            except RefusedRowError:
                continue
            lengths.setdefault(name, []).append(length)
    averages = {name: sum(found) / len(found) for name, found in lengths.items()}
    reconstruction = _first(LIKELY_RECONSTRUCTION_FIELDS, averages)
    averages.pop(reconstruction or "", None)
    text = _first(LIKELY_TEXT_FIELDS, averages) or max(averages, key=averages.__getitem__, default=None)
    identity = next((name for name in ID_FIELDS if name in names and name != text), None)
    return FieldChoice(text, identity, reconstruction)


def _first(wanted: Sequence[str], there: Mapping[str, object]) -> str | None:
    by_name = {name.casefold(): name for name in there}
    return next((by_name[name] for name in wanted if name in by_name), None)


def _missing(wanted: str | None, values: Mapping[str, Json]) -> str:
    names = f"'{wanted}'" if wanted is not None else " or ".join(f"'{one}'" for one in PROMPT_FIELDS)
    there = ", ".join(f"'{_shown(key)}'" for key in values) or "none"
    return f"the line has no field {names}; its fields: {there}"


def _external_id(
    values: Mapping[str, Json], text_field: str, choice: FieldChoice, notes: list[str]
) -> tuple[str | None, str | None]:
    """The id's field and the id."""
    if choice.id is not None:
        if not _is_id(values.get(choice.id)):
            notes.append(f"it has no id in '{choice.id}'")
            return choice.id, None
        return choice.id, clean_text(str(values[choice.id]), notes)
    name = next((one for one in ID_FIELDS if one != text_field and _is_id(values.get(one))), None)
    return name, clean_text(str(values[name]), notes) if name else None


def _reconstruction(values: Mapping[str, Json], name: str | None, text: str, notes: list[str]) -> str | None:
    if name is None:
        return None
    found: list[str] = []
    try:
        reconstruction = clean_text(_text_of(name, values.get(name)), found)
    except RefusedRowError as refusal:
        notes.append(f"it comes without a reconstruction: {refusal}")
        return None
    notes += [f"in its reconstruction, {note}" for note in found]
    if not reconstruction.strip():
        notes.append(f"it comes without a reconstruction: the text in '{name}' is empty")
        return None
    if _same_words(reconstruction, text):
        notes.append("its reconstruction is the request itself again; left out")
        return None
    return reconstruction


def _same_words(one: str, other: str) -> bool:
    return one.split(None, 1)[0] == other.split(None, 1)[0] and one.split() == other.split()


def _text_of(name: str, value: Json) -> str:
    if isinstance(value, str):
        return value
    if not isinstance(value, list):
        raise RefusedRowError(f"'{name}' is {kind_of(value)}, not a text")
    for turn in value:
        for role, content in _TURN_SHAPES:
            if isinstance(turn, dict) and turn.get(role) in _USER_ROLES:
                if not isinstance(turn.get(content), str):
                    raise RefusedRowError(f"the first user turn in '{name}' has no text in '{content}'")
                return str(turn[content])
    raise RefusedRowError(f"'{name}' is a list without a user turn")


# Cleaning


def clean_text(text: str, notes: list[str]) -> str:
    """Takes out what cannot be stored, and says so in `notes`."""
    if text.startswith("\ufeff"):
        text = text.removeprefix("\ufeff")
        notes.append("a byte-order mark was removed from the start of the text")
    if "\0" in text:
        text = text.replace("\0", "")
        notes.append("NUL characters were removed")
    try:
        text.encode()
    except UnicodeEncodeError:
        text = _LONE_SURROGATE.sub("\ufffd", text)
        notes.append("lone surrogates were replaced by U+FFFD")
    return text


def storable(value: Json, notes: list[str], depth: int = 0) -> Json:
    """A JSON value that a database takes: cleaned texts, no infinities, no endless nesting."""
    if depth > _MAX_DEPTH:
        raise RefusedRowError(f"the line's JSON is nested deeper than {_MAX_DEPTH} levels")
    if isinstance(value, str):
        return clean_text(value, notes)
    if isinstance(value, float) and not math.isfinite(value):
        notes.append("numbers without a finite value became null")
        return None
    if isinstance(value, list):
        return [storable(item, notes, depth + 1) for item in value]
    if isinstance(value, dict):
        return {clean_text(key, notes): storable(item, notes, depth + 1) for key, item in value.items()}
    return value


def kind_of(value: Json) -> str:
    """What a JSON value is, in words."""
    names = {type(None): "null", bool: "true or false", list: "a list", dict: "an object", str: "a text"}
    names |= {int: "a number", float: "a number"}
    return names.get(type(value), f"a {type(value).__name__}")


def _is_id(value: Json) -> bool:
    return isinstance(value, (str, int)) and not isinstance(value, bool) and value != ""


def _shown(key: str) -> str:
    return _LONE_SURROGATE.sub("\ufffd", key.replace("\0", ""))[:40]
