"""Asking a server one short question, and what it says of itself: for the page of its endpoint.

Only the endpoint's own stored address is ever asked. Nothing of it is stored.
"""

from __future__ import annotations

import asyncio
import dataclasses
import re
from dataclasses import dataclass

import aiohttp

from llm.client import open_client
from llm.models import Endpoint
from llm.replay import is_replay
from llm.server_metrics import ServerMetrics, metrics_address, read_metrics
from llm.services import endpoint_settings
from llm.types import ChatMessage, ChatRequest, ModelError, SamplingParams, Structure

TEST_SECONDS, METRICS_SECONDS = 15.0, 3.0
"""How long somebody who looks at the page has to wait at most."""

LARGEST_METRICS = 4_000_000
"""Bytes of an answer that are read."""

QUESTION = "Name one city by the sea. Answer with its name alone."
FORM = Structure("[A-Z][a-z]{2,14}")


@dataclass(frozen=True, slots=True)
class Probe:
    """What came of the question; `error` says why nothing did. `constrained` says whether the reply kept to
    the form that was sent along, None where none was."""

    reply: str = ""
    resolved_model: str = ""
    latency_ms: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    constrained: bool | None = None
    error: str = ""

    @property
    def tokens_per_second(self) -> float | None:
        if not self.latency_ms or not self.completion_tokens:
            return None
        return 1000 * self.completion_tokens / self.latency_ms


def probe(endpoint: Endpoint) -> Probe:
    """Asks the server one question, with the form of constrained decoding where the endpoint has it on."""
    if is_replay(endpoint.base_url):
        return Probe(error="It answers from a file, and the file has no reply to a test question.")
    return asyncio.run(_ask(endpoint))


async def _ask(endpoint: Endpoint) -> Probe:
    settings = endpoint_settings(endpoint)
    settings = dataclasses.replace(settings, timeout=min(settings.timeout, TEST_SECONDS))
    request = ChatRequest(
        (ChatMessage("user", QUESTION),),
        "probe@1",
        SamplingParams(temperature=0.0, top_p=1.0, max_tokens=64),
        FORM if endpoint.constrained else None,
    )
    try:
        async with open_client(settings) as client:
            reply = await client.complete(request, seed=1)
    except ModelError as error:
        return Probe(error=str(error))
    return Probe(
        reply.text,
        reply.resolved_model,
        reply.latency_ms,
        reply.prompt_tokens,
        reply.completion_tokens,
        _keeps_to_form(reply.text) if endpoint.constrained else None,
    )


def _keeps_to_form(text: str) -> bool:
    return re.fullmatch(FORM.regex, text) is not None


def server_metrics(endpoint: Endpoint) -> ServerMetrics | None:
    """What the server reports, None for one that is not vLLM or does not answer in time."""
    if is_replay(endpoint.base_url):
        return None
    return asyncio.run(fetch_metrics(metrics_address(endpoint.base_url)))


async def fetch_metrics(address: str) -> ServerMetrics | None:
    """What the server at this address of /metrics reports; None as for `server_metrics`."""
    timeout = aiohttp.ClientTimeout(total=METRICS_SECONDS)
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.get(address, allow_redirects=False) as response,
        ):
            if response.status != 200:
                return None
            raw = await response.content.read(LARGEST_METRICS)
    except (aiohttp.ClientError, TimeoutError, OSError, ValueError):
        return None
    return read_metrics(raw.decode("utf-8", "replace"))
