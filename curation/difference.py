"""What differs between a source and its reconstruction, for the eye. Pure, and bounded in time.

    two texts ─► tokens ─► windows ─► edit operations ─► tiny islands dissolved ─► runs of each text

A token is a word, a single character of a script without spaces, or a mark, with the space after it. Space
alone is never a difference.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

from rapidfuzz.distance import Indel

from llm.text import UNSPACED_RANGES

WINDOW_TOKENS = 12_000
"""Texts are compared in windows of at most so many tokens (ours). The work grows with the square of a window:
two texts of 8,000 segments fit into one, and take a few tenths of a second."""

TINY_LETTERS = 12
"""What is the same between two larger changes and has fewer letters counts as changed (ours): words like 'of
the' that happen to fall into line only make a difference hard to read."""

UNSPACED_SIZE = 3
"""Letters that a character of an unspaced script counts for."""

Run = tuple[str, bool]
"""A stretch of a text, and whether it is changed."""

_TOKEN = re.compile(rf"(?:[{UNSPACED_RANGES}]|(?:[^\W_{UNSPACED_RANGES}]|(?<=\w)['’-](?=\w))+|[^\s])\s*|\s+")
_UNSPACED = re.compile(f"[{UNSPACED_RANGES}]")


@dataclass(frozen=True, slots=True)
class Difference:
    """The runs of each side, in order; joined they are the exact text. Neighbours are never of one kind."""

    source: tuple[Run, ...]
    reconstruction: tuple[Run, ...]


class _Step(NamedTuple):
    """Tokens of both sides up to two places: the same on both, or changed. `letters` is the larger side's."""

    changed: bool
    source_end: int
    reconstruction_end: int
    letters: int


def difference(source: str, reconstruction: str) -> Difference:
    """Which parts of each text the other does not have.

    >>> difference("Write a short poem.", "Write a long poem.").reconstruction
    (('Write a ', False), ('long', True), (' poem.', False))
    """
    ones, others = _TOKEN.findall(source), _TOKEN.findall(reconstruction)
    steps = _dissolved(_joined(_steps(ones, others)))
    return Difference(
        _runs(ones, [(step.source_end, step.changed) for step in steps]),
        _runs(others, [(step.reconstruction_end, step.changed) for step in steps]),
    )


def _steps(ones: list[str], others: list[str]) -> Iterator[_Step]:
    """Windows are cut at the same shares of both texts: past one window, what moved far shows as changed."""
    count = max(1, -(-max(len(ones), len(others)) // WINDOW_TOKENS))
    sizes, other_sizes = _running_letters(ones), _running_letters(others)
    keys, other_keys = [token.rstrip() for token in ones], [token.rstrip() for token in others]
    for place in range(count):
        start, end = (len(ones) * each // count for each in (place, place + 1))
        other_start, other_end = (len(others) * each // count for each in (place, place + 1))
        for each in Indel.opcodes(keys[start:end], other_keys[other_start:other_end]):
            first, last = start + each.src_start, start + each.src_end
            other_first, other_last = other_start + each.dest_start, other_start + each.dest_end
            letters = max(sizes[last] - sizes[first], other_sizes[other_last] - other_sizes[other_first])
            yield _Step(each.tag != "equal", last, other_last, letters)


def _running_letters(tokens: list[str]) -> list[int]:
    """At each place, the letters of all tokens before it."""
    return list(accumulate(map(_letters, tokens), initial=0))


def _letters(token: str) -> int:
    return UNSPACED_SIZE if _UNSPACED.match(token) else sum(map(str.isalnum, token))


def _dissolved(steps: list[_Step]) -> list[_Step]:
    """An island that is tiny beside the changes around it becomes part of them.

    It is judged against the change to its left as that has grown, which dissolves rows of islands.
    """
    kept: list[_Step] = []
    for place, step in enumerate(steps):
        between = 0 < place < len(steps) - 1 and not step.changed
        island = between and step.letters < TINY_LETTERS
        beside = (kept[-1], steps[place + 1]) if island else ()
        dissolves = island and all(step.letters <= change.letters for change in beside)
        _append(kept, step._replace(changed=True) if dissolves else step)
    return kept


def _joined(steps: Iterable[_Step]) -> list[_Step]:
    kept: list[_Step] = []
    for step in steps:
        _append(kept, step)
    return kept


def _append(kept: list[_Step], step: _Step) -> None:
    """Makes one with the last step if both are of one kind."""
    if kept and kept[-1].changed == step.changed:
        kept[-1] = step._replace(letters=kept[-1].letters + step.letters)
    else:
        kept.append(step)


def _runs(tokens: list[str], ends: Iterable[tuple[int, bool]]) -> tuple[Run, ...]:
    """Stretches that are empty on this side fall out; what then stands side by side is one run. The space
    after a change belongs to what is unchanged."""
    runs: list[Run] = []
    start = 0
    for end, changed in ends:
        text = "".join(tokens[start:end])
        start = end
        if not text:
            continue
        if runs and runs[-1][1] == changed:
            runs[-1] = (runs[-1][0] + text, changed)
            continue
        if runs and runs[-1][1]:
            change = runs[-1][0].rstrip()
            if change:
                text = runs[-1][0][len(change) :] + text
                runs[-1] = (change, True)
        runs.append((text, changed))
    return tuple(runs)
