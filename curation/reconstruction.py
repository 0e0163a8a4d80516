"""Both reconstruction strategies, as a plan and as a conversation with an injected chat. Pure.

    source ─► rewrite ─► (length recovery only: enrichment, up to six times while too short) ─► reconstruction

The method is the paper's 3.3 and A.1, the instructions are its G.1 in our words (`prompts/`). Where the paper
counts segments, the length policy of the row decides what is counted (`llm.text.count_length`).
"""

from __future__ import annotations

import dataclasses
import heapq
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Literal

from llm.asking import ask
from llm.prompts import fence, load_template
from llm.text import LengthPolicy, count_characters, count_length
from llm.types import Chat, ChatRequest, SamplingParams, Structure, UnusableReplyError

MAX_SOURCE_SEGMENTS = 8000
"""Longer sources are left out: in whitespace-delimited segments (A.1), or units of the length policy."""

RECOVERY_RATIO = Fraction(3, 4)
"""A reconstruction with at most this share of its source's length is enriched (A.1)."""

MAX_ENRICHMENTS = 6
"""Enrichment calls that one reconstruction may use (A.1)."""

MIN_REPLY_TOKENS, MAX_REPLY_TOKENS = 512, 16_384
"""Bounds on the room given to one reply (ours)."""

MIN_REPLY_CHARACTERS, MAX_BOUNDED_CHARACTERS = 80, 1500
"""Where a constrained decoder is held to a length: never under the first, and not at all past the second,
because long counted repetitions are slow to compile (ours)."""


class Strategy(StrEnum):
    LENGTH_AWARE = "length_aware"
    LENGTH_RECOVERY = "length_recovery"


Attempt = tuple[int, Strategy]
"""Index of a reconstruction within its source, and its strategy."""


@dataclass(frozen=True, slots=True)
class PlannedReconstruction:
    source_id: int
    index: int
    strategy: Strategy


@dataclass(frozen=True, slots=True)
class Draft:
    """One reply on the way to a reconstruction; `completion_key` names the stored call that holds it.

    `segments` is its length in the units of the policy that it was made under.
    """

    kind: Literal["rewrite", "enrichment"]
    text: str
    characters: int
    segments: int
    completion_key: str


@dataclass(frozen=True, slots=True)
class ReconstructionOutcome:
    """`text` is the text of the longest draft: with one draft, of the rewrite itself."""

    text: str
    drafts: tuple[Draft, ...]


def exceeds_source_limit(source_text: str, policy: LengthPolicy = LengthPolicy.PAPER) -> bool:
    """Whether a source is too long to be reconstructed (A.1)."""
    return count_length(source_text, policy) > MAX_SOURCE_SEGMENTS


def is_too_short(segments: int, source_segments: int) -> bool:
    """Whether a reconstruction needs enrichment; exactly three quarters still does (A.1)."""
    return segments <= RECOVERY_RATIO * source_segments


# Planning


def plan_strategies(
    source_ids: Iterable[int],
    per_source: int,
    seed: int,
    existing: Mapping[int, Sequence[Attempt]] | None = None,
) -> list[PlannedReconstruction]:
    """What has to be made so that every source has `per_source` reconstructions, 1:1 by strategy (A.1).

    The two strategies' counts over the plan and everything in `existing` differ by at most one, as far as
    the places left allow; within that, each source is as even as it can be. The same arguments give the
    same plan, whatever the order of `source_ids`. Indices already taken are not used again.
    """
    existing = existing or {}
    sources = sorted(set(source_ids))
    missing = {source: max(0, per_source - len(existing.get(source, ()))) for source in sources}
    aware = _length_aware_counts(missing, existing, seed)
    plan: list[PlannedReconstruction] = []
    for source in sources:
        taken = {index for index, _ in existing.get(source, ())}
        free = [index for index in range(missing[source] + len(taken)) if index not in taken]
        recovery = missing[source] - aware[source]
        strategies = [Strategy.LENGTH_AWARE] * aware[source] + [Strategy.LENGTH_RECOVERY] * recovery
        random.Random(f"{seed}:{source}").shuffle(strategies)  # noqa: S311 - an allocation, not a secret
        pairs = zip(free, strategies, strict=False)
        plan.extend(PlannedReconstruction(source, index, strategy) for index, strategy in pairs)
    return plan


