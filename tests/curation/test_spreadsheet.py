"""What a spreadsheet would run is escaped, and every text comes back as it was."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from curation.spreadsheet import escape_cell, unescape_cell

RUN = "=+-@\t\r"
cells = st.text(st.sampled_from("'=+-@\t\rab\n ")) | st.text()


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("=1+1", "'=1+1"),
        ("'=1+1", "''=1+1"),
        ("''@a", "'''@a"),
        ("-", "'-"),
        ("\tx", "'\tx"),
        ("\rx", "'\rx"),
        ("", ""),
        ("'", "'"),
        ("'tis", "'tis"),
        (" =1", " =1"),
        ("\n=1", "\n=1"),
        ("a=1", "a=1"),
    ],
)
def test_one_apostrophe_before_what_would_run(text: str, cell: str) -> None:
    assert escape_cell(text) == cell
    assert unescape_cell(cell) == text


@given(cells)
def test_every_text_comes_back(text: str) -> None:
    assert unescape_cell(escape_cell(text)) == text


@given(cells)
def test_no_escaped_cell_runs(text: str) -> None:
    assert not escape_cell(text).startswith(tuple(RUN))


@given(cells, cells)
def test_different_texts_are_different_cells(one: str, other: str) -> None:
    assert (escape_cell(one) == escape_cell(other)) == (one == other)
