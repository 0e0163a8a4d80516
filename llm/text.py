"""Counting text and taking think blocks off replies. Pure."""

from __future__ import annotations

import re
from enum import StrEnum

from llm.types import UnusableReplyError

_OPEN, _CLOSE = "<think>", "</think>"
_LEADING_THINK = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)


UNSPACED_RANGES = (
    "\u0e00-\u0eff"  # Thai, Lao
    "\u0f00-\u109f"  # Tibetan, Burmese
    "\u1780-\u17ff"  # Khmer
    "\u3005-\u3007\u3041-\u30ff\u31f0-\u31ff"  # iteration marks, kana
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han
)
"""The scripts written without spaces between words, as the inside of a regular expression's set."""

_UNSPACED_CHARACTER = re.compile(f"[{UNSPACED_RANGES}]")


class LengthPolicy(StrEnum):
    """How the length of a text is counted."""

    PAPER = "paper"
    SCRIPT = "script"


def count_characters(text: str) -> int:
    """Unicode code points, spaces included."""
    return len(text)


def count_segments(text: str) -> int:
    """Whitespace-delimited segments, the length measure of the paper's A.1."""
    return len(text.split())


def count_length(text: str, policy: LengthPolicy) -> int:
    """`paper`: whitespace-delimited segments (A.1). `script`: each character of an unspaced script counts as
    one, and what is left counts by segments (ours): the paper's measure takes a Chinese text for a few words.

    >>> count_length("写一封信 to Anna", LengthPolicy.SCRIPT)
    6
    """
    if policy == LengthPolicy.PAPER:
        return count_segments(text)
    spaced, characters = _UNSPACED_CHARACTER.subn(" ", text)
    return characters + sum(any(map(str.isalnum, segment)) for segment in spaced.split())


def answer_text(reply: str) -> str:
    """The reply without its leading think block, stripped of surrounding whitespace.

    A reply with no `<think>` at its start and no `</think>` stays whole. Chat templates that open the
    block themselves leave a reply with only the closing tag: the answer is what follows it. A block that
    never closes has no answer to find.

    >>> answer_text("<think>hm</think> Yes.")
    'Yes.'
    """
    text = reply.strip()
    if text.startswith(_OPEN):
        if _CLOSE not in text:
            raise UnusableReplyError("the reply opens a <think> block and never closes it")
        return _LEADING_THINK.sub("", text, count=1).strip()
    if _CLOSE in text and _OPEN not in text:
        return text.split(_CLOSE, 1)[1].strip()
    return text
