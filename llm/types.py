"""What is said to a model and what comes back: values only, no Django, no I/O.

Every step of the method is written against `Chat`, so that it runs the same over a real server, over
stored calls, or over a scripted conversation in a test.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

MAX_ASKS = 3
"""How many replies to one question may be unusable before its item fails. Ours: the paper names no number."""


@dataclass(frozen=True, slots=True)
class ChatMessage:
    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class SamplingParams:
    """Decoding settings sent with a call; `max_tokens` counts new tokens, None leaves it to the server."""

    temperature: float = 0.7
    top_p: float = 0.8
    top_k: int | None = None
    max_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Structure:
    """The form that a constrained decoder must keep to: a regular expression over the whole reply.

    Sent only to endpoints that have constrained decoding switched on; everywhere else the template
    alone asks for the form and the parser checks it.
    """

    regex: str


@dataclass(frozen=True, slots=True)
class EndpointSettings:
    """Where and how to ask. `timeout` in seconds for a whole call; token counts as the server counts them."""

    base_url: str
    model: str
    api_key: str = ""
    timeout: float = 600.0
    max_in_flight: int = 32
    max_output_tokens: int | None = None
    constrained: bool = False
    extra_body: Mapping[str, Any] = field(default_factory=dict)

    @property
    def identity(self) -> str:
        """The model and what is sent with every call: what a stored call's key is made with."""
        if not self.extra_body:
            return self.model
        return f"{self.model} {json.dumps(dict(self.extra_body), sort_keys=True)}"


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """One question to a model.

    `template` is the identity of the prompt template, as 'name@version'. `sample_index` tells apart
    answers wanted to the same question (the five candidates); `attempt` counts the times that it was
    asked again because a reply was unusable.
    """

    messages: tuple[ChatMessage, ...]
    template: str
    sampling: SamplingParams = field(default_factory=SamplingParams)
    structure: Structure | None = None
    sample_index: int = 0
    attempt: int = 0

    def key(self, model: str) -> str:
        """Identity of the call (32 hexadecimal digits): equal questions to equal models share one answer."""
        identity = [
            model,
            self.template,
            [[m.role, m.content] for m in self.messages],
            [self.sampling.temperature, self.sampling.top_p, self.sampling.top_k, self.sampling.max_tokens],
            self.structure.regex if self.structure else None,
            self.sample_index,
            self.attempt,
        ]
        canonical = json.dumps(identity, ensure_ascii=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode("ascii")).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class Completion:
    """One stored reply. `key` names the stored row; `text` is the raw reply, think blocks and all."""

    key: str
    text: str
    finish_reason: str
    resolved_model: str
    prompt_tokens: int
    completion_tokens: int
    latency_ms: int = 0

    @property
    def cut(self) -> bool:
        """The server stopped at a token limit, so the text ends where the limit fell."""
        return self.finish_reason == "length"


class Chat(Protocol):
    """Asks a model and stores the reply before returning it; replays a stored reply instead of asking twice.

    `max_asks` is how many replies to one question may be read before the item fails.
    """

    @property
    def max_asks(self) -> int: ...

    async def __call__(self, request: ChatRequest) -> Completion: ...


class ModelError(Exception):
    """A call that gave no usable reply; `kind` groups failures on a run's page."""

    kind = "error"


class RetryableError(ModelError):
    """The same call may go through later: a full queue, a 5xx, a lost connection, no answer in time."""

    kind = "server"


class RateLimitedError(RetryableError):
    """429; `retry_after` is the server's wish in seconds, None when it gave none."""

    kind = "rate limit"

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class UnreachableError(RetryableError):
    """No connection could be made or it broke before an answer."""

    kind = "connection"


class NoTokensError(RetryableError):
    """An answer of 200 without a single token: the server is up and its engine is not."""

    kind = "no tokens"


class SlowAnswerError(RetryableError):
    """No answer within the endpoint's time limit, `waited` seconds."""

    kind = "timeout"

    def __init__(self, message: str, waited: float = 0.0) -> None:
        super().__init__(message)
        self.waited = waited


class RefusedError(ModelError):
    """The server will not answer this request however often it is sent (context too long, bad request)."""

    kind = "refused"


class EndpointError(ModelError):
    """Nothing sent to this endpoint can succeed until someone changes it (401, 403, a page of HTML)."""

    kind = "endpoint"


class UnusableReplyError(ModelError):
    """The replies were read and none had the form asked for; the raw replies are kept."""

    kind = "unusable reply"
