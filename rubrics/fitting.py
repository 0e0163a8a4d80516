"""A response that is too long for a judge's context window, cut so that it fits. Pure.

The middle is what goes: a judge that sees the opening and the ending can still say how the text sets out and
how it closes. A line stands where the rest was, so that a gap is not taken for the writer's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from curation.tokenizer import Encoder
from llm.prompts import template_language
from llm.types import RefusedError

REPLY_TOKENS = 2_048
"""Kept free for a judge's reply where the endpoint does not bound its length (ours)."""

FRAME_TOKENS = 64
"""Kept free for what a server's chat template puts around a message (ours)."""

LEAST_TOKENS = 64
"""A response of which less would be left is not judged at all (ours)."""

_GAPS = {
    "en": "\n[… {count:,} characters are left out here: the whole text did not fit …]\n",
    "zh": "\n［……此处略去 {count:,} 个字符：全文超出上下文长度……］\n",
}


@dataclass(frozen=True, slots=True)
class Window:
    """How many `tokens` a question may have, counted by `encoder`, which need not be the judge's own."""

    tokens: int
    encoder: Encoder


def question_tokens(context_window: int, max_output_tokens: int | None) -> int:
    """What a context window leaves for the question.

    >>> question_tokens(32_768, None), question_tokens(4_096, 512)
    (30656, 3520)
    """
    reply = max_output_tokens or min(REPLY_TOKENS, context_window // 4)
    return context_window - reply - FRAME_TOKENS


def fit(
    response: str, question: Callable[[str], str], window: Window | None, *, language: str = "en"
) -> tuple[str, bool]:
    """The response as it can be asked about with `question`, and whether it had to be cut for that.

    Without a window nothing is ever cut. Raises RefusedError when the rest of the question leaves no room.
    """
    if window is None or len(question(response).encode()) <= window.tokens:
        return response, False

    def count(text: str) -> int:
        return len(window.encoder.encode(text))

    over = count(question(response)) - window.tokens
    if over <= 0:
        return response, False
    keep = count(response) - over
    while keep >= LEAST_TOKENS:
        shortened = cut_middle(response, keep, window.encoder, language=language)
        over = count(question(shortened)) - window.tokens
        if over <= 0:
            return shortened, True
        keep -= over
    raise RefusedError(
        f"the question leaves no room for the response: {window.tokens} tokens hold all but the reply"
    )


def cut_middle(text: str, tokens: int, encoder: Encoder, *, language: str = "en") -> str:
    """The first and the last half of `tokens` tokens, with a line between that counts what is missing."""
    places = encoder.offsets(text)
    head, tail = tokens - tokens // 2, tokens // 2
    start, end = text[: places[head - 1][1]], text[places[-tail][0] :]
    gap = _GAPS[template_language(language)].format(count=len(text) - len(start) - len(end))
    return f"{start}{gap}{end}"
