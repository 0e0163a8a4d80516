"""Think blocks and counts."""

import pytest

from llm.text import answer_text, count_characters, count_segments
from llm.types import UnusableReplyError


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ("Yes.", "Yes."),
        ("<think>hm</think>\n\nYes.", "Yes."),
        ("\n <think>\nlong\n\nthought\n</think>Yes.\n", "Yes."),
        ("thought without an opening tag</think>\nYes.", "Yes."),
        ("A story about <think> tags", "A story about <think> tags"),
        ("Write <think>x</think> in capitals", "Write <think>x</think> in capitals"),
        ("<think></think>", ""),
    ],
)
def test_the_answer_is_what_follows_the_think_block(reply: str, answer: str) -> None:
    assert answer_text(reply) == answer


def test_an_unclosed_think_block_has_no_answer() -> None:
    with pytest.raises(UnusableReplyError, match="never closes"):
        answer_text("<think>I was about to say 9/10")


def test_lengths() -> None:
    assert count_segments("one two\nthree　four") == 4
    assert count_segments("写一封信给校长") == 1
    assert count_characters("写一封信 👍🏽") == 7
