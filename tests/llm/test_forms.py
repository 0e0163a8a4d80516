"""Bounds for constrained decoding."""

import re

import pytest

from llm.forms import bounded_line, bounded_text


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        ("x" * 20, True),
        ("x" * 60, True),
        ("x" * 61, False),
        ("长" * 20, True),
        ("长" * 21, False),
        ("😀" * 20, True),
        ("😀" * 21, False),
        (" " + "x" * 30, False),
        ("label: " + "x" * 30, False),
        ("名称：" + "长" * 10, False),
        ("a | b " + "x" * 30, False),
        ("one line\nanother line", False),
    ],
)
def test_a_line_is_bounded_in_letters_and_in_characters(text: str, fits: bool) -> None:
    assert bool(re.fullmatch(bounded_line(20, 60), text)) is fits


@pytest.mark.parametrize(
    ("text", "fits"), [("a: b\n\n" + "x" * 100, True), ("\n" + "x" * 100, False), ("长" * 67, False)]
)
def test_a_text_may_have_lines(text: str, fits: bool) -> None:
    assert bool(re.fullmatch(bounded_text(100, 200), text)) is fits
