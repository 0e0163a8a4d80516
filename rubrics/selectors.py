"""Reads of rubrics: the table that a rubric's page shows."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Count, OuterRef, QuerySet, Subquery

from llm.listing import Filter, Search, equals, narrow_by
from rubrics.models import MiningTrace, Rubric
from rubrics.rubric import Rubric as RubricValue
from rubrics.rubric import RubricDimension


@dataclass(frozen=True, slots=True)
class DimensionRow:
    """A dimension as one row of the table. `weight` is its maximum over the sum of all maxima.

    `levels` is padded with None to the table's width, so that the strongest levels of a shorter scale
    do not look like those of a longer one.
    """

    dimension: RubricDimension
    weight: float
    missing_levels: range


@dataclass(frozen=True, slots=True)
class RubricTable:
    """`labels` are the column heads, from the weakest interval to the strongest."""

    labels: tuple[str, ...]
    rows: tuple[DimensionRow, ...]
    maximum: int


def rubric_table(row: Rubric) -> RubricTable:
    value = RubricValue.from_json(row.dimensions)
    longest = max(value.dimensions, key=lambda dimension: len(dimension.levels))
    labels = tuple(level.label for level in longest.levels)
    return RubricTable(
        labels,
        tuple(
            DimensionRow(each, each.maximum / value.maximum, range(len(labels) - len(each.levels)))
            for each in value.dimensions
        ),
        value.maximum,
    )


def rubrics_with_counts() -> QuerySet[Rubric]:
    counted = Rubric.objects.filter(pk=OuterRef("pk")).order_by().annotate(count=Count("candidates"))
    return Rubric.objects.select_related("prompt").annotate(candidate_count=Subquery(counted.values("count")))


def _written() -> QuerySet[Rubric]:
    """Rubrics with candidates."""
    return Rubric.objects.filter(candidates__isnull=False).order_by()


def rubric_filters() -> tuple[Filter, ...]:
    constructors = Rubric.objects.order_by("constructor").values_list("constructor", flat=True).distinct()
    languages = (
        Rubric.objects.order_by("prompt__language").values_list("prompt__language", flat=True).distinct()
    )
    return (
        narrow_by(
            "candidates",
            "Candidates",
            [
                ("yes", "with candidates", lambda rows: rows.filter(pk__in=_written().values("pk"))),
                ("no", "without candidates", lambda rows: rows.exclude(pk__in=_written().values("pk"))),
            ],
        ),
        equals("constructor", "Constructor", [(name, name) for name in constructors]),
        equals(
            "language", "Language", [(code, code) for code in languages if code], lookup="prompt__language"
        ),
    )


REQUEST_SEARCH = Search(
    lambda rows, query: rows.filter(prompt__text__icontains=query), label="Search the request"
)


def trace_of(row: Rubric) -> MiningTrace | None:
    traces = MiningTrace.objects.select_related("run")
    return traces.prefetch_related("completions__endpoint").filter(rubric=row).first()
