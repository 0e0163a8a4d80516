"""Knowing which stored replies a step read, the unusable ones too. Pure but for the injected chat."""

from __future__ import annotations

from llm.types import Chat, ChatRequest, Completion


class RecordingChat:
    """Passes questions on to a chat and keeps the replies in the order in which they came."""

    def __init__(self, chat: Chat) -> None:
        self._chat = chat
        self.completions: list[Completion] = []

    @property
    def max_asks(self) -> int:
        return self._chat.max_asks

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of the stored replies."""
        return tuple(completion.key for completion in self.completions)

    async def __call__(self, request: ChatRequest) -> Completion:
        completion = await self._chat(request)
        self.completions.append(completion)
        return completion
