"""Overlap of texts with held-out samples, in trigrams of tokens. Exact, and pure but for the encoder.

The rule is the paper's 3.3: a candidate is contaminated when the trigrams it shares with any one sample are
at least a tenth of that sample's distinct trigrams.

    texts ─► blocks ─► token ids ─► hash of each trigram ─► table of the samples' hashes
                                                                       │ the few that may be there
         verdicts ◄─ worst sample of each ◄─ counts by sample ◄─ exact look-up, each once

A block is worked off whole, so that what a text costs beside its tokens is a few passes over arrays.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, pairwise

import numpy as np
from numpy.typing import NDArray

CONTAMINATION_THRESHOLD = Fraction(1, 10)
"""Share of a sample's distinct trigrams at which a candidate is discarded (3.3)."""

BLOCK_TEXTS = 64
BLOCK_CHARACTERS = 1_000_000
"""A block ends at whichever comes first, so memory follows neither the number of texts nor their length."""

MOST_CELLS = 4_000_000
"""Of the table of a block's texts and all samples; with many samples a block holds fewer texts."""

_ID_BITS = 21  # three ids fit one 64-bit key
_LARGEST_ID = (1 << _ID_BITS) - 1
_MULTIPLIERS = tuple(np.uint32(odd) for odd in (0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D))
_HASH_BITS = 32
_SPARSITY = 8  # entries of the table of hashes for each trigram of the samples

