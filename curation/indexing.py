"""Filling the search index: the step and the start of its runs. See `curation.search`."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db import connection
from django.db.models import F, QuerySet
from django.db.models.functions import Floor

from curation.models import Reconstruction, SourcePrompt
from curation.search_terms import search_terms
from llm.engine.steps import Step, register
from llm.models import Run
from llm.services import start_run
from llm.types import Chat

BLOCK = 50
"""Keys that one run item stands for."""

INDEXED: tuple[type[Reconstruction] | type[SourcePrompt], ...] = (Reconstruction, SourcePrompt)


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """The terms of one text, with the text's MD5: a text that has changed since keeps waiting."""

    pk: int
    digest: str
    terms: list[str]


@register
class IndexStep(Step[Sequence[tuple[int, str]], Sequence[IndexEntry]]):
    """The terms of the texts that have none yet, a block of keys at a time; calls no model."""

    kind = "index"
    label = "Search index"

    def load(self, subject_ids: Sequence[int]) -> Mapping[int, Sequence[tuple[int, str]]]:
        texts: dict[int, list[tuple[int, str]]] = {}
        for subject in subject_ids:
            table, block = _table_and_block(subject)
            rows = waiting_texts(table).filter(pk__gte=block * BLOCK, pk__lt=(block + 1) * BLOCK)
            texts[subject] = list(rows.values_list("pk", "text"))
        return texts

    async def execute(self, subject: Sequence[tuple[int, str]], chat: Chat) -> Sequence[IndexEntry]:
        return [IndexEntry(pk, _md5(text), search_terms(text)) for pk, text in subject]

    def store(self, results: Sequence[tuple[int, Sequence[IndexEntry]]]) -> None:
        entries: dict[type[Reconstruction] | type[SourcePrompt], list[IndexEntry]] = defaultdict(list)
        for subject, found in results:
            entries[_table_and_block(subject)[0]].extend(found)
        for table, found in entries.items():
            _store_terms(table, found)


def index_now(table: type[Reconstruction] | type[SourcePrompt], texts: Mapping[int, str]) -> None:
    """Stores the terms of texts (by key) that were just written, in the writer's own transaction."""
    _store_terms(table, [IndexEntry(pk, _md5(text), search_terms(text)) for pk, text in texts.items()])


def _store_terms(table: type[Reconstruction] | type[SourcePrompt], entries: Sequence[IndexEntry]) -> None:
    with connection.cursor() as cursor:
        cursor.executemany(
            f"UPDATE {table._meta.db_table} SET search = array_to_tsvector(%s::text[])"  # noqa: S608
            " WHERE id = %s AND search IS NULL AND md5(text) = %s",
            [(entry.terms, entry.pk, entry.digest) for entry in entries],
        )


def start_indexing(*, user: User | None = None) -> Run | None:
    """Queues every text that has no terms yet; None when there is none."""
    subjects = list(_waiting_blocks())
    return start_run(kind=IndexStep.kind, subject_ids=subjects, user=user) if subjects else None


def waiting_texts(
    table: type[Reconstruction] | type[SourcePrompt],
) -> QuerySet[Reconstruction] | QuerySet[SourcePrompt]:
    """The rows with a text and without its terms."""
    return table._default_manager.filter(search__isnull=True).exclude(text="").order_by("pk")


def _waiting_blocks() -> Iterator[int]:
    for number, table in enumerate(INDEXED):
        blocks = waiting_texts(table).order_by().values_list(Floor(F("pk") / BLOCK), flat=True).distinct()
        for block in sorted(blocks):
            yield int(block) * len(INDEXED) + number


def _table_and_block(subject: int) -> tuple[type[Reconstruction] | type[SourcePrompt], int]:
    block, number = divmod(subject, len(INDEXED))
    return INDEXED[number], block


def _md5(text: str) -> str:
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()
