"""What came of an import, line by line as far as lists can go."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

LISTED_LINES = 500
"""How many refused or noted lines a stored report lists; all of them are counted."""


@dataclass
class LineReport:
    """One line of an import that was not simply taken."""

    line: int
    reason: str


@dataclass
class ImportReport:
    """`read` = `added` + `duplicates` + `refused`; `notes` are lines that went in, cleaned or in doubt.

    `near` counts those of the source's prompts that are nearly the same as an earlier one, as far as they
    were looked for; `reconstructions` those that came with their source.
    """

    read: int = 0
    added: int = 0
    duplicates: int = 0
    refused: int = 0
    noted: int = 0
    near: int = 0
    reconstructions: int = 0
    duplicate_lines: list[LineReport] = field(default_factory=list)
    refused_lines: list[LineReport] = field(default_factory=list)
    noted_lines: list[LineReport] = field(default_factory=list)
    near_lines: list[LineReport] = field(default_factory=list)

    def refuse(self, line: int, reason: str) -> None:
        self.refused += 1
        _list(self.refused_lines, line, reason)

    def duplicate(self, line: int, reason: str) -> None:
        self.duplicates += 1
        _list(self.duplicate_lines, line, reason)

    def note(self, line: int, reason: str) -> None:
        self.noted += 1
        _list(self.noted_lines, line, reason)

    def nearly(self, line: int, reason: str) -> None:
        self.near += 1
        _list(self.near_lines, line, reason)

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def _list(lines: list[LineReport], line: int, reason: str) -> None:
    if len(lines) < LISTED_LINES:
        lines.append(LineReport(line, reason))
