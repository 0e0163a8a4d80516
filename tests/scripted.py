"""A chat that answers from a script: the one place where tests stand in for a model.

    chat = ScriptedChat([
        (("reconstruct", "lighthouse"), "A new request."),        # template name, part of what is asked
        ("enrich", [cut("A longer"), "A longer request."]),        # one reply for each attempt
        (lambda request: request.sampling.temperature == 0, {0: "first sample", 1: "second sample"}),
    ])

The first rule that fits a request answers it. A request that no rule fits, or that asks for an attempt or a
sample that its rule has no reply for, raises AssertionError.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from llm.types import MAX_ASKS, ChatRequest, Completion, ModelError

MODEL = "scripted-model"


@dataclass(frozen=True)
class ScriptedReply:
    text: str
    finish_reason: str = "stop"


def cut(text: str) -> ScriptedReply:
    """A reply that a token limit broke off."""
    return ScriptedReply(text, "length")


Matcher = str | tuple[str, str] | Callable[[ChatRequest], bool]
"""A template's name without its version, that and a part of the messages' text, or a predicate."""

Reply = str | ScriptedReply | ModelError | Callable[[ChatRequest], "Reply"]
"""What is said: a text, a reply, an error that is raised, or a function of the request that gives one."""

Replies = Reply | Sequence[Reply] | Mapping[int, Reply | Sequence[Reply]]
"""One for every request, or a sequence by attempt, or a mapping by sample index to either."""


class ScriptedChat:
    """An `llm.types.Chat`; `requests` holds what was asked, in order."""

    def __init__(
        self, rules: Mapping[str, Replies] | Sequence[tuple[Matcher, Replies]], *, max_asks: int = MAX_ASKS
    ) -> None:
        self.rules: list[tuple[Matcher, Replies]] = list(
            rules.items() if isinstance(rules, Mapping) else rules
        )
        self.max_asks = max_asks
        self.requests: list[ChatRequest] = []

    async def __call__(self, request: ChatRequest) -> Completion:
        self.requests.append(request)
        reply = self._reply(request)
        asked = sum(len(message.content.split()) for message in request.messages)
        return Completion(
            key=request.key(MODEL),
            text=reply.text,
            finish_reason=reply.finish_reason,
            resolved_model=MODEL,
            prompt_tokens=asked,
            completion_tokens=len(reply.text.split()),
        )

    def asked(self, template: str) -> list[ChatRequest]:
        """The requests made from one template, named without its version."""
        return [request for request in self.requests if _template(request) == template]

    def _reply(self, request: ChatRequest) -> ScriptedReply:
        replies = next((replies for matcher, replies in self.rules if _fits(matcher, request)), None)
        if replies is None:
            raise AssertionError(f"no rule for {request.template}: {_text(request)[:400]!r}")
        if isinstance(replies, Mapping):
            if request.sample_index not in replies:
                raise AssertionError(f"{request.template}: no reply for sample {request.sample_index}")
            replies = replies[request.sample_index]
        if isinstance(replies, Sequence) and not isinstance(replies, str):
            if request.attempt >= len(replies):
                raise AssertionError(f"{request.template}: no reply for attempt {request.attempt}")
            replies = replies[request.attempt]
        return _spoken(replies, request)


def _spoken(reply: Reply, request: ChatRequest) -> ScriptedReply:
    if isinstance(reply, ModelError):
        raise reply
    if isinstance(reply, str):
        return ScriptedReply(reply)
    return reply if isinstance(reply, ScriptedReply) else _spoken(reply(request), request)


def _fits(matcher: Matcher, request: ChatRequest) -> bool:
    if isinstance(matcher, str):
        return _template(request) == matcher
    if isinstance(matcher, tuple):
        name, part = matcher
        return _template(request) == name and part in _text(request)
    return matcher(request)


def _template(request: ChatRequest) -> str:
    return request.template.partition("@")[0]


def _text(request: ChatRequest) -> str:
    return "\n".join(message.content for message in request.messages)
