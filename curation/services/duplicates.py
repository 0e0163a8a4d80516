"""Marking source prompts that are nearly the same as earlier ones."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q, QuerySet

from curation.minhash import BandHashes
from curation.models import Reconstruction, Source, SourcePrompt
from curation.near_duplicates import DEFAULT_THRESHOLD, Entry, NearDuplicate, find_near_duplicates
from curation.services.reports import LISTED_LINES, LineReport
from llm.audit import Change, record_many

BATCH = 500

NEAR_DUPLICATE = "near duplicate of source prompt "
"""How the reason begins that excludes a near duplicate, and no other."""


@dataclass
class NearDuplicateReport:
    """`compared` prompts; `found` near duplicates, of which `excluded` are excluded, and `reconstructed` are
    not because they have reconstructions already. `lines` are the first of them, by line of their source."""

    compared: int = 0
    found: int = 0
    excluded: int = 0
    reconstructed: int = 0
    lines: list[LineReport] = field(default_factory=list)


class HashedPrompts:
    """What `band_hashes` made of prompts that have just been stored, so that nobody reads them again."""

    def __init__(self) -> None:
        self._keys: list[npt.NDArray[np.int64]] = []
        self._bands: list[BandHashes] = []

    def add(self, keys: Sequence[int | None], bands: BandHashes) -> None:
        """One key for each row of `bands`; a row without one belongs to a prompt that was there before."""
        new = np.array([key is not None for key in keys], np.bool_)
        self._keys.append(np.array([key for key in keys if key is not None], np.int64))
        self._bands.append(bands[new])

    def of(self, wanted: Sequence[int]) -> dict[int, npt.NDArray[np.uint32]]:
        """The rows of those among the wanted prompts that are known."""
        if not self._keys:
            return {}
        if len(self._keys) > 1:
            keys, bands = np.concatenate(self._keys), np.concatenate(self._bands)
            order = np.argsort(keys)
            self._keys, self._bands = [keys[order]], [bands[order]]
        (keys,), (bands,) = self._keys, self._bands
        places = np.searchsorted(keys, wanted)
        found = zip(wanted, places, strict=True)
        return {key: bands[at] for key, at in found if at < len(keys) and keys[at] == key}


def mark_near_duplicates(
    *,
    threshold: float = DEFAULT_THRESHOLD,
    source: Source | None = None,
    exclude: bool = True,
    user: User | None = None,
    hashed: HashedPrompts | None = None,
) -> NearDuplicateReport:
    """Sets `duplicate_of` and `similarity` on every prompt that is nearly the same as an earlier one.

    With `exclude` those are excluded too, but for prompts that have reconstructions. With a `source` only
    its prompts are marked, against all earlier ones. Marks of an earlier search are taken back first, so
    that searching again with another threshold or without `exclude` undoes what no longer holds. A prompt
    that is excluded for another reason is compared with nothing. `hashed` are prompts whose hashes for this
    threshold are known. Raises ValueError for a threshold that
    means nothing.
    """
    report = NearDuplicateReport()
    scope = SourcePrompt.objects.filter(_of(source))
    entries = _entries(source, report, hashed or HashedPrompts())
    found = find_near_duplicates(entries, _texts, threshold=threshold)
    before = {pk: tuple(rest) for pk, *rest in _marked(scope).values_list("pk", *_MARKS)}
    kept: set[int] = set()
    while batch := list(itertools.islice(found, BATCH)):
        kept |= _mark(batch, before, exclude, report, user)
    _unmark([pk for pk in before if pk not in kept], before, user)
    return report


_MARKS = ("duplicate_of_id", "similarity", "excluded_because")


def _of(source: Source | None) -> Q:
    return Q() if source is None else Q(source=source)


def _marked(prompts: QuerySet[SourcePrompt]) -> QuerySet[SourcePrompt]:
    return prompts.filter(duplicate_of__isnull=False)


def _entries(source: Source | None, report: NearDuplicateReport, hashed: HashedPrompts) -> Iterator[Entry]:
    """The prompts in scope and, before the last of them, everything that they are compared with."""
    usable = Q(excluded_because="") | Q(excluded_because__startswith=NEAR_DUPLICATE)
    prompts = SourcePrompt.objects.filter(usable).order_by("pk")
    if source is not None:
        last = SourcePrompt.objects.filter(source=source).order_by("-pk").values_list("pk", flat=True).first()
        prompts = prompts.filter(Q(source=source) | Q(duplicate_of__isnull=True), pk__lte=last or 0)
    rows = prompts.values_list("pk", "source_id").iterator(chunk_size=BATCH)
    while batch := list(itertools.islice(rows, BATCH)):
        known = hashed.of([pk for pk, _ in batch])
        texts = _texts([pk for pk, _ in batch if pk not in known])
        for pk, source_id in batch:
            markable = source is None or source_id == source.pk
            report.compared += markable
            yield Entry(pk, known[pk] if pk in known else texts.get(pk, ""), markable)


def _texts(ids: Sequence[int]) -> Mapping[int, str]:
    if not ids:
        return {}
    return dict(SourcePrompt.objects.filter(pk__in=ids).values_list("pk", "text"))


def _mark(
    batch: Sequence[NearDuplicate],
    before: Mapping[int, tuple[object, ...]],
    exclude: bool,
    report: NearDuplicateReport,
    user: User | None,
) -> set[int]:
    by_id = {pair.later: pair for pair in batch}
    with transaction.atomic():
        prompts = SourcePrompt.objects.select_for_update().filter(pk__in=by_id)
        rows = list(prompts.defer("text", "search").order_by("pk"))
        reconstructed = set(
            Reconstruction.objects.filter(source_prompt__in=by_id).values_list("source_prompt_id", flat=True)
        )
        changes = []
        for row in rows:
            pair = by_id[row.pk]
            reason = f"{NEAR_DUPLICATE}{pair.earlier} (similarity {pair.similarity:.2f})"
            row.duplicate_of_id, row.similarity = pair.earlier, pair.similarity
            row.excluded_because = reason if exclude and row.pk not in reconstructed else ""
            after = (row.duplicate_of_id, row.similarity, row.excluded_because)
            if before.get(row.pk) != after:
                changes.append(_change(row.pk, before.get(row.pk), after, user))
            report.found += 1
            report.excluded += bool(row.excluded_because)
            report.reconstructed += exclude and row.pk in reconstructed
            if len(report.lines) < LISTED_LINES:
                report.lines.append(LineReport(row.line, reason))
        SourcePrompt.objects.bulk_update(rows, ["duplicate_of", "similarity", "excluded_because"])
        record_many(changes)
    return set(by_id)


def _unmark(ids: Sequence[int], before: Mapping[int, tuple[object, ...]], user: User | None) -> None:
    """Takes back marks that no longer hold."""
    for start in range(0, len(ids), BATCH):
        some = ids[start : start + BATCH]
        with transaction.atomic():
            rows = SourcePrompt.objects.filter(pk__in=some)
            rows.filter(excluded_because__startswith=NEAR_DUPLICATE).update(excluded_because="")
            rows.update(duplicate_of=None, similarity=None)
            record_many(_change(pk, before[pk], (None, None, ""), user) for pk in some)


def _change(
    pk: int, before: tuple[object, ...] | None, after: tuple[object, ...], user: User | None
) -> Change:
    names = ("duplicate_of", "similarity", "excluded_because")
    return Change(
        subject=("source prompt", pk),
        action="near duplicate",
        before=dict(zip(names, before or (None, None, ""), strict=True)),
        after=dict(zip(names, after, strict=True)),
        actor=user,
    )
