"""CSV: every cell is kept byte for byte, every bad row is named by its line, and every other row goes on."""

from __future__ import annotations

import csv
import io
import tracemalloc
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curation.rows import EmptyFileError, ImportFormatError, Refusal, Row
from curation.spreadsheet import escape_cell
from curation.tabular import read_table

AWKWARD = ' a,"b"\r\n\tc\rd\u2028e\u2029f\u0085g\u00a0h🎉👩‍🚀\u202eاب 你好\x0b\x0c\x1c\x01 '


def read(content: bytes | str, **options: int) -> list[Row | Refusal]:
    content = content.encode() if isinstance(content, str) else content
    return list(read_table(io.BytesIO(content), **options))


def values(content: bytes | str) -> list[dict[str, str]]:
    found = read(content)
    assert all(isinstance(one, Row) for one in found), found
    return [one.values for one in found if isinstance(one, Row)]


def written(rows: Sequence[Sequence[str]], delimiter: str = ",") -> str:
    file = io.StringIO(newline="")
    csv.writer(file, delimiter=delimiter).writerows(rows)
    return file.getvalue()


@pytest.mark.parametrize("delimiter", [",", "\t", ";", "|"])
def test_awkward_text_is_kept_exactly(delimiter: str) -> None:
    content = written([["id", "prompt"], ["1", AWKWARD], ["2", AWKWARD * 2]], delimiter)
    assert values(content) == [{"id": "1", "prompt": AWKWARD}, {"id": "2", "prompt": AWKWARD * 2}]


@settings(max_examples=60)
@given(
    st.lists(
        st.lists(st.text(st.characters(codec="utf-8"), min_size=1), min_size=2, max_size=2),
        min_size=1,
        max_size=5,
    )
)
def test_what_csv_writes_is_read_back(rows: list[list[str]]) -> None:
    content = written([["a", "b"], *rows])
    if "\0" in content[:1024]:
        return
    assert [list(one.values()) for one in values(content)] == rows


def test_rows_are_numbered_by_the_line_they_begin_on() -> None:
    found = read('a,b\r\n"x\r\ny",1\r\n\r\nz,2')
    assert [(one.number, one.values) for one in found if isinstance(one, Row)] == [
        (2, {"a": "x\r\ny", "b": "1"}),
        (5, {"a": "z", "b": "2"}),
    ]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("x", "the row has 1 cell, the first row names 2 columns"),
        ("x,y,z", "the row has 3 cells, the first row names 2 columns"),
        (b"caf\xe9,1", "the row is not UTF-8 text (byte 0xE9 in 'a')"),
        (b"x,\xc4\xe3", "the row is not UTF-8 text (byte 0xC4 in 'b')"),
        ('"x" y,1', "the row is not CSV: ',' expected after '\"'"),
    ],
)
def test_a_bad_row_is_refused_by_its_line_and_the_others_go_in(row: str | bytes, reason: str) -> None:
    bad = row.encode() if isinstance(row, str) else row
    found = read(b"a,b\n1,2\n" + bad + b"\n3,4\n")
    assert [type(one) for one in found] == [Row, Refusal, Row]
    assert found[1] == Refusal(3, reason)


def test_a_quote_that_is_never_closed_costs_its_own_row() -> None:
    found = read('a,b\n1,2\n"open,3\n4,5\n6,7\n')
    assert [one.values["a"] for one in found if isinstance(one, Row)] == ["1", "4", "6"]
    assert [one for one in found if isinstance(one, Refusal)] == [
        Refusal(3, "a quote in the row is not closed")
    ]


def test_an_open_quote_in_a_long_file_is_given_up_at_the_limit() -> None:
    content = 'a,b\n"open,3\n' + "4,5\n" * 1000
    found = read(content, limit_bytes=200)
    assert found[0] == Refusal(2, "a quote in the row is not closed within 200 characters")
    assert len(found) == 1001
    assert all(isinstance(one, Row) for one in found[1:])


def test_an_overlong_line_is_refused_and_not_held() -> None:
    content = b"a,b\n1,2\n" + b"x" * 30_000_000 + b",3\n4,5\n"
    handle = io.BytesIO(content)
    tracemalloc.start()
    found = list(read_table(handle))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    refused = [one for one in found if isinstance(one, Refusal)]
    assert refused == [Refusal(3, "the line is longer than 4,194,304 bytes")]
    assert [one.values["b"] for one in found if isinstance(one, Row)] == ["2", "5"]
    assert peak < 20 * 1024 * 1024


def test_a_byte_order_mark_belongs_to_no_column() -> None:
    assert values(b"\xef\xbb\xbfprompt\nWrite.\n") == [{"prompt": "Write."}]


def test_a_nul_in_a_cell_is_left_to_the_cleaning() -> None:
    assert values("prompt,n\n" + "x" * 2000 + ",1\nWri\0te.,2\n")[1]["prompt"] == "Wri\0te."


def test_columns_without_a_name_or_with_the_same_one_are_told_apart() -> None:
    assert values("a,,a\n1,2,3\n") == [{"a": "1", "column 2": "2", "a (2)": "3"}]


def test_our_own_exports_are_unescaped_and_no_others() -> None:
    texts = ["=1+1", "'=1+1", "'tis", "-a", "plain"]
    ours = written([["text", "workbench_format"], *([escape_cell(text), "1"] for text in texts)])
    assert [one["text"] for one in values(ours)] == texts
    assert "workbench_format" not in values(ours)[0]
    theirs = written([["text", "n"], *([escape_cell(text), "1"] for text in texts)])
    assert [one["text"] for one in values(theirs)] == [escape_cell(text) for text in texts]


@pytest.mark.parametrize(
    ("content", "answer"),
    [
        ("prompt\nWrite.\n".encode("utf-16"), "UTF-16"),
        (b"\x00\x01\x02\x03" * 20, "binary"),
        (b"prompt\rWrite.\rMore.\r", "carriage returns"),
        (b"pr\xe9,b\n1,2\n", "columns are not UTF-8"),
        (b'"prompt,b\n1,2\n', "names of the columns cannot be read"),
    ],
)
def test_a_file_that_is_no_table_is_one_answer(content: bytes, answer: str) -> None:
    with pytest.raises(ImportFormatError, match=answer):
        read(content)


@pytest.mark.parametrize("content", [b"", b"\n\n", b"\xef\xbb\xbf", b"prompt\n", b"prompt\n\n\n"])
def test_a_file_without_rows_is_said_to_be_empty(content: bytes) -> None:
    with pytest.raises(EmptyFileError, match="empty"):
        read(content)


@given(st.binary(max_size=200))
def test_any_bytes_give_rows_refusals_or_a_named_error(content: bytes) -> None:
    try:
        found = read(b"a,b\n" + content)
    except ImportFormatError:
        return
    assert all(isinstance(one, Row | Refusal) for one in found)
