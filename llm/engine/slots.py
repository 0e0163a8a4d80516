"""A semaphore whose size can change while it is in use, which asyncio's cannot."""

from __future__ import annotations

import asyncio
from collections import deque


class Slots:
    """First come, first served. Made smaller, it takes nothing away: fewer are let in until it fits."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._held = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    def resize(self, size: int) -> None:
        self._size = size
        self._let_in()

    async def __aenter__(self) -> None:
        if self._held < self._size and not self._waiting:
            self._held += 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._give_back()
            raise

    async def __aexit__(self, *_: object) -> None:
        self._give_back()

    def _give_back(self) -> None:
        self._held -= 1
        self._let_in()

    def _let_in(self) -> None:
        while self._waiting and self._held < self._size:
            turn = self._waiting.popleft()
            if not turn.done():
                self._held += 1
                turn.set_result(None)
