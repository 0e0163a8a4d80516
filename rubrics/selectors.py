"""Reads of rubrics: the table that a rubric's page shows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from django.db.models import Count, Exists, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

from llm.listing import Filter, Search, equals, narrow_by
from llm.models import Completion
from rubrics.comparison import Changes, ComparisonRow, changes, compare, marked
from rubrics.fates import Fate, Kind, fates
from rubrics.lint import CHECK_LABELS, Check, Finding, findings_from_json
from rubrics.models import MiningTrace, Rubric
from rubrics.parsing import Dimension
from rubrics.rubric import Rubric as RubricValue
from rubrics.rubric import RubricDimension
from rubrics.versions import line_of


@dataclass(frozen=True, slots=True)
class DimensionRow:
    """A dimension as one row of the table. `weight` is its maximum over the sum of all maxima.

    `missing_levels` pads a shorter scale to the table's width, so that its strongest levels do not look like
    those of a longer one. `findings` are the remarks that are about this dimension.
    """

    dimension: RubricDimension
    weight: float
    missing_levels: range
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class RubricTable:
    """`labels` are the column heads, from the weakest interval to the strongest; `findings` are the remarks
    about the rubric as a whole."""

    labels: tuple[str, ...]
    rows: tuple[DimensionRow, ...]
    maximum: int
    findings: tuple[Finding, ...]


def rubric_table(row: Rubric) -> RubricTable:
    value = RubricValue.from_json(row.dimensions)
    longest = max(value.dimensions, key=lambda dimension: len(dimension.levels))
    labels = tuple(level.label for level in longest.levels)
    findings = findings_from_json(row.lint)
    return RubricTable(
        labels,
        tuple(
            DimensionRow(
                each,
                each.maximum / value.maximum,
                range(len(labels) - len(each.levels)),
                tuple(finding for finding in findings if finding.dimension == place),
            )
            for place, each in enumerate(value.dimensions)
        ),
        value.maximum,
        tuple(finding for finding in findings if finding.dimension is None),
    )


def rubrics_with_counts() -> QuerySet[Rubric]:
    counted = Rubric.objects.filter(pk=OuterRef("pk")).order_by().annotate(count=Count("candidates"))
    return Rubric.objects.select_related("prompt").annotate(candidate_count=Subquery(counted.values("count")))


def _written() -> QuerySet[Rubric]:
    """Rubrics with candidates."""
    return Rubric.objects.filter(candidates__isnull=False).order_by()


def _found(check: Check) -> Callable[[QuerySet[Rubric]], QuerySet[Rubric]]:
    return lambda rows: rows.filter(lint__contains=[{"check": check.value}])


def _superseded() -> Exists:
    """A later version stands in the line of the outer row."""
    first = Coalesce(OuterRef("root"), OuterRef("pk"))
    return Exists(Rubric.objects.filter(root=first, version__gt=OuterRef("version")).order_by())


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
        equals("method", "Method", Rubric.Method.choices),
        narrow_by(
            "lint",
            "Findings",
            [
                ("none", "none", lambda rows: rows.filter(lint=[], lint_version__gt=0)),
                ("any", "any", lambda rows: rows.exclude(lint=[])),
                *((check.value, CHECK_LABELS[check], _found(check)) for check in Check),
                ("unread", "not looked at yet", lambda rows: rows.filter(lint_version=0)),
            ],
        ),
        narrow_by(
            "version",
            "Versions",
            [
                ("newest", "the newest of each line", lambda rows: rows.filter(~_superseded())),
                ("older", "superseded", lambda rows: rows.filter(_superseded())),
                ("edited", "edited by a person", lambda rows: rows.filter(version__gt=1)),
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


def rubrics_of(prompt_id: int) -> QuerySet[Rubric]:
    """All rubrics of a prompt, by every method and constructor, older versions included."""
    return Rubric.objects.filter(prompt=prompt_id).order_by("pk")


def compared(left: Rubric, right: Rubric) -> list[ComparisonRow]:
    return marked(compare(RubricValue.from_json(left.dimensions), RubricValue.from_json(right.dimensions)))


@dataclass(frozen=True, slots=True)
class Version:
    """A rubric in its line; `changes` are those since `parent`, None for the first one."""

    rubric: Rubric
    changes: Changes | None


def versions_of(row: Rubric) -> list[Version]:
    """The whole line of a rubric, the newest first."""
    line = list(line_of(row).select_related("created_by"))
    values = {each.pk: RubricValue.from_json(each.dimensions) for each in line}
    return [
        Version(each, changes(values[each.parent_id], values[each.pk]) if each.parent_id in values else None)
        for each in reversed(line)
    ]


@dataclass(frozen=True, slots=True)
class Cost:
    calls: int
    prompt_tokens: int
    completion_tokens: int
    seconds: float


def cost_of(calls: Iterable[Completion]) -> Cost:
    """What these calls took; `seconds` is the sum of their latencies, however many were in flight."""
    each = [(call.prompt_tokens, call.completion_tokens, call.latency_ms) for call in calls]
    return Cost(len(each), sum(e[0] for e in each), sum(e[1] for e in each), sum(e[2] for e in each) / 1000)


def fates_counted(found: Iterable[Fate]) -> list[tuple[str, int]]:
    """Kind of fate and how many candidates had it, kinds without any left out."""
    counts = Counter(fate.kind for fate in found)
    return [(kind.value, counts[kind]) for kind in Kind if counts[kind]]


def fates_in(trace: MiningTrace) -> list[Fate]:
    """What became of each candidate of a trace; none where mining had no discovery."""
    discovered, consolidated = (
        [Dimension(**each) for each in stored] for stored in (trace.discovered, trace.consolidated)
    )
    return fates(discovered, consolidated)


def trace_of(row: Rubric) -> MiningTrace | None:
    traces = MiningTrace.objects.select_related("run")
    return traces.prefetch_related("completions__endpoint").filter(rubric=row).first()
