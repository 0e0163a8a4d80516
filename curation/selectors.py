"""Reads of the curation room: what stands where, and what each list can be narrowed to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db.models import Count, Exists, OuterRef, QuerySet

from curation.models import CheckVerdict, Reconstruction, Review, Source, SourcePrompt
from curation.reconstruction import Strategy
from llm.listing import Filter, Search, equals, narrow_by

State = Reconstruction.State

WITH_TEXT = (
    State.REWRITTEN,
    State.REPETITIVE,
    State.CONTAMINATED,
    State.IN_REVIEW,
    State.ACCEPTED,
    State.REJECTED,
)
NOT_REPETITIVE = (State.CONTAMINATED, State.IN_REVIEW, State.ACCEPTED, State.REJECTED)
SCREENED = (State.IN_REVIEW, State.ACCEPTED, State.REJECTED)
"""The states of reconstructions that got past the rewriting, the repetition filter, and the screening."""


@dataclass(frozen=True, slots=True)
class SourceCounts:
    """`total` = `excluded` + `waiting` + `planned`: each source prompt is in exactly one."""

    total: int
    excluded: int
    waiting: int
    planned: int


@dataclass(frozen=True, slots=True)
class ReviewCounts:
    """One reviewer's work. `checks` gives, by check label, how often each verdict was given."""

    reviews: int
    accepted: int
    rejected: int
    checks: Mapping[str, Mapping[str, int]]


def _planned() -> Exists:
    return Exists(Reconstruction.objects.filter(source_prompt=OuterRef("pk")))


def source_counts() -> SourceCounts:
    kept = SourcePrompt.objects.filter(excluded_because="")
    total, unexcluded = SourcePrompt.objects.count(), kept.count()
    planned = kept.filter(_planned()).count()
    return SourceCounts(total, total - unexcluded, unexcluded - planned, planned)


def reconstruction_counts() -> Mapping[str, int]:
    """Every state with its number of reconstructions, zeros included."""
    found = dict(Reconstruction.objects.order_by().values_list("state").annotate(Count("pk")))
    return {state: found.get(state, 0) for state in State.values}


def language_choices(rows: QuerySet[Reconstruction] | QuerySet[SourcePrompt]) -> list[tuple[str, str]]:
    codes = rows.order_by("language").values_list("language", flat=True).distinct()
    return [(code, code) for code in codes if code]


def source_choices() -> list[tuple[str, str]]:
    return [(str(pk), name) for pk, name in Source.objects.values_list("pk", "name")]


def source_prompt_filters() -> tuple[Filter, ...]:
    return (
        narrow_by(
            "state",
            "State",
            [
                ("excluded", "excluded", lambda rows: rows.exclude(excluded_because="")),
                (
                    "waiting",
                    "no reconstruction yet",
                    lambda rows: rows.filter(~_planned(), excluded_because=""),
                ),
                (
                    "planned",
                    "with reconstructions",
                    lambda rows: rows.filter(_planned(), excluded_because=""),
                ),
            ],
        ),
        equals("source", "Source", source_choices()),
        equals("language", "Language", language_choices(SourcePrompt.objects.all())),
    )


def reconstruction_filters() -> tuple[Filter, ...]:
    return (
        equals("state", "State", State.choices),
        narrow_by(
            "reached",
            "Got past",
            [
                ("text", "rewriting", lambda rows: rows.filter(state__in=WITH_TEXT)),
                ("filters", "the repetition filter", lambda rows: rows.filter(state__in=NOT_REPETITIVE)),
                ("screening", "screening", lambda rows: rows.filter(state__in=SCREENED)),
            ],
        ),
        equals("strategy", "Strategy", [(s.value, s.value.replace("_", " ")) for s in Strategy]),
        equals("language", "Language", language_choices(Reconstruction.objects.all())),
        equals("source", "Source", source_choices(), lookup="source_prompt__source"),
    )


TEXT_SEARCH = Search(lambda rows, query: rows.filter(text__icontains=query))


def reviews_for(reconstruction: Reconstruction, viewer: User) -> QuerySet[Review]:
    """The reviews that `viewer` may see: none by others while the item still waits for the viewer's own."""
    reviews = reconstruction.reviews.select_related("reviewer").prefetch_related("verdicts")
    if reconstruction.state == State.IN_REVIEW and not reviews.filter(reviewer=viewer).exists():
        return reviews.none()
    return reviews


def review_counts(reviewer: User) -> ReviewCounts:
    own = Review.objects.filter(reviewer=reviewer)
    by_decision = dict(own.order_by().values_list("decision").annotate(Count("pk")))
    checks: dict[str, dict[str, int]] = {
        label: dict.fromkeys(CheckVerdict.Verdict.values, 0) for label in CheckVerdict.Check.labels
    }
    given = CheckVerdict.objects.filter(review__reviewer=reviewer).order_by()
    for check, verdict, count in given.values_list("check_name", "verdict").annotate(Count("pk")):
        checks[str(CheckVerdict.Check(check).label)][verdict] = count
    accepted, rejected = by_decision.get("accept", 0), by_decision.get("reject", 0)
    return ReviewCounts(accepted + rejected, accepted, rejected, checks)
