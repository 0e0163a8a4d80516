"""The client against real HTTP answers: every kind of failure under its own name."""

from __future__ import annotations

import asyncio
import email.utils
import json
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from llm.client import open_client, parse_retry_after, request_body, storable
from llm.reply import Reply
from llm.types import (
    ChatMessage,
    ChatRequest,
    EndpointError,
    EndpointSettings,
    ModelError,
    RateLimitedError,
    RefusedError,
    RetryableError,
    SamplingParams,
    SlowAnswerError,
    Structure,
    UnreachableError,
)

REQUEST = ChatRequest((ChatMessage("user", "写一首诗"),), "t@1", SamplingParams(0.7, 0.8, 20, 64))
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


async def ask(handler: Handler, seconds: float = 5.0, **endpoint: Any) -> Reply:
    app = web.Application()
    app.router.add_post("/v1/chat/completions", handler)
    async with TestServer(app) as server:
        settings = EndpointSettings(f"http://127.0.0.1:{server.port}/v1", "m", timeout=seconds, **endpoint)
        async with open_client(settings) as client:
            return await client.complete(REQUEST, seed=1)


def answering(status: int, body: str, content_type: str = "application/json", **headers: str) -> Handler:
    async def handler(request: web.Request) -> web.StreamResponse:
        await request.read()
        return web.Response(status=status, text=body, content_type=content_type, headers=headers)

    return handler


def completion(content: Any, **extra: Any) -> str:
    choice = {"message": {"content": content}, "finish_reason": "stop"}
    return json.dumps({"model": "m-2026", "choices": [choice], **extra})


async def test_a_reply_with_its_provenance() -> None:
    usage = {"prompt_tokens": 11, "completion_tokens": 5}
    reply = await ask(answering(200, completion("春眠不觉晓", usage=usage)))
    assert (reply.text, reply.resolved_model, reply.finish_reason) == ("春眠不觉晓", "m-2026", "stop")
    assert (reply.prompt_tokens, reply.completion_tokens) == (11, 5)


async def test_what_is_sent() -> None:
    seen: dict[str, Any] = {}

    async def handler(request: web.Request) -> web.StreamResponse:
        seen.update(await request.json(), authorization=request.headers.get("Authorization"))
        return web.json_response(text=completion("x"))

    await ask(handler, api_key="secret", extra_body={"chat_template_kwargs": {"enable_thinking": False}})
    assert seen["messages"] == [{"role": "user", "content": "写一首诗"}]
    assert (seen["temperature"], seen["top_p"], seen["top_k"], seen["max_tokens"]) == (0.7, 0.8, 20, 64)
    assert seen["chat_template_kwargs"] == {"enable_thinking": False}
    assert seen["authorization"] == "Bearer secret"


def test_a_structure_becomes_vllms_field() -> None:
    request = ChatRequest(REQUEST.messages, "t@1", structure=Structure("a{3}"))
    body = request_body(request, EndpointSettings("http://x/v1", "m"), seed=1)
    assert body["structured_outputs"] == {"regex": "a{3}"}


@pytest.mark.parametrize("content", [None, "", 3])
async def test_no_content_is_an_empty_reply_for_the_asker_to_refuse(content: Any) -> None:
    assert (await ask(answering(200, completion(content)))).text == ""


async def test_what_postgres_cannot_hold_is_shown_as_replaced() -> None:
    assert (await ask(answering(200, completion("a\x00b\ud800c😀")))).text == "a�b�c😀"
    assert storable("\ud83d\ude00") == "😀"


@pytest.mark.parametrize(
    ("status", "body", "kind", "said"),
    [
        (400, '{"error": {"message": "maximum context length is 8192 tokens"}}', RefusedError, "8192"),
        (422, '{"message": "temperature"}', RefusedError, "temperature"),
        (401, '{"error": "no key"}', EndpointError, "no key"),
        (403, "{}", EndpointError, "key"),
        (404, '{"error": {"message": "model x does not exist"}}', EndpointError, "model x"),
        (307, "", EndpointError, "address"),
        (500, "<html>oops</html>", RetryableError, "oops"),
        (503, "", RetryableError, "503"),
        (200, "<html><body>Welcome</body></html>", EndpointError, "Welcome"),
        (200, '{"choices": []}', EndpointError, "chat completion"),
        (200, "[" * 100_000, EndpointError, "chat completion"),
        (200, "\x00\x01", EndpointError, "chat completion"),
    ],
)
async def test_each_answer_has_its_kind(status: int, body: str, kind: type[ModelError], said: str) -> None:
    with pytest.raises(ModelError) as caught:
        await ask(answering(status, body, "text/html"))
    assert type(caught.value) is kind
    assert said in str(caught.value)


async def test_a_429_carries_the_servers_wish() -> None:
    handler = answering(429, "{}", **{"Retry-After": "12"})
    with pytest.raises(RateLimitedError) as caught:
        await ask(handler)
    assert caught.value.retry_after == 12.0


def test_retry_after_in_its_two_forms() -> None:
    assert parse_retry_after("1.5") == 1.5
    soon = email.utils.formatdate(time.time() + 30, usegmt=True)
    assert parse_retry_after(soon) == pytest.approx(30, abs=2)
    assert parse_retry_after("soon") is None
    assert parse_retry_after("") is None


async def test_a_server_that_never_answers() -> None:
    async def handler(request: web.Request) -> web.StreamResponse:
        await asyncio.sleep(30)
        return web.Response()

    with pytest.raises(SlowAnswerError, match="no answer"):
        await ask(handler, seconds=0.2)


async def test_a_server_that_breaks_off() -> None:
    async def handler(request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        request.transport.abort()
        return web.Response()

    with pytest.raises(UnreachableError):
        await ask(handler)


@pytest.fixture
async def unused_address() -> str:
    async with TestServer(web.Application()) as server:
        port = server.port
    return f"http://127.0.0.1:{port}/v1"


async def test_nobody_at_the_address(unused_address: str) -> None:
    async with open_client(EndpointSettings(unused_address, "m", timeout=5)) as client:
        with pytest.raises(UnreachableError, match="no connection"):
            await client.complete(REQUEST, seed=1)


@pytest.mark.parametrize("address", ["nonsense", "ftp://x/v1", "http://"])
async def test_an_address_that_is_none(address: str) -> None:
    async with open_client(EndpointSettings(address, "m", timeout=5)) as client:
        with pytest.raises((EndpointError, UnreachableError)):
            await client.complete(REQUEST, seed=1)
