"""Asking again until a reply can be read."""

import pytest

from llm.asking import ask
from llm.types import ChatMessage, ChatRequest, Completion, UnusableReplyError

QUESTION = ChatRequest((ChatMessage("user", "How many?"),), "count@1")


class Replies:
    """Answers attempt n with the n-th reply."""

    max_asks = 3

    def __init__(self, *texts: str) -> None:
        self.texts = texts
        self.attempts: list[int] = []

    async def __call__(self, request: ChatRequest) -> Completion:
        self.attempts.append(request.attempt)
        return Completion(f"key{request.attempt}", self.texts[request.attempt], "stop", "m", 1, 1)


def number(text: str) -> int:
    if not text.isdigit():
        raise UnusableReplyError(f"{text!r} is not a number")
    return int(text)


async def test_a_readable_reply_is_asked_for_once() -> None:
    chat = Replies("<think>count</think> 7")
    assert (await ask(chat, QUESTION, number))[0] == 7
    assert chat.attempts == [0]


async def test_unusable_and_empty_replies_are_asked_for_again() -> None:
    chat = Replies("many", "<think>nothing</think>", "3")
    value, completion = await ask(chat, QUESTION, number)
    assert (value, completion.key, chat.attempts) == (3, "key2", [0, 1, 2])


async def test_after_the_limit_the_last_reason_is_given() -> None:
    with pytest.raises(UnusableReplyError, match=r"count@1: 'lots' is not a number \(replies read: 3\)"):
        await ask(Replies("many", "few", "lots"), QUESTION, number)


async def test_a_reply_that_was_cut_is_unusable_unless_allowed() -> None:
    class Cut(Replies):
        async def __call__(self, request: ChatRequest) -> Completion:
            return Completion("key", "12", "length", "m", 1, 9)

    with pytest.raises(UnusableReplyError, match="cut after 9 tokens"):
        await ask(Cut(), QUESTION, number)
    assert (await ask(Cut(), QUESTION, number, allow_cut=True))[0] == 12
