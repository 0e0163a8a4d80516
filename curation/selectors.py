"""Reads of the curation room: what stands where, and what each list can be narrowed to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.db.models import Count, Exists, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Left

from curation.models import CheckVerdict, Reconstruction, Review, ReviewFlag, Source, SourcePrompt
from curation.reconstruction import Strategy
from curation.search import search_by
from llm.listing import AnyFilter, Filter, between, count_of, distinct_values, equals, narrow_by

State = Reconstruction.State

WITH_TEXT = (
    State.REWRITTEN,
    State.REPETITIVE,
    State.CONTAMINATED,
    State.IN_REVIEW,
    State.FLAGGED,
    State.DISPUTED,
    State.ACCEPTED,
    State.REJECTED,
)
NOT_REPETITIVE = (
    State.CONTAMINATED,
    State.IN_REVIEW,
    State.FLAGGED,
    State.DISPUTED,
    State.ACCEPTED,
    State.REJECTED,
)
SCREENED = (State.IN_REVIEW, State.FLAGGED, State.DISPUTED, State.ACCEPTED, State.REJECTED)
"""The states of reconstructions that got past the rewriting, the repetition filter, and the screening."""

BLIND = (State.IN_REVIEW, State.FLAGGED)
"""The states in which somebody may still have to judge without knowing what others gave."""

EXCERPT = 361
"""Characters of a text that a list fetches: enough for two lines, and to know that there is more."""

TEXT_SEARCH = search_by()


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


def source_choices() -> list[tuple[str, str]]:
    return [(str(pk), name) for pk, name in Source.objects.values_list("pk", "name")]


def reviewer_choices() -> list[tuple[str, str]]:
    reviewers = User.objects.filter(Exists(Review.objects.filter(reviewer=OuterRef("pk"))))
    return [(str(pk), name) for pk, name in reviewers.order_by("username").values_list("pk", "username")]


def source_prompt_rows() -> QuerySet[SourcePrompt]:
    """For the list: `beginning` instead of the text, and `reconstruction_count`."""
    shown = ("line", "language", "characters", "segments", "excluded_because", "source__name")
    return (
        SourcePrompt.objects.select_related("source")
        .only(*shown)
        .annotate(
            beginning=Left("text", EXCERPT),
            reconstruction_count=count_of(Reconstruction.objects.all(), "source_prompt"),
        )
    )


def reconstruction_rows() -> QuerySet[Reconstruction]:
    """For the list: `beginning` and `source_beginning` instead of the texts."""
    own = ("state", "state_reason", "strategy", "language", "characters", "overlap")
    # A query of its own: a join would be made for every row that is counted, not for a page of them.
    source = SourcePrompt.objects.filter(pk=OuterRef("source_prompt")).values(beginning=Left("text", EXCERPT))
    return (
        Reconstruction.objects.select_related("source_prompt")
        .only(*own, "source_prompt__language", "source_prompt__characters")
        .annotate(beginning=Left("text", EXCERPT), source_beginning=Subquery(source))
    )


def source_prompt_filters() -> tuple[AnyFilter, ...]:
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
        equals("language", "Language", _languages(SourcePrompt)),
        *between("characters", "Characters", "characters"),
    )


def reconstruction_filters() -> tuple[AnyFilter, ...]:
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
        equals("language", "Language", _languages(Reconstruction)),
        equals("source", "Source", source_choices(), lookup="source_prompt__source"),
        *review_filters(),
        *between("characters", "Characters", "characters"),
    )


def review_filters() -> tuple[Filter, ...]:
    """What reviewers said: only of items on which nobody has to judge any more without knowing it."""
    flags = ReviewFlag.objects.filter(reconstruction=OuterRef("pk"))
    return (
        Filter(
            "failed",
            "Check failed",
            (("any", "any check"), *CheckVerdict.Check.choices),
            lambda rows, value: rows.filter(_failed(value)),
        ),
        Filter(
            "reviewer",
            "Reviewer",
            tuple(reviewer_choices()),
            lambda rows, value: rows.filter(_reviewed(reviewer=value)),
        ),
        narrow_by(
            "flagged",
            "Flagged",
            [
                ("now", "put aside now", lambda rows: rows.filter(state=State.FLAGGED)),
                ("ever", "now or before", lambda rows: rows.filter(Exists(flags))),
            ],
        ),
    )


def _languages(model: type[Reconstruction] | type[SourcePrompt]) -> list[tuple[str, str]]:
    return [(code, code) for code in distinct_values(model, "language")]


def _reviewed(**conditions: Any) -> Q:
    reviews = Review.objects.filter(withdrawn_at__isnull=True, **conditions)
    return Q(Exists(reviews.filter(reconstruction=OuterRef("pk")))) & ~Q(state__in=BLIND)


def _failed(check: str) -> Q:
    verdicts: dict[str, str] = {"verdicts__verdict": CheckVerdict.Verdict.FAIL}
    if check != "any":
        verdicts["verdicts__check_name"] = check
    return _reviewed(**verdicts)


def reviews_for(reconstruction: Reconstruction, viewer: User) -> QuerySet[Review]:
    """The standing reviews that `viewer` may see: of an item that is not settled only the viewer's own."""
    reviews = reconstruction.reviews.filter(withdrawn_at__isnull=True)
    if reconstruction.state in BLIND:
        reviews = reviews.filter(reviewer=viewer)
    return reviews.select_related("reviewer").prefetch_related("verdicts").order_by("pk")


def withdrawn_reviews(reconstruction: Reconstruction) -> QuerySet[Review]:
    """Reviews that were taken back, newest first; a page shows who took them back and why, not what they said
    while somebody has to judge anew."""
    withdrawn = reconstruction.reviews.filter(withdrawn_at__isnull=False)
    return withdrawn.select_related("reviewer", "withdrawn_by").order_by("-withdrawn_at")


def review_counts(reviewer: User) -> ReviewCounts:
    own = Review.objects.filter(reviewer=reviewer, withdrawn_at__isnull=True)
    by_decision = dict(own.order_by().values_list("decision").annotate(Count("pk")))
    checks: dict[str, dict[str, int]] = {
        str(label): dict.fromkeys(CheckVerdict.Verdict.values, 0) for label in CheckVerdict.Check.labels
    }
    given = CheckVerdict.objects.filter(review__in=own).order_by()
    for check, verdict, count in given.values_list("check_name", "verdict").annotate(Count("pk")):
        checks[str(CheckVerdict.Check(check).label)][str(verdict)] = count
    accepted, rejected = by_decision.get("accept", 0), by_decision.get("reject", 0)
    return ReviewCounts(accepted + rejected, accepted, rejected, checks)
