"""What is told of a batch of an import without asking the database: rows as they will be stored. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from curation.jsonl import RawLine, parse_line
from curation.languages import UNDETERMINED, detect_language
from curation.minhash import BandHashes, band_hashes
from curation.reconstruction import MAX_SOURCE_SEGMENTS, Strategy
from curation.rows import FieldChoice, PromptLine, Refusal, Row, read_prompt
from llm.text import LengthPolicy, count_characters, count_length

LENGTH_UNITS = {
    LengthPolicy.PAPER: "segments",
    LengthPolicy.SCRIPT: "words and characters",
}
"""What a length policy counts, in words."""

Unread = RawLine | Row | Refusal
Values = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Prepared:
    """A prompt and, if it comes with a usable one, its reconstruction, each without what it belongs to."""

    entry: PromptLine
    prompt: Values
    reconstruction: Values | None

    def notes(self) -> list[str]:
        notes = list(self.entry.notes)
        if self.prompt["language"] == UNDETERMINED:
            notes.append("its language could not be told; kept as 'und'")
        if self.prompt["excluded_because"]:
            notes.append(self.prompt["excluded_because"])
        return notes


@dataclass(slots=True)
class PreparedBatch:
    """`prompts` by the digest of their text, `bands` the hashes by which nearly equal ones meet, in their
    order; `left_out` is the rest, with what it is and why, by line."""

    read: int
    prompts: dict[str, Prepared] = field(default_factory=dict)
    bands: BandHashes | None = None
    left_out: list[tuple[Literal["refused", "duplicate"], int, str]] = field(default_factory=list)


def digest_of(text: str) -> str:
    """SHA-256 of the text's UTF-8, in hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()


def left_out(reason: str, entry: PromptLine) -> str:
    return reason if entry.reconstruction is None else f"{reason}; its reconstruction was left out"


def size_of(item: Unread) -> int:
    """About how many characters (or bytes) an item holds."""
    if isinstance(item, RawLine):
        return len(item.content)
    if isinstance(item, Refusal):
        return len(item.reason)
    return sum(len(value if isinstance(value, str) else repr(value)) for value in item.values.values())


def prepare(
    batch: Sequence[Unread], fields: FieldChoice, policy: LengthPolicy, rows: int | None = None
) -> PreparedBatch:
    """The batch as it will be stored; with band hashes where somebody wants them, of so many rows a band."""
    prepared = PreparedBatch(len(batch))
    for item in batch:
        row = parse_line(item) if isinstance(item, RawLine) else item
        entry = row if isinstance(row, Refusal) else read_prompt(row, fields, with_extra=False)
        if isinstance(entry, Refusal):
            prepared.left_out.append(("refused", entry.line, entry.reason))
            continue
        digest = digest_of(entry.text)
        if first := prepared.prompts.get(digest):
            reason = left_out(f"the same text as line {first.entry.line}", entry)
            prepared.left_out.append(("duplicate", entry.line, reason))
        else:
            prepared.prompts[digest] = _prepare(entry, digest, policy)
    if rows is not None:
        prepared.bands = band_hashes([one.entry.text for one in prepared.prompts.values()], rows)
    return prepared


def _prepare(entry: PromptLine, digest: str, policy: LengthPolicy) -> Prepared:
    length = count_length(entry.text, policy)
    excluded = ""
    if length > MAX_SOURCE_SEGMENTS:
        excluded = f"{length:,} {LENGTH_UNITS[policy]}: sources over {MAX_SOURCE_SEGMENTS:,} are left out"
    prompt = {
        "line": entry.line,
        "external_id": (entry.external_id or "")[:200],
        "digest": digest,
        "excluded_because": excluded,
        **_text(entry.text, length, policy),
    }
    if excluded or entry.reconstruction is None:
        return Prepared(entry, prompt, None)
    return Prepared(entry, prompt, _reconstruction(entry.reconstruction, policy))


def _reconstruction(text: str, policy: LengthPolicy) -> Values:
    """As if it had been written here by the strategy that takes a rewrite as it is."""
    return {
        "index": 0,
        "strategy": Strategy.LENGTH_AWARE.value,
        "imported": True,
        **_text(text, count_length(text, policy), policy),
    }


def _text(text: str, length: int, policy: LengthPolicy) -> Values:
    return {
        "text": text,
        "language": detect_language(text).code,
        "characters": count_characters(text),
        "segments": length,
        "length_policy": policy.value,
    }
