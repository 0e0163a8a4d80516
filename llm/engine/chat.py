"""The chat that steps are given: replays stored calls, makes the missing ones, stores before returning."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable

from llm.client import OpenAIChatClient
from llm.engine.batcher import Batcher
from llm.engine.gate import Gate
from llm.replay import ReplayClient
from llm.reply import Reply
from llm.types import ChatRequest, Completion, EndpointSettings, ModelError, RateLimitedError


@dataclasses.dataclass(frozen=True, slots=True)
class NewCall:
    """A call that has just been answered and is not stored yet."""

    key: str
    request: ChatRequest
    reply: Reply


class CallRoom:
    """What all items of one worker share: the client, the gate, and the way to the store."""

    def __init__(
        self,
        endpoint: EndpointSettings,
        client: OpenAIChatClient | ReplayClient,
        gate: Gate,
        lookup: Batcher[str, Completion | None],
        store: Batcher[NewCall, Completion],
        on_replay: Callable[[], None],
    ) -> None:
        self._endpoint = endpoint
        self._client = client
        self._gate = gate
        self._lookup = lookup
        self._store = store
        self._on_replay = on_replay
        self._calls: set[asyncio.Task[Completion]] = set()

    async def call(self, request: ChatRequest) -> Completion:
        request = fit(request, self._endpoint)
        key = request.key(self._endpoint.identity)
        stored = await self._lookup.submit(key)
        if stored is not None:
            self._on_replay()
            return stored
        # A task of its own, shielded: a step that gives up must not break off a call already paid for.
        call = asyncio.create_task(self._make(request, key))
        self._calls.add(call)
        call.add_done_callback(self._forget)
        return await asyncio.shield(call)

    async def settle(self) -> None:
        """Waits until every call in flight is stored."""
        while self._calls:
            await asyncio.wait(set(self._calls))

    async def abandon(self) -> None:
        """Breaks off every call in flight."""
        calls = set(self._calls)
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)

    def _forget(self, call: asyncio.Task[Completion]) -> None:
        self._calls.discard(call)
        if not call.cancelled():
            call.exception()

    async def _make(self, request: ChatRequest, key: str) -> Completion:
        tries = waits = 0
        while True:
            async with self._gate.slot():
                try:
                    reply = await self._client.complete(request, seed=seed_of(key))
                except ModelError as error:
                    failure = error
                else:
                    self._gate.answered()
                    return await self._store.submit(NewCall(key, request, reply))
            rate_limited = isinstance(failure, RateLimitedError)
            delay = self._gate.failed(key, failure, waits if rate_limited else tries)
            waits, tries = (waits + 1, tries) if rate_limited else (waits, tries + 1)
            await self._gate.pause(delay)


class ItemChat:
    """`llm.types.Chat` for one item; a person's retry of the item allows it as many replies again."""

    def __init__(self, room: CallRoom, max_asks: int) -> None:
        self._room = room
        self.max_asks = max_asks

    async def __call__(self, request: ChatRequest) -> Completion:
        return await self._room.call(request)


def fit(request: ChatRequest, endpoint: EndpointSettings) -> ChatRequest:
    """The request as this endpoint will be sent it: the key must name what was really asked."""
    limits = [n for n in (request.sampling.max_tokens, endpoint.max_output_tokens) if n is not None]
    sampling = dataclasses.replace(request.sampling, max_tokens=min(limits, default=None))
    structure = request.structure if endpoint.constrained else None
    return dataclasses.replace(request, sampling=sampling, structure=structure)


def seed_of(key: str) -> int:
    """A seed below 2^31 that differs between samples of one question."""
    return int(key[:8], 16) & 0x7FFFFFFF
