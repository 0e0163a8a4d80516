"""The rows of an export, read batch by batch in the order of their keys, however long the texts are."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import BigIntegerField, Case, F, FloatField, Model, QuerySet, When
from django.db.models.functions import Length

from curation import exporting
from curation.exporting import CHECKS, Column
from curation.models import CheckVerdict, CorpusPrompt, ExportFile, Reconstruction, SourcePrompt
from curation.narrowing import filters_of, narrow, search_of, settled_reviews
from curation.selectors import BLIND
from llm import sql

Kind = ExportFile.Kind

BATCH_ROWS = 500
BATCH_CHARACTERS = 4_000_000
"""A batch ends at whichever comes first: it is what an export holds in memory."""


VERDICTS = """
    SELECT review_id, check_name, verdict, note, evidence FROM curation_checkverdict
    WHERE review_id = ANY(%(reviews)s)
"""


@dataclass(frozen=True, slots=True)
class Batch:
    """Complete rows; `last` is the key of the last one."""

    rows: Sequence[Mapping[str, Any]]
    last: int


@dataclass(frozen=True, slots=True)
class Shape:
    """What one kind of export reads; `lengths` are the columns that tell how long a row's texts are."""

    columns: tuple[Column, ...]
    lengths: tuple[str, ...]
    checks: bool = False

    def chosen(self, texts: bool) -> tuple[Column, ...]:
        return tuple(column for column in self.columns if texts or not column.text)

    def names(self, texts: bool) -> list[str]:
        """The names of a row's values in their order."""
        names = [column.name for column in self.chosen(texts)]
        return [*names, CHECKS] if self.checks else names


SHAPES: Mapping[str, Shape] = {
    Kind.SOURCE_PROMPTS: Shape(exporting.SOURCE_PROMPT, ("characters",)),
    Kind.RECONSTRUCTIONS: Shape(exporting.RECONSTRUCTION, ("characters", "source_prompt__characters")),
    Kind.REVIEWS: Shape(
        exporting.REVIEW,
        ("reconstruction__characters", "reconstruction__source_prompt__characters"),
        checks=True,
    ),
    Kind.CORPUS_PROMPTS: Shape(exporting.CORPUS_PROMPT, ("text_length",)),
}


def rows_to_export(kind: str, filters: Mapping[str, str]) -> QuerySet[Any]:
    """What an export of a kind takes. Raises NarrowingError for filters that mean nothing.

    Reviews are the standing ones of items that are settled or disputed; of an item that still waits for a
    blind review, neither reviews nor agreement nor an earlier acceptance are told.
    """
    return narrow(_all(kind), filters, filters=filters_of(kind), search=search_of(kind))


def _all(kind: str) -> QuerySet[Any]:
    rows: Mapping[str, QuerySet[Any]] = {
        Kind.SOURCE_PROMPTS: SourcePrompt.objects.all(),
        Kind.RECONSTRUCTIONS: Reconstruction.objects.annotate(
            shown_agreement=shown_agreement(), shown_corpus_prompt=shown_corpus_prompt()
        ),
        Kind.REVIEWS: settled_reviews(),
        Kind.CORPUS_PROMPTS: CorpusPrompt.objects.annotate(text_length=Length("text")),
    }
    return rows[kind]


def shown_agreement() -> Case:
    """A reconstruction's agreement, null while somebody may still have to judge it blind."""
    return Case(When(state__in=BLIND, then=None), default=F("agreement"), output_field=FloatField())


def shown_corpus_prompt() -> Case:
    """The key of a reconstruction's corpus prompt, null while somebody may still have to judge it blind: that
    there is one tells that it was accepted before."""
    return Case(When(state__in=BLIND, then=None), default=F("corpus_prompt"), output_field=BigIntegerField())


def read_batches(
    rows: QuerySet[Any], shape: Shape, *, texts: bool, after: int, until: int
) -> Iterator[Batch]:
    """The rows with keys above `after` and up to `until`, in order; each batch is read in full at once."""
    columns = shape.chosen(texts)
    while keys := _next_keys(rows, shape, after, until, texts):
        after = keys[-1]
        found = rows.filter(pk__in=keys).order_by("pk").values_list(*(column.path for column in columns))
        names = [column.name for column in columns]
        batch: list[dict[str, Any]] = [dict(zip(names, values, strict=True)) for values in found]
        if shape.checks:
            verdicts = _verdicts(keys)
            for row in batch:
                row[CHECKS] = verdicts[row["review_id"]]
        yield Batch(batch, after)


def last_key(model: type[Model]) -> int:
    """The largest key there is, 0 for none: where an export that starts now will end."""
    return model._default_manager.order_by("-pk").values_list("pk", flat=True).first() or 0


def _next_keys(rows: QuerySet[Any], shape: Shape, after: int, until: int, texts: bool) -> list[int]:
    """The next keys, as many as fit into a batch and at least one."""
    beyond = rows.filter(pk__gt=after, pk__lte=until).order_by("pk")
    keys: list[int] = []
    characters = 0
    for pk, *lengths in beyond.values_list("pk", *(shape.lengths if texts else ()))[:BATCH_ROWS]:
        characters += sum(lengths)
        if keys and characters > BATCH_CHARACTERS:
            break
        keys.append(pk)
    return keys


def _verdicts(reviews: Sequence[int]) -> Mapping[int, dict[str, dict[str, Any]]]:
    """By review, every check in its order; one that a review does not have is null."""
    checks = CheckVerdict.Check.values
    none_given = dict.fromkeys(exporting.VERDICT_PARTS)
    by_review: dict[int, dict[str, dict[str, Any]]] = {
        pk: dict.fromkeys(checks, none_given) for pk in reviews
    }
    bare: dict[tuple[str, str], dict[str, Any]] = {}
    for pk, check, verdict, note, evidence in sql.fetch(VERDICTS, {"reviews": list(reviews)}):
        if evidence is None:  # as most are: they share what they say
            given = bare.setdefault((verdict, note), {"verdict": verdict, "note": note, "evidence": None})
        else:
            given = {"verdict": verdict, "note": note, "evidence": json.loads(evidence)}
        by_review[pk][check] = given
    return by_review
