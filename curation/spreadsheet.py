"""Cells that a spreadsheet would take for formulas, escaped in our exports and restored from them. Pure.

A program that opens a CSV file runs a cell that begins with one of = + - @, a tab or a carriage return. In
such a cell our exports put one apostrophe in front, also where apostrophes stand there already, so that
taking one away again gives the same text whatever it was.
"""

from __future__ import annotations

import re

FORMAT_COLUMN = "workbench_format"
"""The column that marks a CSV file as an export of ours; no other file is unescaped."""

FORMAT_VERSION = "1"

_ESCAPABLE = re.compile(r"'*[=+\-@\t\r]")
_ESCAPED = re.compile(r"'+[=+\-@\t\r]")


def escape_cell(text: str) -> str:
    """The cell as it is written. `unescape_cell(escape_cell(text)) == text` for every text.

    >>> escape_cell("=1+1"), escape_cell("'=1+1"), escape_cell("'tis")
    ("'=1+1", "''=1+1", "'tis")
    """
    return f"'{text}" if _ESCAPABLE.match(text) else text


def unescape_cell(text: str) -> str:
    """The text of a cell that `escape_cell` wrote."""
    return text[1:] if _ESCAPED.match(text) else text
