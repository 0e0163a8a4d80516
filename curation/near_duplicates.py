"""Texts that are nearly the same: candidates by MinHash and banding, each verified by its exact Jaccard
similarity. Pure.

    texts ─► hashes of bands ─► buckets ─► candidates ─► Jaccard ─► pairs

The similarity of two texts is |A ∩ B| / |A ∪ B| over their shingles: three words in a row, or for scripts
without spaces three characters in a row, without regard to case and punctuation. What is kept of a text is
one 32-bit number for each band in a numpy array: about 60 MB for 300,000 texts.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from curation.minhash import (
    COMPARED_CHARACTERS,
    PERMUTATIONS,
    BandHashes,
    band_hashes,
    band_rows,
    jaccard,
    shingles,
)
from llm.processes import beside, processors

DEFAULT_THRESHOLD = 0.8
"""Jaccard similarity from which on two texts are near duplicates (ours)."""

LOWEST_THRESHOLD = 0.5

LEADERS_PER_BUCKET = 32
"""Texts of one bucket that a later one is compared with, at most (ours): boilerplate must not cost n²."""

_BATCH, _BATCH_CHARACTERS = 256, 500_000
_CACHED_CHARACTERS = 8_000_000

Integers = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Entry:
    """A text to compare, or what `band_hashes` made of it with as many rows as the threshold asks for.

    One that may not be marked is only something that others are compared with.
    """

    id: int
    text: str | npt.NDArray[np.uint32]
    markable: bool = True


@dataclass(frozen=True, slots=True)
class NearDuplicate:
    """`later` is nearly the same as `earlier`, which itself is nobody's near duplicate."""

    later: int
    earlier: int
    similarity: float


def find_near_duplicates(
    entries: Iterable[Entry],
    fetch: Callable[[Sequence[int]], Mapping[int, str]],
    *,
    threshold: float = DEFAULT_THRESHOLD,
) -> Iterator[NearDuplicate]:
    """Goes through the entries in their order and yields each that is nearly the same as an earlier one.

    A text is compared with earlier ones that are not near duplicates themselves, and belongs to the most
    similar of them: of three texts of which only neighbours are alike, the first and the third are kept.
    `fetch` gives texts by id again, for the few that have to be compared; the entries themselves are read
    once and not held.
    """
    if not LOWEST_THRESHOLD <= threshold <= 1:
        raise ValueError(f"the threshold must lie between {LOWEST_THRESHOLD} and 1, not {threshold}")
    ids, markable, hashes = _signatures(entries, band_rows(threshold))
    buckets = _Buckets(hashes)
    texts = _Texts(fetch)
    for place in range(0, len(buckets.shared), _BATCH):
        block = buckets.shared[place : place + _BATCH]
        texts.prefetch([int(ids[row]) for row in block if markable[row]])
        for row in map(int, block):
            found = None
            candidates = [int(ids[each]) for each in buckets.leaders_near(row)] if markable[row] else []
            if candidates:
                found = _most_similar(int(ids[row]), candidates, texts, threshold)
            if found is None:
                buckets.add_leader(row)
            else:
                yield found


def _most_similar(
    later: int, candidates: Sequence[int], texts: _Texts, threshold: float
) -> NearDuplicate | None:
    texts.prefetch([later, *candidates])
    own = shingles(texts[later])
    best: NearDuplicate | None = None
    for earlier in candidates:
        similarity = jaccard(own, shingles(texts[earlier]))
        if similarity >= threshold and (best is None or similarity > best.similarity):
            best = NearDuplicate(later, earlier, similarity)
    return best


