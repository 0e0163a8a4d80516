"""Group commit: what many tasks submit one by one is handled together."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

BUSY_SHARE, LONGEST_SPACING = 0.05, 0.25
"""The share of the time that handling takes, where batches need not be further apart than so many seconds."""

In = TypeVar("In")
Out = TypeVar("Out")


class Batcher(Generic[In, Out]):
    """Hands submitted values to `handle` in batches and each caller its own answer.

    While a batch is being handled the next one gathers, so batches grow with the load. A value waits for
    company for `linger` seconds, and longer after a batch that took long: handling is to take BUSY_SHARE of
    the time, unless `largest` values wait. `handle` answers in the order of its input; an
    answer that is an exception is raised in its caller alone.
    """

    def __init__(
        self,
        handle: Callable[[Sequence[In]], Awaitable[Sequence[Out | BaseException]]],
        *,
        linger: float,
        largest: int = 256,
    ) -> None:
        self._handle = handle
        self._linger = linger
        self._began_at = self._took = 0.0
        self._largest = largest
        self._waiting: list[tuple[In, asyncio.Future[Out]]] = []
        self._runner: asyncio.Task[None] | None = None

    async def submit(self, value: In) -> Out:
        future: asyncio.Future[Out] = asyncio.get_running_loop().create_future()
        self._waiting.append((value, future))
        if self._runner is None or self._runner.done():
            self._runner = asyncio.create_task(self._run())
        return await future

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        while self._waiting:
            if len(self._waiting) < self._largest:
                spacing = min(self._took / BUSY_SHARE, LONGEST_SPACING)
                await asyncio.sleep(max(self._linger, self._began_at + spacing - loop.time()))
            self._began_at = loop.time()
            batch, self._waiting = self._waiting[: self._largest], self._waiting[self._largest :]
            try:
                answers = await self._handle([value for value, _ in batch])
            except Exception as error:  # noqa: BLE001 (every caller of the batch gets it)
                answers = [error] * len(batch)
            self._took = loop.time() - self._began_at
            for (_, future), answer in zip(batch, answers, strict=True):
                if future.done():
                    continue
                if isinstance(answer, BaseException):
                    future.set_exception(answer)
                else:
                    future.set_result(answer)
