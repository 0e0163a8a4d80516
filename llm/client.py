"""An asynchronous client for OpenAI-compatible chat servers, over aiohttp.

Its only duties: send one request, tell the kinds of failure apart, and hand back what the server said.
Waiting, retrying and storing belong to the engine.
"""

from __future__ import annotations

import asyncio
import email.utils
import json
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import aiohttp

from llm.replay import ReplayClient, is_replay, open_replay, replay_path
from llm.reply import Reply
from llm.types import (
    ChatRequest,
    EndpointError,
    EndpointSettings,
    NoTokensError,
    RateLimitedError,
    RefusedError,
    RetryableError,
    SlowAnswerError,
    UnreachableError,
)

KEEP_ALIVE_SECONDS = 4.0
"""Below the five seconds after which vLLM's server closes an idle connection."""

SHOWN_CHARACTERS = 300
"""How much of an unexpected answer an error message quotes."""


class OpenAIChatClient:
    """Speaks to one endpoint. Raises the errors of `llm.types` and no others."""

    def __init__(self, endpoint: EndpointSettings, session: aiohttp.ClientSession) -> None:
        self._endpoint = endpoint
        self._session = session
        self._url = endpoint.base_url.rstrip("/") + "/chat/completions"

    async def complete(self, request: ChatRequest, seed: int) -> Reply:
        """One call. `seed` makes a sample repeatable on servers that honour it."""
        started = time.monotonic()
        try:
            async with self._session.post(
                self._url, json=request_body(request, self._endpoint, seed), allow_redirects=False
            ) as response:
                raw = await response.read()
                status, headers = response.status, response.headers
        except TimeoutError as error:
            raise SlowAnswerError(
                f"no answer from {self._url} in {self._endpoint.timeout:.0f} s", self._endpoint.timeout
            ) from error
        except aiohttp.InvalidURL as error:
            raise EndpointError(f"{self._url} is not an address: {error}") from error
        except (aiohttp.ClientConnectionError, aiohttp.ClientPayloadError, ConnectionError) as error:
            raise UnreachableError(f"no connection to {self._url}: {error}") from error
        except aiohttp.ClientError as error:
            raise EndpointError(f"{self._url} did not answer in HTTP: {error}") from error
        if status != 200:
            raise error_for_status(status, headers, raw, self._url)
        return read_reply(raw, self._url, latency_ms=round((time.monotonic() - started) * 1000))


@asynccontextmanager
async def open_client(endpoint: EndpointSettings) -> AsyncIterator[OpenAIChatClient | ReplayClient]:
    """A client whose connections (or file of stored calls) close with the block."""
    if is_replay(endpoint.base_url):
        with open_replay(replay_path(endpoint.base_url)) as client:
            yield client
        return
    headers = {"Authorization": f"Bearer {endpoint.api_key}"} if endpoint.api_key else {}
    connector = aiohttp.TCPConnector(limit=endpoint.max_in_flight, keepalive_timeout=KEEP_ALIVE_SECONDS)
    timeout = aiohttp.ClientTimeout(total=endpoint.timeout, connect=min(30.0, endpoint.timeout))
    async with aiohttp.ClientSession(connector=connector, timeout=timeout, headers=headers) as session:
        yield OpenAIChatClient(endpoint, session)
        await asyncio.sleep(0)


def request_body(request: ChatRequest, endpoint: EndpointSettings, seed: int) -> dict[str, Any]:
    """The JSON of a chat completion call; `structured_outputs` and `top_k` are vLLM's own fields."""
    sampling = request.sampling
    body: dict[str, Any] = {
        "model": endpoint.model,
        "messages": [{"role": m.role, "content": m.content} for m in request.messages],
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "seed": seed,
    }
    if sampling.top_k is not None:
        body["top_k"] = sampling.top_k
    if sampling.max_tokens is not None:
        body["max_tokens"] = sampling.max_tokens
    if request.structure is not None:
        body["structured_outputs"] = {"regex": request.structure.regex}
    return {**body, **endpoint.extra_body}


def read_reply(raw: bytes, url: str, latency_ms: int) -> Reply:
    """Reads a 200 answer; anything but a chat completion means that the address is wrong."""
    try:
        answer = json.loads(raw)
        choice = answer["choices"][0]
        content = choice["message"].get("content")
        usage = answer.get("usage") or {}
        if not content and usage.get("completion_tokens") == 0:
            raise NoTokensError(f"{url} answered 200 without a single token")
        return Reply(
            text=storable(content if isinstance(content, str) else ""),
            finish_reason=storable(str(choice.get("finish_reason") or ""))[:40],
            resolved_model=storable(str(answer.get("model") or ""))[:200],
            prompt_tokens=int(usage.get("prompt_tokens") or 0),
            completion_tokens=int(usage.get("completion_tokens") or 0),
            latency_ms=latency_ms,
        )
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError) as error:
        raise EndpointError(
            f"{url} answered 200, but not with a chat completion: {_shown(raw)!r}. "
            "Check that the address ends in /v1 and belongs to a model server."
        ) from error


def error_for_status(
    status: int, headers: Mapping[str, str], raw: bytes, url: str
) -> RetryableError | EndpointError | RefusedError:
    """The kind of failure that a status stands for, with the server's own words."""
    said = f"{url} answered {status}: {_message(raw)}"
    retry_after = parse_retry_after(headers.get("Retry-After", ""))
    if status == 429 or (status == 503 and retry_after is not None):
        return RateLimitedError(said, retry_after)
    if status in {408, 409, 425} or status >= 500:
        return RetryableError(said)
    if status in {401, 403}:
        return EndpointError(f"{said}. Check the key that the endpoint's variable holds.")
    if status in {404, 405} or status < 400:
        return EndpointError(f"{said}. Check the address and the model's name.")
    return RefusedError(said)


def parse_retry_after(value: str) -> float | None:
    """Seconds to wait from a Retry-After header: a number or an HTTP date; None when it says neither."""
    text = value.strip()
    try:
        return max(0.0, float(text))
    except ValueError:
        pass
    try:
        return max(0.0, email.utils.parsedate_to_datetime(text).timestamp() - time.time())
    except ValueError:
        return None


def storable(text: str) -> str:
    """The text with what Postgres cannot hold (NUL, lone surrogates) shown as U+FFFD."""
    cleaned = text.replace("\x00", "�")
    try:
        cleaned.encode("utf-8")
    except UnicodeEncodeError:
        pass
    else:
        return cleaned
    return cleaned.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _message(raw: bytes) -> str:
    try:
        answer = json.loads(raw)
    except ValueError:
        return _shown(raw)
    error = answer.get("error", answer) if isinstance(answer, dict) else answer
    said = error.get("message") if isinstance(error, dict) else error
    return storable(str(said or answer))[:SHOWN_CHARACTERS]


def _shown(raw: bytes) -> str:
    return storable(raw[: SHOWN_CHARACTERS * 2].decode("utf-8", "replace"))[:SHOWN_CHARACTERS]