def _signatures(
    entries: Iterable[Entry], rows: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_], BandHashes]:
    """Ids, whether each may be marked, and a 32-bit hash of each band: texts × bands."""
    ids: list[npt.NDArray[np.int64]] = [np.empty(0, np.int64)]
    markable: list[npt.NDArray[np.bool_]] = [np.empty(0, np.bool_)]
    known: list[npt.NDArray[np.uint32]] = []
    unknown: list[npt.NDArray[np.bool_]] = [np.empty(0, np.bool_)]

    def texts() -> Iterator[list[str]]:
        for batch in _batches(entries):
            ids.append(np.array([entry.id for entry in batch], np.int64))
            markable.append(np.array([entry.markable for entry in batch], np.bool_))
            unknown.append(np.array([isinstance(entry.text, str) for entry in batch], np.bool_))
            known.extend(entry.text for entry in batch if not isinstance(entry.text, str))
            if to_hash := [entry.text for entry in batch if isinstance(entry.text, str)]:
                yield to_hash

    hashed = list(beside(partial(band_hashes, rows=rows), texts(), workers=processors()))
    new = np.concatenate(unknown)
    hashes = np.empty((len(new), PERMUTATIONS // rows), np.uint32)
    if hashed:
        hashes[new] = np.concatenate(hashed)
    if known:
        hashes[~new] = np.array(known)
    return np.concatenate(ids), np.concatenate(markable), hashes


def _batches(entries: Iterable[Entry]) -> Iterator[list[Entry]]:
    batch: list[Entry] = []
    size = 0
    for entry in entries:
        batch.append(entry)
        size += min(len(entry.text), COMPARED_CHARACTERS)
        if len(batch) >= _BATCH or size > _BATCH_CHARACTERS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


class _Buckets:
    """Which texts have a band in common, and which of them lead: are not near duplicates themselves.

    `shared` are the rows that have a band in common with any other, in order.
    """

    def __init__(self, hashes: npt.NDArray[np.uint32]) -> None:
        numbers = hashes.view(np.int32)
        capacities: list[Integers] = []
        count = 0
        for band in range(hashes.shape[1]):
            sizes = _number_buckets(hashes[:, band].copy(), numbers[:, band], count)
            capacities.append(np.minimum(sizes - 1, LEADERS_PER_BUCKET).astype(np.int32))
            count += len(sizes)
        self._numbers = numbers
        ends = np.cumsum(np.concatenate([np.empty(0, np.int32), *capacities]), dtype=np.int64)
        self._starts = np.concatenate([np.zeros(1, np.int64), ends])
        self._filled = np.zeros(count, np.int32)
        self._leaders = np.empty(int(ends[-1]) if count else 0, np.int32)
        self.shared = np.flatnonzero((numbers >= 0).any(axis=1)).astype(np.int32)

    def _of(self, row: int) -> Integers:
        numbers: Integers = self._numbers[row]
        return numbers[numbers >= 0]

    def leaders_near(self, row: int) -> list[int]:
        """The leaders that share a band with the row, in order."""
        found: set[int] = set()
        buckets = self._of(row)
        for start, filled in zip(self._starts[buckets], self._filled[buckets], strict=True):
            found.update(self._leaders[start : start + filled].tolist())
        return sorted(found)

    def add_leader(self, row: int) -> None:
        buckets = self._of(row)
        places = self._starts[buckets] + self._filled[buckets]
        free = places < self._starts[buckets + 1]
        self._leaders[places[free]] = row
        self._filled[buckets[free]] += 1


def _number_buckets(hashes: npt.NDArray[np.uint32], numbers: Integers, first: int) -> npt.NDArray[np.int64]:
    """Writes each row's bucket into `numbers`, from `first` on, -1 where it is alone; gives their sizes."""
    order = np.argsort(hashes, kind="stable")
    ordered = hashes[order]
    begins = np.ones(len(ordered), np.bool_)
    begins[1:] = ordered[1:] != ordered[:-1]
    starts = np.flatnonzero(begins)
    sizes = np.diff(starts, append=len(ordered))
    shared = sizes > 1
    by_group = np.where(shared, first + np.cumsum(shared) - 1, -1).astype(np.int32)
    numbers[order] = by_group[np.cumsum(begins) - 1]
    return sizes[shared]


class _Texts:
    """Texts by id, fetched when they are needed; the last used ones are kept, up to a size."""

    def __init__(self, fetch: Callable[[Sequence[int]], Mapping[int, str]]) -> None:
        self._fetch = fetch
        self._kept: OrderedDict[int, str] = OrderedDict()
        self._size = 0

    def prefetch(self, wanted: Sequence[int]) -> None:
        for each in wanted:
            if each in self._kept:
                self._kept.move_to_end(each)
        missing = [each for each in wanted if each not in self._kept]
        if missing:
            found = self._fetch(missing)
            for each in missing:
                self._kept[each] = found.get(each, "")
                self._size += len(self._kept[each])
        while self._size > _CACHED_CHARACTERS and len(self._kept) > len(wanted):
            self._size -= len(self._kept.popitem(last=False)[1])

    def __getitem__(self, wanted: int) -> str:
        return self._kept[wanted]