Ids = NDArray[np.int64]
Tokens = NDArray[np.uint32]
Encode = Callable[[str], Sequence[int]]
EncodeBatch = Callable[[Sequence[str]], tuple[Tokens, Ids]]
"""Texts to the ids of all of them in a row, and where each begins in it; one more for the end."""


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
    ValueError for others. `encode_batch`, where there is one, must agree with it.

    An overlap of fewer than `minimum_shared` trigrams never discards (ours; the paper has no minimum). The
    match that discards is then named before one that is larger and does not.
    """

    def __init__(
        self,
        samples: Mapping[str, str],
        encode: Encode,
        *,
        threshold: Fraction = CONTAMINATION_THRESHOLD,
        minimum_shared: int = 0,
        encode_batch: EncodeBatch | None = None,
    ) -> None:
        self._encode_batch = encode_batch or (lambda texts: _encode_each(encode, texts))
        self._threshold, self._minimum = threshold, minimum_shared
        self._ids = tuple(samples)
        trigrams = [
            np.unique(_keys(tokens, np.arange(len(tokens) - 2)))
            for block in _blocks(samples.values(), BLOCK_TEXTS)
            for tokens in _each(*self._tokens(block))
        ]
        self._totals = np.array([len(keys) for keys in trigrams], dtype=np.int64)
        self._postings = _Postings.of(trigrams)

    def screen(self, text: str) -> ScreeningResult:
        """The sample that `text` covers most of, and whether that is too much."""
        return self._screen_block([text])[0]

    def screen_many(self, texts: Iterable[str]) -> Iterator[ScreeningResult]:
        """The same for each text, in order; reads ahead one block. Many times faster than one by one."""
        for block in _blocks(texts, max(1, min(BLOCK_TEXTS, MOST_CELLS // max(len(self._ids), 1)))):
            yield from self._screen_block(block)

    def _tokens(self, texts: Sequence[str]) -> tuple[Tokens, Ids]:
        tokens, bounds = self._encode_batch(texts)
        if len(tokens) and tokens.max() > _LARGEST_ID:
            raise ValueError(f"token ids must be from 0 to {_LARGEST_ID}")
        return tokens, bounds

    def _screen_block(self, texts: Sequence[str]) -> list[ScreeningResult]:
        """A table of counts, a row for each text and a column for each sample, and the worst of each row.

        Equal fractions divide to equal floats, and different ones of such counts to different floats; of
        equal ones the first is named.
        """
        screened = [_NOTHING] * len(texts)
        samples = len(self._ids)
        tokens, bounds = self._tokens(texts)
        if not samples:
            return screened
        owned = self._postings.owned_by(tokens, bounds, samples)
        shared = np.bincount(owned, minlength=len(texts) * samples).reshape(len(texts), samples)
        ratios = shared / np.maximum(self._totals, 1)
        if self._minimum > 1:
            ratios[self._discards(shared, self._totals)] += 2
        worst = ratios.argmax(axis=1)
        counts, totals = shared[np.arange(len(texts)), worst], self._totals[worst]
        discards = self._discards(counts, totals)
        for text in counts.nonzero()[0].tolist():
            count, total = int(counts[text]), int(totals[text])
            contaminated, sample_id = bool(discards[text]), self._ids[worst[text]]
            screened[text] = ScreeningResult(count / total, sample_id, contaminated, count, total)
        return screened

    def _discards(self, shared: Ids, totals: Ids) -> NDArray[np.bool_]:
        enough = shared * self._threshold.denominator >= totals * self._threshold.numerator
        return enough & (shared >= max(self._minimum, 1))


_NOTHING = ScreeningResult(0.0, None, False, 0, 0)


@dataclass(frozen=True, slots=True)
class _Postings:
    """Which samples hold a trigram, found by its hash.

    `present` says for the first bits of a hash whether any trigram has them. The trigrams stand in the order
    of their hashes: those that begin with bits b at `keys[buckets[b]:buckets[b + 1]]`, and the samples that
    hold number i at `owners[starts[i]:starts[i] + counts[i]]`.
    """

    present: NDArray[np.bool_]
    present_bits: int
    buckets: NDArray[np.int32]
    bucket_bits: int
    keys: Ids
    starts: Ids
    counts: Ids
    owners: Ids

    @classmethod
    def of(cls, trigrams: Sequence[Ids]) -> _Postings:
        """`trigrams` are the distinct keys of each sample."""
        every = np.concatenate([np.empty(0, dtype=np.int64), *trigrams])
        owners = np.repeat(np.arange(len(trigrams)), [len(keys) for keys in trigrams])
        order = np.argsort(every, kind="stable")
        keys, starts, counts = np.unique(every[order], return_index=True, return_counts=True)
        hashes = _hash(*(keys >> shift & _LARGEST_ID for shift in (2 * _ID_BITS, _ID_BITS, 0)))
        by_hash = np.argsort(hashes, kind="stable")
        keys, starts, counts = keys[by_hash], starts[by_hash], counts[by_hash]
        hashes = hashes[by_hash]
        bucket_bits = min(max(len(keys), 2).bit_length(), 28)
        present_bits = min(bucket_bits + _SPARSITY.bit_length() - 1, 28)
        present = np.zeros(1 << present_bits, dtype=np.bool_)
        present[hashes >> np.uint32(_HASH_BITS - present_bits)] = True
        sizes = np.bincount(hashes >> np.uint32(_HASH_BITS - bucket_bits), minlength=1 << bucket_bits)
        buckets = np.concatenate(([0], np.cumsum(sizes))).astype(np.int32)
        return cls(present, present_bits, buckets, bucket_bits, keys, starts, counts, owners[order])

    def owned_by(self, tokens: Tokens, bounds: Ids, samples: int) -> Ids:
        """For each distinct trigram of each text and each sample that holds it: text * samples + sample."""
        if len(tokens) < 3 or not len(self.keys):
            return np.empty(0, dtype=np.int64)
        hashes = _hash(tokens[:-2], tokens[1:-1], tokens[2:])
        places = self.present.take(hashes >> np.uint32(_HASH_BITS - self.present_bits)).nonzero()[0]
        texts = bounds.searchsorted(places, side="right") - 1
        inside = places + 3 <= bounds[texts + 1]  # a trigram does not run on into the next text
        places, texts = places[inside], texts[inside]
        numbers, found = self._look_up(_keys(tokens, places), hashes[places])
        width = len(self.keys).bit_length()
        pairs = texts[found] << width | numbers[found]
        pairs.sort()
        pairs = pairs[_runs(pairs)[0]]
        texts, numbers = pairs >> width, pairs & ((1 << width) - 1)
        counts = self.counts[numbers]
        # The owners of all of them, run after run: each run counts up from its start.
        ends = counts.cumsum()
        postings = (self.starts[numbers] - ends + counts).repeat(counts)
        postings += np.arange(len(postings))
        owned: Ids = self.owners[postings]
        owned += (texts * samples).repeat(counts)
        return owned

    def _look_up(self, keys: Ids, hashes: Tokens) -> tuple[Ids, NDArray[np.bool_]]:
        """The number of each key, and whether it is there at all."""
        buckets = (hashes >> np.uint32(_HASH_BITS - self.bucket_bits)).astype(np.int64)
        numbers = self.buckets[buckets].astype(np.int64)
        ends = self.buckets[buckets + 1]
        open_ = (numbers < ends).nonzero()[0]
        found = np.zeros(len(keys), dtype=np.bool_)
        while len(open_):
            found[open_] = self.keys[numbers[open_]] == keys[open_]
            open_ = open_[~found[open_]]
            numbers[open_] += 1
            open_ = open_[numbers[open_] < ends[open_]]
        return numbers, found


def _hash(first: NDArray[np.integer], second: NDArray[np.integer], third: NDArray[np.integer]) -> Tokens:
    """32 bits for each trigram, the first of them the best."""
    hashes = first.astype(np.uint32) * _MULTIPLIERS[0]
    hashes += second.astype(np.uint32) * _MULTIPLIERS[1]
    hashes += third.astype(np.uint32) * _MULTIPLIERS[2]
    return hashes


def _keys(tokens: Tokens, places: Ids) -> Ids:
    """The trigrams that begin at these places, three ids packed into each."""
    keys = tokens[places].astype(np.int64) << 2 * _ID_BITS
    keys |= tokens[places + 1].astype(np.int64) << _ID_BITS
    keys |= tokens[places + 2]
    return keys


def _runs(entries: Ids) -> tuple[Ids, Ids]:
    """Where each run of equal entries starts, and how long it is."""
    changes = np.ones(len(entries), dtype=np.bool_)
    np.not_equal(entries[1:], entries[:-1], out=changes[1:])
    starts = changes.nonzero()[0]
    lengths = np.empty_like(starts)
    np.subtract(starts[1:], starts[:-1], out=lengths[:-1])
    lengths[-1:] = len(entries) - starts[-1:]
    return starts, lengths


def _blocks(texts: Iterable[str], most: int) -> Iterator[list[str]]:
    block: list[str] = []
    characters = 0
    for text in texts:
        block.append(text)
        characters += len(text)
        if len(block) >= most or characters >= BLOCK_CHARACTERS:
            yield block
            block, characters = [], 0
    if block:
        yield block


def _encode_each(encode: Encode, texts: Sequence[str]) -> tuple[Tokens, Ids]:
    """A batch by an encoder that takes one text at a time."""
    encoded = [encode(text) for text in texts]
    bounds = np.zeros(len(encoded) + 1, dtype=np.int64)
    np.cumsum([len(ids) for ids in encoded], out=bounds[1:])
    try:
        flat = array("I", encoded[0] if len(encoded) == 1 else chain.from_iterable(encoded))
    except OverflowError:
        raise ValueError(f"token ids must be from 0 to {_LARGEST_ID}") from None
    return np.frombuffer(flat, dtype=np.uint32), bounds


def _each(tokens: Tokens, bounds: Ids) -> Iterator[Tokens]:
    return (tokens[start:end] for start, end in pairwise(bounds))
