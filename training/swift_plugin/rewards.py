"""Rewards of a batch of completions, by a judge that is asked about all of them at once.

completion ─► think block off ─► judge reads it against its row's rubric ─► reward in [0, 1]
                    │                            │
                    │ never closed: 0, no answer │ no usable reply, or none in time: fallback 0.4, counted
"""

from __future__ import annotations

import asyncio
import json
import math
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from llm.client import OpenAIChatClient, open_client
from llm.engine.batcher import Batcher
from llm.engine.chat import CallRoom, ItemChat, NewCall
from llm.engine.gate import Gate, HeldBackError
from llm.replay import ReplayClient
from llm.text import answer_text
from llm.types import Completion, EndpointSettings, ModelError, SamplingParams, UnusableReplyError
from rubrics.assessment import FALLBACK_REWARD, ItemScore
from rubrics.judging import assess_response
from rubrics.rubric import Rubric
from training.swift_plugin.settings import RewardSettings

JUDGING = SamplingParams(temperature=0.1, top_p=0.8)
"""As everywhere else where a judge reads a response against a rubric."""

ASKS = 3
"""Replies that are read before a completion gets the fallback."""

WINDOW, FEWEST = 256, 32
"""How many of the latest rewards the share of fallbacks is taken of, and how many there have to be."""


class RewardStoppedError(Exception):
    """Training must not go on with such rewards; the message says what to mend."""


@dataclass(frozen=True, slots=True)
class Rewarded:
    """One completion's reward; `failure` says why it is the fallback, or why there was nothing to judge."""

    value: float
    fallback: bool
    failure: str = ""
    items: tuple[ItemScore, ...] = ()


class RubricRewards:
    """Judges batches, one after the other, and remembers how many of the latest rewards were fallbacks."""

    def __init__(self, settings: RewardSettings) -> None:
        self._settings = settings
        self._latest: deque[bool] = deque(maxlen=WINDOW)
        self.step = 0

    async def score(
        self,
        completions: Sequence[str],
        rubrics: Sequence[str],
        *,
        ids: Sequence[str | int] | None = None,
        languages: Sequence[str] | None = None,
    ) -> list[float]:
        """Rewards in the order of `completions`, each finite and in [0, 1].

        `rubrics` are serialized, one for each completion. Raises RewardStoppedError when the judge serves
        nobody, or when fallbacks pass the limit; ValueError for a rubric that is none.
        """
        read = [Rubric.from_json(text) for text in rubrics]
        if len(read) != len(completions):
            raise ValueError(f"{len(completions)} completions and {len(read)} rubrics")
        rewarded = await self._judge(completions, read, languages or ["en"] * len(read))
        self._write(completions, read, ids or [""] * len(read), rewarded)
        self._latest.extend(each.fallback for each in rewarded)
        self._heed_fallbacks(rewarded)
        values = [each.value for each in rewarded]
        if not all(math.isfinite(value) and 0 <= value <= 1 for value in values):
            raise RewardStoppedError(f"a reward outside [0, 1]: {values}")
        return values

    async def _judge(
        self, completions: Sequence[str], rubrics: Sequence[Rubric], languages: Sequence[str]
    ) -> list[Rewarded]:
        judge = self._settings.judge
        async with open_client(judge) as client:
            gate = Gate(judge.max_in_flight)
            room = _room(judge, client, gate)
            tasks = [
                asyncio.create_task(_reward(text, rubric, language, ItemChat(room, ASKS)))
                for text, rubric, language in zip(completions, rubrics, languages, strict=True)
            ]
            done, late = await asyncio.wait(tasks, timeout=self._settings.deadline)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)
            await room.abandon()
            if gate.closed_because:
                raise RewardStoppedError(f"The judge serves nobody: {gate.closed_because}")
        in_time = f"no assessment within {self._settings.deadline:.0f} s"
        return [task.result() if task in done else _fallback(in_time) for task in tasks]

    def _heed_fallbacks(self, rewarded: Sequence[Rewarded]) -> None:
        share = sum(self._latest) / max(1, len(self._latest))
        if len(self._latest) >= FEWEST and share > self._settings.fallback_limit:
            last = next((each.failure for each in reversed(rewarded) if each.fallback), "")
            raise RewardStoppedError(
                f"{share:.0%} of the latest {len(self._latest)} rewards are the fallback of "
                f"{FALLBACK_REWARD}, more than the limit of {self._settings.fallback_limit:.0%}. Last: {last}"
            )

    def _write(
        self,
        completions: Sequence[str],
        rubrics: Sequence[Rubric],
        ids: Sequence[str | int],
        rewarded: Sequence[Rewarded],
    ) -> None:
        self.step += 1
        self._settings.assessments.parent.mkdir(parents=True, exist_ok=True)
        with self._settings.assessments.open("a", encoding="utf-8") as file:
            for text, rubric, row, each in zip(completions, rubrics, ids, rewarded, strict=True):
                line = {
                    "batch": self.step,
                    "at": round(time.time(), 3),
                    "id": row,
                    "rubric_digest": rubric.digest,
                    "reward": each.value,
                    "fallback": each.fallback,
                    "failure": each.failure,
                    "items": [asdict(item) for item in each.items],
                    "completion": text.encode("utf-8", "replace").decode(),
                }
                file.write(json.dumps(line, ensure_ascii=False) + "\n")


async def _reward(text: str, rubric: Rubric, language: str, chat: ItemChat) -> Rewarded:
    try:
        response = answer_text(text)
    except UnusableReplyError as error:
        return Rewarded(0.0, fallback=False, failure=f"no answer: {error}")
    try:
        outcome = await assess_response(response, rubric, chat, JUDGING, language=language)
    except (ModelError, HeldBackError) as error:
        return _fallback(str(error) or "the judge serves nobody")
    if outcome.reward is None or outcome.reward.fallback:
        return _fallback("no usable assessment")
    return Rewarded(outcome.reward.value, fallback=False, items=outcome.items)


def _fallback(failure: str) -> Rewarded:
    return Rewarded(FALLBACK_REWARD, fallback=True, failure=failure)


def _room(judge: EndpointSettings, client: OpenAIChatClient | ReplayClient, gate: Gate) -> CallRoom:
    """The engine's way of asking, with its retries, over a store that keeps nothing."""
    lookup: Batcher[str, Completion | None] = Batcher(_not_stored, linger=0)
    return CallRoom(judge, client, gate, lookup, Batcher(_read, linger=0), lambda: None)


async def _not_stored(keys: Sequence[str]) -> Sequence[None]:
    return [None] * len(keys)


async def _read(calls: Sequence[NewCall]) -> Sequence[Completion]:
    return [
        Completion(
            call.key,
            call.reply.text,
            call.reply.finish_reason,
            call.reply.resolved_model,
            call.reply.prompt_tokens,
            call.reply.completion_tokens,
        )
        for call in calls
    ]
