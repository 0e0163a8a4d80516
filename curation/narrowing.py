"""Narrowing rows by named values, strictly: a name or value that means nothing is refused, not passed over.

A page may ignore what it does not know; a program that asks for 'stat=accepted' must not get everything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from django.db.models import Exists, Model, OuterRef, QuerySet

from curation.models import CheckVerdict, ExportFile, Reconstruction, Review
from curation.search import search_by
from curation.selectors import (
    BLIND,
    reconstruction_filters,
    reviewer_choices,
    source_choices,
    source_prompt_filters,
)
from llm.listing import LARGEST_NUMBER, AnyFilter, Filter, Search, distinct_values, equals, narrow_by

Kind = ExportFile.Kind
Row = TypeVar("Row", bound=Model)

NAMED_CHOICES = 12
"""How many of a filter's values a refusal lists."""

YES_OR_NO = (("yes", "yes"), ("no", "no"))


class NarrowingError(Exception):
    """Filters that cannot be applied: messages by name."""

    def __init__(self, messages: Mapping[str, str]) -> None:
        super().__init__("; ".join(f"{name}: {message}" for name, message in messages.items()))
        self.messages = dict(messages)


def narrow(
    rows: QuerySet[Row],
    given: Mapping[str, str],
    *,
    filters: Sequence[AnyFilter] = (),
    search: Search | None = None,
) -> QuerySet[Row]:
    """The rows that satisfy every value given; an empty value narrows nothing. Raises NarrowingError."""
    by_name = {each.name: each for each in filters}
    problems: dict[str, str] = {}
    for name, text in given.items():
        value = text.strip().replace("\x00", "")
        if search and name == search.name:
            rows = search.narrow(rows, value) if value else rows
        elif name not in by_name:
            problems[name] = f"There is no such filter; there are: {_names(filters, search)}."
        elif value and not by_name[name].accepts(value):
            problems[name] = _refusal(by_name[name])
        elif value:
            rows = by_name[name].narrow(rows, value)
    if problems:
        raise NarrowingError(problems)
    return rows


def _names(filters: Sequence[AnyFilter], search: Search | None) -> str:
    return ", ".join(sorted([*(each.name for each in filters), *([search.name] if search else [])])) or "none"


def _refusal(asked: AnyFilter) -> str:
    if not isinstance(asked, Filter):
        return f"Give a whole number from 0 to {LARGEST_NUMBER:,}."
    values = [value for value, _ in asked.choices]
    listed = ", ".join(values[:NAMED_CHOICES]) or "none yet"
    return f"There is no such value; there are: {listed}{', …' if len(values) > NAMED_CHOICES else ''}."


def filters_of(kind: str) -> tuple[AnyFilter, ...]:
    """What the rows of a kind of export, and the list of the same name, can be narrowed by."""
    return {
        Kind.SOURCE_PROMPTS: source_prompt_filters,
        Kind.RECONSTRUCTIONS: reconstruction_filters,
        Kind.REVIEWS: review_filters,
        Kind.CORPUS_PROMPTS: corpus_prompt_filters,
    }[Kind(kind)]()


def search_of(kind: str) -> Search | None:
    """The full-text search over the rows of a kind, None for those that have none."""
    return {
        Kind.SOURCE_PROMPTS: search_by(),
        Kind.RECONSTRUCTIONS: search_by(),
        Kind.REVIEWS: None,
        Kind.CORPUS_PROMPTS: search_by("reconstruction__text", terms="reconstruction__search"),
    }[Kind(kind)]


def settled_reviews() -> QuerySet[Review]:
    """The standing reviews that may be known: those of items that nobody has to judge blind any more."""
    return Review.objects.filter(withdrawn_at__isnull=True).exclude(reconstruction__state__in=BLIND)


def review_filters() -> tuple[AnyFilter, ...]:
    """Of a list of reviews."""
    return (*own_review_filters(), equals("reviewer", "Reviewer", reviewer_choices()))


def own_review_filters() -> tuple[AnyFilter, ...]:
    """Of a list of one person's reviews: nothing that tells what became of the items."""
    return (
        equals("decision", "Decision", Review.Decision.choices),
        Filter(
            "failed",
            "Check failed",
            (("any", "any check"), *CheckVerdict.Check.choices),
            lambda rows, value: rows.filter(_failing(value)),
        ),
        _either("automatic", "Automatic", automatic=True),
        _either("adjudication", "Adjudication", adjudication=True),
        equals("language", "Language", _languages(), lookup="reconstruction__language"),
        equals("source", "Source", source_choices(), lookup="reconstruction__source_prompt__source"),
    )


def corpus_prompt_filters() -> tuple[AnyFilter, ...]:
    return (
        narrow_by(
            "state",
            "State",
            [
                ("usable", "usable", lambda rows: rows.filter(excluded_because="")),
                ("excluded", "excluded", lambda rows: rows.exclude(excluded_because="")),
                ("withdrawn", "withdrawn", lambda rows: rows.filter(withdrawn_at__isnull=False)),
            ],
        ),
        equals("language", "Language", _languages()),
        equals("source", "Source", source_choices(), lookup="reconstruction__source_prompt__source"),
    )


def _either(name: str, label: str, **condition: bool) -> Filter:
    return Filter(
        name,
        label,
        YES_OR_NO,
        lambda rows, value: rows.filter(**condition) if value == "yes" else rows.exclude(**condition),
    )


def _languages() -> list[tuple[str, str]]:
    return [(code, code) for code in distinct_values(Reconstruction, "language")]


def _failing(check: str) -> Exists:
    verdicts = CheckVerdict.objects.filter(review=OuterRef("pk"), verdict=CheckVerdict.Verdict.FAIL)
    return Exists(verdicts if check == "any" else verdicts.filter(check_name=check))
