"""Every line is a prompt or a refusal with a reason; text is kept as it is; memory stays small."""

from __future__ import annotations

import io
import json
import tracemalloc
from collections.abc import Iterator

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from curation.jsonl import EmptyFileError, NotJsonLinesError, PromptLine, Refusal, read_prompts, read_rows
from curation.rows import Row


def read(content: bytes, field: str | None = None, **options: int) -> list[PromptLine | Refusal]:
    return list(read_prompts(io.BytesIO(content), field, **options))


def prompt(line: bytes, field: str | None = None) -> PromptLine:
    (found,) = read(line, field)
    assert isinstance(found, PromptLine), found
    return found


def reason(line: bytes, field: str | None = None) -> str:
    (found,) = read(line, field)
    assert isinstance(found, Refusal), found
    assert found.line == 1
    return found.reason


# Where the text is


@pytest.mark.parametrize(
    "fields",
    [
        {"prompt": "Write."},
        {"messages": [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Write."}]},
        {"conversations": [{"from": "human", "value": "Write."}, {"from": "gpt", "value": "Done."}]},
        {"conversations": [{"role": "user", "content": "Write."}]},
        {"prompt": [{"role": "user", "content": "Write."}]},
        {"prompt": "Write.", "messages": [{"role": "user", "content": "Not this."}]},
    ],
)
def test_text_is_found_without_a_field(fields: dict[str, object]) -> None:
    assert prompt(json.dumps(fields).encode()).text == "Write."


@pytest.mark.parametrize("field", ["query", "messages", "conversations"])
def test_named_field(field: str) -> None:
    line = {
        "prompt": "Not this.",
        "query": "Write.",
        "messages": [{"role": "user", "content": "Write."}],
        "conversations": [{"from": "human", "value": "Write."}],
    }
    assert prompt(json.dumps(line).encode(), field).text == "Write."


@pytest.mark.parametrize(
    ("fields", "external_id"),
    [
        ({"id": "a1"}, "a1"),
        ({"id": 7}, "7"),
        ({"index": 0}, "0"),
        ({"id": True}, None),
        ({"id": ""}, None),
        ({}, None),
    ],
)
def test_id_and_other_fields(fields: dict[str, object], external_id: str | None) -> None:
    found = prompt(json.dumps({"prompt": "Write.", "genre": "ad", "n": [1, {"a": None}], **fields}).encode())
    assert found.external_id == external_id
    rest = {} if external_id is not None else fields
    assert found.extra == {"genre": "ad", "n": [1, {"a": None}], **rest}


# Lines


def test_lines_are_numbered_and_blank_ones_passed_over() -> None:
    found = read(b'{"prompt":"a"}\r\n\n  \r\nnot json\n{"prompt":"b"}')
    assert [one.line for one in found] == [1, 4, 5]
    assert isinstance(found[1], Refusal)


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0\ufeff"), min_size=1), min_size=1))
def test_text_is_kept_exactly(texts: list[str]) -> None:
    texts = [text + "." for text in texts]
    for ascii_only in (False, True):
        content = "\n".join(json.dumps({"prompt": text}, ensure_ascii=ascii_only) for text in texts)
        found = read(content.encode())
        assert [one.text for one in found if isinstance(one, PromptLine)] == texts
        assert all(one.notes == () for one in found if isinstance(one, PromptLine))


def test_awkward_text_is_kept_exactly() -> None:
    text = ' a,"b"\r\n\tc\u2028d\u2029e\u0085f\u00a0g🎉\u202eاب 你好\x01 '
    assert prompt(json.dumps({"prompt": text}, ensure_ascii=False).encode()).text == text


def test_lines_may_be_given_as_a_list() -> None:
    found = list(read_prompts([b'{"prompt":"a"}\n', b'{"prompt":"b"}'], None))
    assert [(one.line, one.text) for one in found if isinstance(one, PromptLine)] == [(1, "a"), (2, "b")]


class _Endless(io.RawIOBase):
    """A file made up as it is read: its pieces in turn, a number of times each."""

    def __init__(self, *pieces: tuple[bytes, int]) -> None:
        self._pieces: Iterator[bytes] = (piece for piece, times in pieces for _ in range(times))
        self._rest = b""

    def read(self, size: int = -1) -> bytes:
        while len(self._rest) < size and (piece := next(self._pieces, b"")):
            self._rest += piece
        block, self._rest = self._rest[:size], self._rest[size:]
        return block


def test_an_overlong_line_is_refused_by_number_and_not_held() -> None:
    handle = _Endless(
        (b'{"prompt":"first"}\n{"prompt":"', 1), (b"a" * 65_536, 1600), (b'"}\n{"prompt":"last"}\n', 1)
    )
    tracemalloc.start()
    found = list(read_prompts(handle, None))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert [(one.line, getattr(one, "text", None)) for one in found] == [(1, "first"), (2, None), (3, "last")]
    assert isinstance(found[1], Refusal)
    assert found[1].reason == "the line is longer than 4,194,304 bytes"
    assert peak < 20 * 1024 * 1024, "a line of 100 MB must not be held"


def test_a_long_file_is_read_flat_in_memory() -> None:
    handle = _Endless((b'{"prompt":"' + b"b" * 1000 + b'"}\n', 4_000))
    tracemalloc.start()
    assert sum(1 for _ in read_prompts(handle, None)) == 4_000
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2 * 1024 * 1024


@pytest.mark.parametrize("spare", [-1, 0, 1])
def test_limit_is_exact(spare: int) -> None:
    line = b'{"prompt":"' + b"a" * 100 + b'"}'
    for content in (line, line + b"\n", line + b"\n" + line[:-3]):
        first = read(content, limit_bytes=len(line) + spare)[0]
        assert isinstance(first, PromptLine if spare >= 0 else Refusal)


def test_overlong_last_line_without_a_line_feed() -> None:
    assert [type(one) for one in read(b'{"prompt":"a"}\n' + b"x" * 200, limit_bytes=100)] == [
        PromptLine,
        Refusal,
    ]


# Cleaning


@pytest.mark.parametrize(
    ("line", "text", "note"),
    [
        (b'\xef\xbb\xbf{"prompt":"a"}', "a", "a byte-order mark was removed from the start of the file"),
        (b'{"prompt":"\\ufeffa"}', "a", "a byte-order mark was removed from the start of the text"),
        (b'{"prompt":"a\\u0000b\\u0000"}', "ab", "NUL characters were removed"),
        (b'{"prompt":"a\0b"}', "ab", "NUL characters were removed"),
        (b'{"prompt":"a\\ud83db"}', "a\ufffdb", "lone surrogates were replaced by U+FFFD"),
    ],
)
def test_cleaned_with_a_note(line: bytes, text: str, note: str) -> None:
    found = prompt(line)
    assert found.text == text
    assert found.notes == (note,)


def test_a_whole_surrogate_pair_is_an_ordinary_character() -> None:
    assert prompt(b'{"prompt":"\\ud83c\\udf89"}') == PromptLine(1, "🎉", None)


def test_other_fields_are_made_safe_to_store() -> None:
    found = prompt(b'{"prompt":"a","x\\u0000":["b\\u0000",NaN,1e999,-Infinity,1.5],"id":"c\\ud800"}')
    assert found.extra == {"x": ["b", None, None, None, 1.5]}
    assert found.external_id == "c\ufffd"
    assert "in other fields, numbers without a finite value became null" in found.notes
    json.dumps(found.extra, allow_nan=False).encode()


# Refusals


def nested(depth: int) -> bytes:
    return b'{"prompt":"a","n":' + b"[" * depth + b"]" * depth + b"}"


@pytest.mark.parametrize(
    ("line", "field", "expected"),
    [
        (b'{"prompt": "caf\xe9"}', None, "the line is not UTF-8 text (byte 0xE9 at position 16)"),
        (b'{"prompt": "a" "b"}', None, "the line is not JSON: Expecting ',' delimiter at column 16"),
        (b"hello", None, "the line is not JSON: Expecting value at column 1"),
        (b'{"prompt": "a"', None, "the line is not JSON: Expecting ',' delimiter at column 15"),
        (b'["a"]', None, "the line is a list, not a JSON object"),
        (b'"a"', None, "the line is a text, not a JSON object"),
        (b"NaN", None, "the line is a number, not a JSON object"),
        (b"null", None, "the line is null, not a JSON object"),
        (b'{"id":1,"q":"a"}', "query", "the line has no field 'query'; its fields: 'id', 'q'"),
        (b"{}", "query", "the line has no field 'query'; its fields: none"),
        (
            b'{"text":"a"}',
            None,
            "the line has no field 'prompt' or 'messages' or 'conversations'; its fields: 'text'",
        ),
        (b'{"prompt":7}', None, "'prompt' is a number, not a text"),
        (b'{"prompt":null}', None, "'prompt' is null, not a text"),
        (b'{"prompt":NaN}', None, "'prompt' is a number, not a text"),
        (b'{"prompt":{"a":1}}', "prompt", "'prompt' is an object, not a text"),
        (b'{"prompt":""}', None, "the text in 'prompt' is empty"),
        (b'{"prompt":" \\n\\u00a0\\u3000"}', None, "the text in 'prompt' is empty"),
        (b'{"prompt":"\\u0000"}', None, "the text in 'prompt' is empty"),
        (b'{"messages":[]}', None, "'messages' is a list without a user turn"),
        (b'{"messages":[{"role":"tool","content":"a"}]}', None, "'messages' is a list without a user turn"),
        (b'{"messages":["a",7]}', None, "'messages' is a list without a user turn"),
        (
            b'{"messages":[{"role":"user","content":["a"]}]}',
            None,
            "the first user turn in 'messages' has no text in 'content'",
        ),
        (b'{"prompt":"a","n":' + b"9" * 5000 + b"}", None, "the line holds a number with too many digits"),
        (nested(150), None, "the line's JSON is nested deeper than 100 levels"),
        (nested(100_000), None, "the line's JSON is nested too deeply"),
    ],
)
def test_refusal(line: bytes, field: str | None, expected: str) -> None:
    assert reason(line, field) == expected


def test_nothing_but_reading_can_stop_the_file() -> None:
    found = read(b'{"prompt":"a"}\n\xff\xfe\n[' + b"\n" + b'{"prompt":"b"}\n')
    assert [type(one) for one in found] == [PromptLine, Refusal, Refusal, PromptLine]


@given(st.binary(max_size=300))
def test_any_bytes_give_lines_or_a_named_error(content: bytes) -> None:
    try:
        found = read(content)
    except (EmptyFileError, NotJsonLinesError):
        return
    assert all(isinstance(one, (PromptLine, Refusal)) for one in found)


# Whole files


@pytest.mark.parametrize("content", [b"", b"\n\n  \r\n", b"\xef\xbb\xbf", b"\xef\xbb\xbf\n"])
def test_empty_file(content: bytes) -> None:
    with pytest.raises(EmptyFileError, match="empty"):
        read(content)


@pytest.mark.parametrize(
    "content",
    [
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + b"\0" * 100,
        b"PK\x03\x04\x14\0\0\0" * 50,
        '{"prompt":"a"}\n'.encode("utf-16-le"),
    ],
)
def test_binary_file_is_one_error(content: bytes) -> None:
    with pytest.raises(NotJsonLinesError, match=r"^The file is binary, not JSON lines\. Save it as UTF-8"):
        read(content)


def test_utf_16_is_named() -> None:
    with pytest.raises(NotJsonLinesError, match="UTF-16"):
        read('{"prompt":"a"}\n'.encode("utf-16"))


def test_nul_later_in_a_json_file_is_a_matter_of_its_line() -> None:
    found = read(b'{"prompt":"a"}\n\0\0\0\n{"prompt":"b"}\n')
    assert [type(one) for one in found] == [PromptLine, Refusal, PromptLine]


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=12,
    )
)
@example([2**64, -(2**63) - 1, 10**40, 1e300, float("inf"), float("nan"), "\ud800"])
def test_a_line_means_what_the_standard_reader_takes_it_for(value: object) -> None:
    line = json.dumps({"prompt": value}).encode()
    (row,) = read_rows([line])
    assert isinstance(row, Row)
    assert repr(row.values) == repr(json.loads(line))
