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

BLOCK_TEXTS = 256
BLOCK_CHARACTERS = 1_000_000
"""A block ends at whichever comes first, so memory follows neither the number of texts nor their length."""

_ID_BITS = 21  # three ids fit one 64-bit key
_LARGEST_ID = (1 << _ID_BITS) - 1
_MULTIPLIERS = tuple(np.uint32(odd) for odd in (0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D))
_HASH_BITS = 32
_SPARSITY = 8  # entries of the table of hashes for each trigram of the samples, at least
_MOST_TABLE_BITS = 26

Ids = NDArray[np.int64]
Places = NDArray[np.intp]
Tokens = NDArray[np.uint32]
Encode = Callable[[str], Sequence[int]]
EncodeBatch = Callable[[Sequence[str]], tuple[Tokens, Places]]
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
            for block in _blocks(samples.values())
            for tokens in _each(*self._tokens(block))
        ]
        self._totals = np.array([len(keys) for keys in trigrams], dtype=np.int64)
        self._postings = _Postings.of(trigrams)

    def screen(self, text: str) -> ScreeningResult:
        """The sample that `text` covers most of, and whether that is too much."""
        return self._screen_block([text])[0]

    def screen_many(self, texts: Iterable[str]) -> Iterator[ScreeningResult]:
        """The same for each text, in order; reads ahead one block. Many times faster than one by one."""
        for block in _blocks(texts):
            yield from self._screen_block(block)

    def _tokens(self, texts: Sequence[str]) -> tuple[Tokens, Places]:
        tokens, bounds = self._encode_batch(texts)
        if len(tokens) and tokens.max() > _LARGEST_ID:
            raise ValueError(f"token ids must be from 0 to {_LARGEST_ID}")
        return tokens, bounds

    def _screen_block(self, texts: Sequence[str]) -> list[ScreeningResult]:
        """Counts what each text shares with each sample, and takes the worst of each text."""
        screened = [_NOTHING] * len(texts)
        tokens, bounds = self._tokens(texts)
        cells = self._postings.owned_by(tokens, bounds)
        if not len(cells):
            return screened
        cells.sort()
        starts, shared = _runs(cells)
        of_text, samples = np.divmod(cells[starts], len(self._ids))
        totals = self._totals[samples]
        discards = shared * self._threshold.denominator >= totals * self._threshold.numerator
        discards &= shared >= self._minimum
        worst = _worst(of_text, shared / totals, discards if self._minimum > 1 else None)
        for text, sample, count, total, contaminated in zip(
            *(column[worst].tolist() for column in (of_text, samples, shared, totals, discards)), strict=True
        ):
            screened[text] = ScreeningResult(count / total, self._ids[sample], contaminated, count, total)
        return screened


_NOTHING = ScreeningResult(0.0, None, False, 0, 0)


def _worst(of_text: Places, ratios: NDArray[np.float64], first: NDArray[np.bool_] | None) -> Places:
    """Where each text's worst match stands: the largest ratio, and of equal ones the first.

    The matches stand by text, then sample. Equal fractions divide to equal floats, and different ones of
    such counts to different floats. Matches marked in `first` come before all others.
    """
    starts, lengths = _runs(of_text)
    if first is not None:
        ratios = np.where(np.logical_or.reduceat(first, starts).repeat(lengths) & ~first, -1.0, ratios)
    largest = (ratios == np.maximum.reduceat(ratios, starts).repeat(lengths)).nonzero()[0]
    worst: Places = largest[_runs(of_text[largest])[0]]
    return worst


