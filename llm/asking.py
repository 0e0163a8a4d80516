"""Asking a question until a reply can be read. Pure but for the injected chat."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TypeVar

from llm.text import answer_text
from llm.types import Chat, ChatRequest, Completion, UnusableReplyError

Reading = TypeVar("Reading")


async def ask(
    chat: Chat, request: ChatRequest, read: Callable[[str], Reading], *, allow_cut: bool = False
) -> tuple[Reading, Completion]:
    """Asks; reads the reply (think block taken off) with `read`; asks again while the reply is unusable.

    `read` raises `UnusableReplyError` to say why a reply cannot be used. So is a reply that a
    token limit broke off, however well it reads, unless `allow_cut` is set. After `chat.max_asks` such
    replies the last reason is raised, with the number of replies read.
    """
    problem = ""
    for attempt in range(chat.max_asks):
        completion = await chat(dataclasses.replace(request, attempt=attempt))
        try:
            if completion.cut and not allow_cut:
                raise UnusableReplyError(f"the reply was cut after {completion.completion_tokens} tokens")
            answer = answer_text(completion.text)
            if not answer:
                raise UnusableReplyError("the reply is empty")
            return read(answer), completion
        except UnusableReplyError as error:
            problem = str(error)
    raise UnusableReplyError(f"{request.template}: {problem} (replies read: {chat.max_asks})")
