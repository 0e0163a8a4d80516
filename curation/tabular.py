"""Reading rows out of a CSV file, one row in memory at a time. Pure but for the handle.

    handle ─► lines (bounded) ─► csv.reader ─► cells by column ─► Row
                     └───────────────┴──────────────┴───────────► Refusal (its first line, reason)

The first row names the columns. Cells keep every byte: line breaks within quotes, tabs, and the separators of
Unicode, at which lines are not broken. Exports of ours are unescaped (`curation.spreadsheet`).
"""

from __future__ import annotations

import csv
import re
from collections import deque
from collections.abc import Iterable, Iterator

from curation.jsonl import BLOCK_BYTES, BYTE_ORDER_MARK, LIMIT_BYTES, BinaryHandle, split_lines
from curation.rows import EmptyFileError, ImportFormatError, Refusal, Row
from curation.spreadsheet import FORMAT_COLUMN, FORMAT_VERSION, unescape_cell

DELIMITERS = ",\t;|"
"""What may stand between cells; the one that gives the first row the most cells is taken."""

_UNDECODED = re.compile("[\udc80-\udcff]")
_UNCLOSED = "unexpected end of data"


class _UnclosedQuoteError(Exception):
    """A row has gone on for longer than any row may: a quote in it is not closed."""


class _Lines:
    """Decoded lines for csv.reader, which asks for as many as a row has; a bad row's can be put back."""

    def __init__(self, handle: BinaryHandle, limit_bytes: int) -> None:
        blocks = iter(lambda: handle.read(BLOCK_BYTES), b"")
        self._source = split_lines(_first_checked(blocks), limit_bytes)
        self._limit = limit_bytes
        self._put_back: deque[tuple[int, str]] = deque()
        self._size = 0
        self.taken: list[tuple[int, str]] = []
        self.overlong: list[int] = []

    def begin_row(self) -> None:
        self.taken, self._size = [], 0

    def put_back(self, start: int) -> None:
        """Gives back what was taken for this row, from its line `start` on."""
        self._put_back.extendleft(reversed(self.taken[start:]))
        self.begin_row()

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        number, line = self._put_back.popleft() if self._put_back else self._read()
        self.taken.append((number, line))
        self._size += len(line)
        if self._size > self._limit:
            raise _UnclosedQuoteError
        return line

    def _read(self) -> tuple[int, str]:
        for number, line in self._source:
            if line is None:
                self.overlong.append(number)
                continue
            content = line.removeprefix(BYTE_ORDER_MARK) if number == 1 else line
            return number, content.decode("utf-8", "surrogateescape") + "\n"
        raise StopIteration


def read_table(handle: BinaryHandle, *, limit_bytes: int = LIMIT_BYTES) -> Iterator[Row | Refusal]:
    """Yields every row under the column names as a row or a refusal, numbered by the line it begins on.

    Blank lines are passed over. Raises `ImportFormatError` for a file that is no table of text and
    `EmptyFileError` for one without rows, once iteration starts.
    """
    csv.field_size_limit(max(csv.field_size_limit(), limit_bytes))
    lines = _Lines(handle, limit_bytes)
    columns, delimiter = _header(lines)
    rows = _rows(lines, columns, delimiter, limit_bytes)
    first = next(rows, None)
    if first is None:
        raise EmptyFileError("The file is empty: it has no row under the names of its columns.")
    yield first
    yield from rows


def _first_checked(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """The same blocks. NUL bytes in the first mean a binary file; only carriage returns, an old Macintosh."""
    blocks = iter(blocks)
    first = next(blocks, b"")
    if first[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise ImportFormatError("The file is UTF-16 text. Save it as UTF-8 (in Excel: 'CSV UTF-8').")
    if b"\0" in first[:1024]:
        raise ImportFormatError("The file is binary, not a table of text. Save it as CSV in UTF-8.")
    if b"\r" in first and b"\n" not in first and len(first) < BLOCK_BYTES:
        raise ImportFormatError("The file's lines end in carriage returns alone. Save it with LF or CR LF.")
    yield first
    yield from blocks


def _header(lines: _Lines) -> tuple[list[str], str]:
    """The names of the columns and what separates them."""
    line = next(filter(str.strip, lines), None)
    if line is None:
        raise EmptyFileError("The file is empty: it has no line with anything in it.")
    counts = {mark: _width(line, mark) for mark in DELIMITERS}
    delimiter = max(counts, key=counts.__getitem__)
    lines.put_back(-1)
    try:
        names = next(csv.reader(lines, delimiter=delimiter, strict=True))
    except (csv.Error, _UnclosedQuoteError) as error:
        reason = str(error) or "a quote in it is not closed"
        raise ImportFormatError(f"The names of the columns cannot be read: {reason}.") from None
    if any(_UNDECODED.search(name) for name in names):
        raise ImportFormatError("The names of the columns are not UTF-8 text. Save the file as UTF-8.")
    return _unique(names), delimiter


def _width(line: str, delimiter: str) -> int:
    """Cells of the line; 0 when it cannot be read so."""
    try:
        return len(next(csv.reader([line], delimiter=delimiter), []))
    except csv.Error:
        return 0


def _unique(names: list[str]) -> list[str]:
    """Column names as they are, but none empty and none twice."""
    seen: list[str] = []
    for place, name in enumerate(names, 1):
        base = name.strip().replace("\0", "") or f"column {place}"
        numbered = (f"{base} ({count})" for count in range(2, len(names) + 2))
        seen.append(base if base not in seen else next(one for one in numbered if one not in seen))
    return seen


def _rows(lines: _Lines, columns: list[str], delimiter: str, limit_bytes: int) -> Iterator[Row | Refusal]:
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    while True:
        lines.begin_row()
        reason = ""
        cells: list[str] | None = None
        try:
            cells = next(reader, None)
        except _UnclosedQuoteError:
            reason = f"a quote in the row is not closed within {limit_bytes:,} characters"
        except csv.Error as error:
            unclosed = _UNCLOSED in str(error)
            reason = "a quote in the row is not closed" if unclosed else f"the row is not CSV: {error}"
        for number in lines.overlong:
            yield Refusal(number, f"the line is longer than {limit_bytes:,} bytes")
        lines.overlong.clear()
        if reason:
            yield Refusal(lines.taken[0][0], reason)
            lines.put_back(1)
            reader = csv.reader(lines, delimiter=delimiter, strict=True)
        elif cells is None:
            return
        elif any(cells):
            yield _row(lines.taken[0][0], cells, columns)


def _row(number: int, cells: list[str], columns: list[str]) -> Row | Refusal:
    if len(cells) != len(columns):
        return Refusal(
            number,
            f"the row has {len(cells)} cell{'s' if len(cells) != 1 else ''}, the first row names "
            f"{len(columns)} column{'s' if len(columns) != 1 else ''}",
        )
    for name, cell in zip(columns, cells, strict=True):
        if not cell.isascii() and (undecoded := _UNDECODED.search(cell)):
            where = f"byte 0x{ord(undecoded[0]) - 0xDC00:02X} in '{name}'"
            return Refusal(number, f"the row is not UTF-8 text ({where})")
    values = dict(zip(columns, cells, strict=True))
    if values.get(FORMAT_COLUMN) == FORMAT_VERSION:
        values = {name: unescape_cell(cell) for name, cell in values.items() if name != FORMAT_COLUMN}
    return Row(number, values)