@dataclass(frozen=True, slots=True)
class _Postings:
    """Which samples hold a trigram, found by its hash.

    The distinct trigrams stand in the order of their slots, the first bits of their hashes: `keys` and
    `slots` by number. `table` has for each slot the number of its first trigram and 1, or 0 for none. The
    samples that hold trigram i stand at `owners[starts[i]:starts[i + 1]]`.
    """

    table: NDArray[np.int32]
    shift: np.uint32
    slots: Tokens
    keys: Ids
    starts: NDArray[np.int32]
    owners: NDArray[np.int32]
    samples: int

    @classmethod
    def of(cls, trigrams: Sequence[Ids]) -> _Postings:
        """`trigrams` are the distinct keys of each sample."""
        every = np.concatenate([np.empty(0, dtype=np.int64), *trigrams])
        owners = np.repeat(np.arange(len(trigrams), dtype=np.int32), [len(keys) for keys in trigrams])
        hashes = _hash(*(every >> bits & _LARGEST_ID for bits in (2 * _ID_BITS, _ID_BITS, 0)))
        bits = min((len(every) * _SPARSITY).bit_length(), _MOST_TABLE_BITS)
        shift = np.uint32(_HASH_BITS - max(bits, 1))
        slots = hashes >> shift
        order = np.lexsort((owners, every, slots))
        every, owners, slots = every[order], owners[order], slots[order]
        starts, _ = _runs(every)
        table = np.zeros(1 << max(bits, 1), dtype=np.int32)
        firsts, _ = _runs(slots[starts])
        table[slots[starts[firsts]]] = firsts + 1
        bounds = np.append(starts, len(every)).astype(np.int32)
        return cls(table, shift, slots[starts], every[starts], bounds, owners, len(trigrams))

    def owned_by(self, tokens: Tokens, bounds: Places) -> NDArray[np.int32]:
        """For each distinct trigram of each text and each sample that holds it: text * samples + sample."""
        if len(tokens) < 3 or not len(self.keys):
            return np.empty(0, dtype=np.int32)
        slots = _hash(tokens[:-2], tokens[1:-1], tokens[2:])
        slots >>= self.shift
        numbers = self.table.take(slots)
        places = numbers.nonzero()[0]
        texts = bounds.searchsorted(places, side="right") - 1
        inside = places + 3 <= bounds[texts + 1]  # a trigram does not run on into the next text
        places, texts = places[inside], texts[inside]
        numbers, found = self._look_up(_keys(tokens, places), slots[places], numbers[places] - 1)
        width = len(self.keys).bit_length()
        pairs = texts[found] << width | numbers[found]
        pairs.sort()
        pairs = pairs[_runs(pairs)[0]]
        return self._owners_of(pairs & ((1 << width) - 1), (pairs >> width) * self.samples)

    def _look_up(
        self, keys: Ids, slots: Tokens, numbers: NDArray[np.int32]
    ) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
        """The number of each key, and whether it is there at all; `numbers` are the first of their slots."""
        found = self.keys[numbers] == keys
        missing = (~found).nonzero()[0]
        while len(missing):
            numbers[missing] += 1
            missing = missing[numbers[missing] < len(self.keys)]
            missing = missing[self.slots[numbers[missing]] == slots[missing]]
            there = self.keys[numbers[missing]] == keys[missing]
            found[missing[there]] = True
            missing = missing[~there]
        return numbers, found

    def _owners_of(self, numbers: Places, bases: Places) -> NDArray[np.int32]:
        """The owners of each trigram, its base added."""
        starts = self.starts[numbers]
        counts = self.starts[numbers + 1] - starts
        # Run after run: each counts up from its start.
        places = (starts - counts.cumsum(dtype=np.int32) + counts).repeat(counts)
        places += np.arange(len(places), dtype=np.int32)
        owners: NDArray[np.int32] = self.owners[places]
        owners += bases.astype(np.int32).repeat(counts)
        return owners


def _hash(first: NDArray[np.integer], second: NDArray[np.integer], third: NDArray[np.integer]) -> Tokens:
    """32 bits for each trigram, the first of them the best."""
    hashes = first.astype(np.uint32) * _MULTIPLIERS[0]
    hashes += second.astype(np.uint32) * _MULTIPLIERS[1]
    hashes += third.astype(np.uint32) * _MULTIPLIERS[2]
    return hashes


def _keys(tokens: Tokens, places: Places) -> Ids:
    """The trigrams that begin at these places, three ids packed into each."""
    keys = tokens[places].astype(np.int64) << 2 * _ID_BITS
    keys |= tokens[places + 1].astype(np.int64) << _ID_BITS
    keys |= tokens[places + 2]
    return keys


def _runs(entries: NDArray[np.integer]) -> tuple[Places, Places]:
    """Where each run of equal entries starts, and how long it is."""
    changes = np.ones(len(entries), dtype=np.bool_)
    np.not_equal(entries[1:], entries[:-1], out=changes[1:])
    starts = changes.nonzero()[0]
    lengths = np.empty_like(starts)
    np.subtract(starts[1:], starts[:-1], out=lengths[:-1])
    lengths[-1:] = len(entries) - starts[-1:]
    return starts, lengths


def _blocks(texts: Iterable[str]) -> Iterator[list[str]]:
    block: list[str] = []
    characters = 0
    for text in texts:
        block.append(text)
        characters += len(text)
        if len(block) >= BLOCK_TEXTS or characters >= BLOCK_CHARACTERS:
            yield block
            block, characters = [], 0
    if block:
        yield block


def _encode_each(encode: Encode, texts: Sequence[str]) -> tuple[Tokens, Places]:
    """A batch by an encoder that takes one text at a time."""
    encoded = [encode(text) for text in texts]
    bounds = np.zeros(len(encoded) + 1, dtype=np.int64)
    np.cumsum([len(ids) for ids in encoded], out=bounds[1:])
    try:
        flat = array("I", encoded[0] if len(encoded) == 1 else chain.from_iterable(encoded))
    except OverflowError:
        raise ValueError(f"token ids must be from 0 to {_LARGEST_ID}") from None
    return np.frombuffer(flat, dtype=np.uint32), bounds


def _each(tokens: Tokens, bounds: Places) -> Iterator[Tokens]:
    return (tokens[start:end] for start, end in pairwise(bounds))