def _length_aware_counts(
    missing: Mapping[int, int], existing: Mapping[int, Sequence[Attempt]], seed: int
) -> dict[int, int]:
    """How many of each source's missing reconstructions are length-aware.

    Each source starts as even as it can be, odd ones one short; then single places change sides, always
    where the source suffers least, until the whole is even.
    """
    surplus = {source: _surplus(attempts) for source, attempts in existing.items()}
    aware, balance = {}, {}
    for source, count in missing.items():
        given = surplus.pop(source, 0)
        aware[source] = min(count, max(0, (count - given) // 2))
        balance[source] = given + 2 * aware[source] - count
    total = sum(balance.values()) + sum(surplus.values())
    step = 1 if total < 0 else -1
    shuffled = sorted(missing)
    random.Random(seed).shuffle(shuffled)  # noqa: S311 - an allocation, not a secret
    queue = [(abs(balance[source] + 2 * step), rank, source) for rank, source in enumerate(shuffled)]
    heapq.heapify(queue)
    while queue and abs(total) > 1:
        _, rank, source = heapq.heappop(queue)
        if not 0 <= aware[source] + step <= missing[source]:
            continue
        aware[source] += step
        balance[source] += 2 * step
        total += 2 * step
        heapq.heappush(queue, (abs(balance[source] + 2 * step), rank, source))
    return aware


def _surplus(attempts: Iterable[Attempt]) -> int:
    """Length-aware reconstructions less those with length recovery."""
    return sum(1 if strategy == Strategy.LENGTH_AWARE else -1 for _, strategy in attempts)


# Asking


async def reconstruct(
    source_text: str,
    strategy: Strategy,
    chat: Chat,
    sampling: SamplingParams,
    *,
    index: int = 0,
    policy: LengthPolicy = LengthPolicy.PAPER,
) -> ReconstructionOutcome:
    """Rewrites one source prompt, and enriches the rewrite while it is too short if the strategy says so.

    `index` tells apart reconstructions of one source, which would otherwise share their stored calls. A
    `max_tokens` in `sampling` is kept; without one the room follows from the length. An enrichment that
    is not longer than the text it was given is kept as a draft and the longer text goes on. A reply that
    was cut at its token limit is unusable. `policy` counts both texts. Raises `UnusableReplyError` when a
    rewrite or an enrichment cannot be had.
    """
    current = await _rewrite(source_text, chat, sampling, index, policy)
    drafts = [current]
    if strategy is Strategy.LENGTH_RECOVERY:
        source_segments = count_length(source_text, policy)
        while is_too_short(current.segments, source_segments) and len(drafts) <= MAX_ENRICHMENTS:
            sample_index = index * (MAX_ENRICHMENTS + 1) + len(drafts)
            draft = await _enrich(current.text, source_text, chat, sampling, sample_index, policy)
            drafts.append(draft)
            current = max(current, draft, key=lambda one: (one.segments, one.characters))
    return ReconstructionOutcome(current.text, tuple(drafts))


async def _rewrite(
    source_text: str, chat: Chat, sampling: SamplingParams, index: int, policy: LengthPolicy
) -> Draft:
    template = load_template("curation", "reconstruct", 1)
    characters = count_characters(source_text)
    marker = fence("query", source_text)

    def read(reply: str) -> str:
        if reply.split() == source_text.split():
            raise UnusableReplyError("the reply is the original request again")
        return _without_marker(reply, marker)

    request = ChatRequest(
        messages=template.render(query=source_text, characters=str(characters)),
        template=template.identity,
        sampling=_with_room(sampling, source_text),
        structure=_bounded_reply(characters // 3, characters * 3 // 2),
        sample_index=index,
    )
    text, completion = await ask(chat, request, read)
    return _draft("rewrite", text, completion.key, policy)


async def _enrich(
    text: str,
    source_text: str,
    chat: Chat,
    sampling: SamplingParams,
    sample_index: int,
    policy: LengthPolicy,
) -> Draft:
    template = load_template("curation", "enrich", 1)
    characters = count_characters(text)
    longest = max(characters * 2, count_characters(source_text) * 3 // 2)
    marker = fence("query", text)
    request = ChatRequest(
        messages=template.render(query=text, characters=str(characters)),
        template=template.identity,
        sampling=_with_room(sampling, max(source_text, text * 2, key=len)),
        structure=_bounded_reply(characters + 1, longest),
        sample_index=sample_index,
    )
    longer, completion = await ask(chat, request, lambda reply: _without_marker(reply, marker))
    return _draft("enrichment", longer, completion.key, policy)


def _without_marker(reply: str, marker: str) -> str:
    """The reply as it is; one that carries the template's own marker line answers no one's request."""
    if marker in reply:
        raise UnusableReplyError("the reply repeats the markers around the request it was given")
    return reply


def _draft(
    kind: Literal["rewrite", "enrichment"], text: str, completion_key: str, policy: LengthPolicy
) -> Draft:
    return Draft(kind, text, count_characters(text), count_length(text, policy), completion_key)


def _with_room(sampling: SamplingParams, text: str) -> SamplingParams:
    """Room for a reply of the text's length several times over: a token for each of its UTF-8 bytes.

    That is about four times what Qwen3 needs, in English and in Chinese, and enough for tokenizers that
    fall back to bytes.
    """
    if sampling.max_tokens is not None:
        return sampling
    size = len(text.encode("utf-8", "surrogatepass"))
    return dataclasses.replace(sampling, max_tokens=min(max(size, MIN_REPLY_TOKENS), MAX_REPLY_TOKENS))


def _bounded_reply(shortest: int, longest: int) -> Structure | None:
    """Keeps a constrained decoder's reply between two lengths in characters; None where that is too long.

    Only small models need it, to end in time; a long source is matched by instruction alone.
    """
    shortest = max(shortest, MIN_REPLY_CHARACTERS)
    longest = max(longest, 2 * shortest)
    if longest > MAX_BOUNDED_CHARACTERS:
        return None
    return Structure(rf"\S[\s\S]{{{shortest - 1},{longest - 1}}}")
