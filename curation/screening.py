"""Overlap of a text with held-out samples, in trigrams of tokens. Exact, and pure but for the encoder.

The rule is the paper's 3.3: a candidate is contaminated when the trigrams it shares with any one sample are
at least a tenth of that sample's distinct trigrams.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

CONTAMINATION_THRESHOLD = Fraction(1, 10)
"""Share of a sample's distinct trigrams at which a candidate is discarded (3.3)."""

_ID_BITS = 21  # three ids fit one 64-bit key


@dataclass(frozen=True, slots=True)
class ScreeningResult:
    """The worst match: `shared` of the `total` distinct trigrams of sample `sample_id`.

    `overlap` is their ratio, from 0 to 1. With nothing shared `sample_id` is None and both counts are 0.
    """

    overlap: float
    sample_id: str | None
    contaminated: bool
    shared: int
    total: int


class TrigramIndex:
    """Held-out samples, ready to screen against.

    `samples` maps ids to texts. A sample under three tokens has no trigram and never matches. Of samples
    with equal overlap the first in the mapping is named. `encode` gives token ids from 0 to 2,097,151;
    ValueError for others.
    """

    def __init__(
        self,
        samples: Mapping[str, str],
        encode: Callable[[str], Sequence[int]],
        *,
        threshold: Fraction = CONTAMINATION_THRESHOLD,
    ) -> None:
        self._encode = encode
        self._threshold = threshold
        self._ids = tuple(samples)
        trigrams = [_distinct_trigrams(encode(text)) for text in samples.values()]
        self._totals = np.array([len(keys) for keys in trigrams], dtype=np.int64)
        keys = np.concatenate([np.empty(0, dtype=np.int64), *trigrams])
        owners = np.repeat(np.arange(len(trigrams)), self._totals)
        order = np.argsort(keys, kind="stable")
        # One entry per distinct trigram; its owners stand at _owners[_starts[i]:_starts[i + 1]].
        self._keys, starts = np.unique(keys[order], return_index=True)
        self._starts = np.append(starts, len(keys))
        self._owners = owners[order]

    def screen(self, text: str) -> ScreeningResult:
        """The sample that `text` covers most of, and whether that is too much."""
        shared = self._shared_counts(_distinct_trigrams(self._encode(text)))
        if not shared.any():
            return ScreeningResult(0.0, None, False, 0, 0)
        # Equal fractions divide to equal floats, so argmax sees ties as ties and takes the first.
        worst = int(np.argmax(shared / np.maximum(self._totals, 1)))
        count, total = int(shared[worst]), int(self._totals[worst])
        contaminated = count * self._threshold.denominator >= total * self._threshold.numerator
        return ScreeningResult(count / total, self._ids[worst], contaminated, count, total)

    def _shared_counts(self, trigrams: NDArray[np.int64]) -> NDArray[np.int64]:
        """For each sample, how many of `trigrams` (distinct, sorted) it holds."""
        if not len(self._keys):
            return np.zeros(len(self._ids), dtype=np.int64)
        places = np.searchsorted(self._keys, trigrams)
        places = places[places < len(self._keys)]
        hits = places[self._keys[places] == trigrams[: len(places)]]
        counts = self._starts[hits + 1] - self._starts[hits]
        # The owners of all hits, run after run: each run counts up from its start.
        ends = np.cumsum(counts)
        postings = np.repeat(self._starts[hits] - (ends - counts), counts) + np.arange(counts.sum())
        return np.bincount(self._owners[postings], minlength=len(self._ids))


def _distinct_trigrams(ids: Sequence[int]) -> NDArray[np.int64]:
    """Sorted keys of the distinct contiguous trigrams, three ids packed into each."""
    tokens = np.asarray(ids, dtype=np.int64)
    if len(tokens) and not 0 <= tokens.min() <= tokens.max() < 1 << _ID_BITS:
        raise ValueError(f"token ids must be from 0 to {(1 << _ID_BITS) - 1}")
    first, second, third = tokens[:-2], tokens[1:-1], tokens[2:]
    return np.unique(first << 2 * _ID_BITS | second << _ID_BITS | third)
