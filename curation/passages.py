"""The passages that two texts share, for the eye: the token trigrams that occur in both, as spans. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

Trigram = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of a text, in characters."""

    start: int
    end: int


def shared_passages(
    text: str,
    sample: str,
    encode: Callable[[str], Sequence[int]],
    offsets: Callable[[str], Sequence[tuple[int, int]]],
) -> tuple[list[Span], list[Span]]:
    """The spans of `text` and of `sample` that trigrams of the other cover; those that touch are one."""
    ids, others = encode(text), encode(sample)
    shared = set(_trigrams(ids)) & set(_trigrams(others))
    return _covered(ids, offsets(text), shared), _covered(others, offsets(sample), shared)


def marked_runs(text: str, spans: Sequence[Span]) -> list[tuple[str, bool]]:
    """The text as (stretch, inside a span?); the stretches join to the exact text."""
    runs: list[tuple[str, bool]] = []
    place = 0
    for span in spans:
        runs += [(text[place : span.start], False), (text[span.start : span.end], True)]
        place = span.end
    runs.append((text[place:], False))
    return [run for run in runs if run[0]]


def _trigrams(ids: Sequence[int]) -> list[Trigram]:
    return list(zip(ids, ids[1:], ids[2:], strict=False))


def _covered(
    ids: Sequence[int], offsets: Sequence[tuple[int, int]], shared: Collection[Trigram]
) -> list[Span]:
    spans: list[Span] = []
    for place, trigram in enumerate(_trigrams(ids)):
        if trigram not in shared:
            continue
        start, end = offsets[place][0], offsets[place + 2][1]
        if spans and start <= spans[-1].end:
            spans[-1] = Span(spans[-1].start, max(end, spans[-1].end))
        else:
            spans.append(Span(start, end))
    return spans
