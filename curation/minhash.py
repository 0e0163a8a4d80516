"""Shingles of a text, and the hashes by which nearly equal texts meet. Pure.

    texts ─► units (words or characters) ─► shingles of three ─► MinHash ─► a hash of each band

The MinHash is rensa's: it takes a few hundred shingles in 0.02 ms where datasketch takes over 5 ms, works on
whole batches of hashes, which numpy makes, and needs numpy only (datasketch brings scipy).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from zlib import crc32

import numpy as np
import numpy.typing as npt
from rensa import RMinHash  # type: ignore[import-untyped]

from curation.languages import mostly_unspaced

SHINGLE = 3
"""Words, or characters, in a shingle (ours)."""

PERMUTATIONS = 128
MISSED_SHARE = 1e-3
"""Pairs right at the threshold that banding may miss, at most (ours)."""

COMPARED_CHARACTERS = 100_000
"""The beginning of a text that is compared (ours): twice the longest source that is kept (A.1)."""

_SEED = 1
_BLOCK_CHARACTERS = 500_000
_CODE_POINTS = 0x110000
_WORD = re.compile(r"\w+")

_ODD = 0x9E3779B97F4A7C15
_FACTORS = tuple(np.uint64(odd) for odd in (_ODD, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))
_BASE = 0xD6E8FEB86659FD93

Hashes = npt.NDArray[np.uint64]
BandHashes = npt.NDArray[np.uint32]
"""A 32-bit hash of each band of each text: texts × bands."""


def shingles(text: str) -> frozenset[str]:
    """
    >>> sorted(shingles("Write a letter, now!"))
    ['a letter now', 'write a letter']
    >>> sorted(shingles("写一封信"))
    ['一封信', '写一封']
    """
    text = text[:COMPARED_CHARACTERS]
    words = _WORD.findall(text.casefold())
    if mostly_unspaced(text):
        characters = "".join(words)
        return frozenset(characters[at : at + SHINGLE] for at in range(max(1, len(characters) - SHINGLE + 1)))
    if len(words) < SHINGLE:
        return frozenset([_whole(text, words)])
    return frozenset(map(" ".join, zip(words, words[1:], words[2:], strict=False)))


def _whole(text: str, words: Sequence[str]) -> str:
    """The one shingle of a text with fewer units than it takes; marks count where there is nothing else."""
    return " ".join(words) or text.casefold().strip()


def jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    """|A ∩ B| / |A ∪ B|, from 0 to 1.

    >>> jaccard(frozenset("abc"), frozenset("bcd"))
    0.5
    """
    shared = len(one & other)
    return shared / (len(one) + len(other) - shared)


def band_rows(threshold: float) -> int:
    """Rows in a band: as many as keep the share of missed pairs at the threshold under `MISSED_SHARE`.

    A pair of similarity s shares none of b bands of r rows with probability (1 - s^r)^b.
    """
    fits = (
        rows
        for rows in range(PERMUTATIONS, 1, -1)
        if (1 - threshold**rows) ** (PERMUTATIONS // rows) <= MISSED_SHARE
    )
    return next(fits, 1)


def band_hashes(texts: Sequence[str], rows: int) -> BandHashes:
    """The hashes of the bands of `rows` rows of each text's MinHash."""
    found = [np.empty((0, PERMUTATIONS // rows), np.uint32)]
    block: list[str] = []
    size = 0
    for text in texts:
        block.append(text[:COMPARED_CHARACTERS])
        size += len(block[-1])
        if size > _BLOCK_CHARACTERS:
            found.append(_band_hashes(block, rows))
            block, size = [], 0
    if block:
        found.append(_band_hashes(block, rows))
    return np.concatenate(found)


def _band_hashes(texts: Sequence[str], rows: int) -> BandHashes:
    bands = PERMUTATIONS // rows
    factors = np.random.default_rng(_SEED).integers(1, 2**63, size=rows, dtype=np.uint64) | np.uint64(1)
    hashes, counts = shingle_hashes(texts)
    offsets = np.concatenate([np.zeros(1, np.uint64), np.cumsum(counts, dtype=np.uint64)])
    digests = RMinHash.digest_matrix_from_flat_token_hashes(hashes, offsets, PERMUTATIONS, _SEED).to_rows()
    matrix = np.array(digests, np.uint64)[:, : bands * rows].reshape(len(texts), bands, rows)
    mixed = (matrix + np.uint64(1)) * factors
    mixed ^= mixed >> np.uint64(29)
    folded: BandHashes = ((mixed.sum(axis=2) * np.uint64(_ODD)) >> np.uint64(32)).astype(np.uint32)
    return folded


def shingle_hashes(texts: Sequence[str]) -> tuple[Hashes, npt.NDArray[np.int64]]:
    """A 64-bit hash of each shingle of one text after the other, repeated ones too, and how many each has.

    Equal shingles have equal hashes, on every machine and in every run. All texts are one array of code
    points here: a loop over their words would take most of an import's time.
    """
    units, counts = _units(texts)
    starts = np.cumsum(counts) - counts
    mixed = np.zeros(len(units), np.uint64)
    if len(units) >= SHINGLE:
        mixed[:-2] = _mix(units[:-2] * _FACTORS[0] + units[1:-1] * _FACTORS[1] + units[2:] * _FACTORS[2])
    left = np.repeat(starts + counts, counts) - np.arange(len(units))
    kept = mixed[left >= SHINGLE]
    shingle_counts = np.maximum(counts - SHINGLE + 1, 0)
    short = np.flatnonzero(shingle_counts == 0)
    if len(short):
        places = (np.cumsum(shingle_counts) - shingle_counts)[short]
        kept = np.insert(kept, places, [_hash_of_short(texts[int(at)]) for at in short])
        shingle_counts[short] = 1
    return kept, shingle_counts


def _hash_of_short(text: str) -> np.uint64:
    (only,) = shingles(text)
    return np.uint64(crc32(only.encode("utf-8", "surrogatepass")) * _ODD % 2**64)


def _units(texts: Sequence[str]) -> tuple[Hashes, npt.NDArray[np.int64]]:
    """A hash of each word (or character, where the script has no spaces) of the texts, and how many each has.

    A word's hash is a polynomial in its code points: the difference of two running sums, moved to the
    place that it would have at the beginning.
    """
    folded = [text.casefold() for text in texts]
    codes = np.frombuffer(" ".join([*folded, ""]).encode("utf-32-le", "surrogatepass"), np.uint32)
    lengths = np.array([len(text) + 1 for text in folded], np.int64)
    apart = np.repeat(np.array([mostly_unspaced(text) for text in texts], np.bool_), lengths)
    inside = _word_characters()[codes]
    begins, ends = inside.copy(), inside.copy()
    begins[1:] &= ~inside[:-1] | apart[1:]
    ends[:-1] &= ~inside[1:] | apart[:-1]
    first, last = np.flatnonzero(begins), np.flatnonzero(ends)
    forth, back = _powers(1 << max(16, (len(codes) - 1).bit_length()))
    sums = np.zeros(len(codes) + 1, np.uint64)
    np.cumsum((codes + np.uint64(1)) * forth[: len(codes)], out=sums[1:])
    hashes = _mix((sums[last + 1] - sums[first]) * back[first])
    counts = np.diff(np.searchsorted(first, np.concatenate([[0], np.cumsum(lengths)])))
    return hashes, counts.astype(np.int64)


def _mix(values: Hashes) -> Hashes:
    values = values ^ (values >> np.uint64(31))
    values *= np.uint64(_ODD)
    values ^= values >> np.uint64(29)
    return values


@cache
def _word_characters() -> npt.NDArray[np.bool_]:
    """For each code point, whether it is of a word."""
    return np.fromiter(
        (character.isalnum() or character == "_" for character in map(chr, range(_CODE_POINTS))),
        np.bool_,
        _CODE_POINTS,
    )


@cache
def _powers(count: int) -> tuple[Hashes, Hashes]:
    """The first powers of an odd number modulo 2^64, and of its inverse."""
    forth, back = np.full(count, _BASE, np.uint64), np.full(count, pow(_BASE, -1, 2**64), np.uint64)
    forth[0] = back[0] = 1
    return np.multiply.accumulate(forth), np.multiply.accumulate(back)
