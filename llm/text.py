"""Counting text and taking think blocks off replies. Pure."""

from __future__ import annotations

import re

from llm.types import UnusableReplyError

_OPEN, _CLOSE = "<think>", "</think>"
_LEADING_THINK = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)


def count_characters(text: str) -> int:
    """Unicode code points, spaces included."""
    return len(text)


def count_segments(text: str) -> int:
    """Whitespace-delimited segments, the length measure of the paper's A.1."""
    return len(text.split())


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
