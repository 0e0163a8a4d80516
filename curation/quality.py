"""How well reviewers agree, whether they drift, and who reads too fast.

Only items that nobody has to judge blind any more count, and of them only the standing, independent reviews
of people: no adjudications, and nothing that a program decided. Agreement also leaves out the items that a
researcher has reviewed after a decision on them was withdrawn, because they may have seen it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from django.contrib.auth.models import User
from django.contrib.postgres.aggregates import ArrayAgg
from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet

from curation.agreement import DRAWS, Coefficient, cohen_kappa, krippendorff_alpha
from curation.models import CheckVerdict, CurationPolicy, Review
from curation.narrowing import settled_reviews
from curation.pace import ReviewRecord, Third, drift, too_fast
from curation.proportions import Share
from curation.review.undoing import UNDONE
from llm.access import Role

DECISION = "decision"

LATEST = 20_000
"""Reviews that drift and pace look at, the latest (ours): all of what a corpus of the paper's size needs."""

LISTED_FAST = 50

KEPT_KAPPAS = 4_096

Pair = tuple[str, str]
Tables = Mapping[str, Mapping[tuple[int, int], Counter[Pair]]]
"""By check (and 'decision'), by two reviewers, smaller number first: how often they gave which two values."""


@dataclass(frozen=True, slots=True)
class AgreementRow:
    """One check, or the decision. `same` counts the items on which both gave the same; `kappa` is None unless
    exactly two people share items."""

    label: str
    same: Share
    alpha: Coefficient
    kappa: Coefficient | None


@dataclass(frozen=True, slots=True)
class PairRow:
    """Two reviewers with their kappa on the decision and on each check; `n` counts the items they share."""

    first: str
    second: str
    n: int
    kappas: tuple[Coefficient, ...]


@dataclass(frozen=True, slots=True)
class Agreement:
    """`labels` head the columns of the pairs; `not_blind` counts the items that are left out."""

    rows: tuple[AgreementRow, ...]
    pairs: tuple[PairRow, ...]
    labels: tuple[str, ...]
    not_blind: int


@dataclass(frozen=True, slots=True)
class Part:
    """One third of a reviewer's reviews, with times as times."""

    third: Third
    start: datetime
    end: datetime


@dataclass(frozen=True, slots=True)
class ReviewerPace:
    """`fast` counts the reviews that were too fast, of those with a time."""

    name: str
    reviews: int
    parts: tuple[Part, ...]
    fast: Share

    @property
    def marked(self) -> int:
        """How many shares of the thirds lie farther off than chance allows."""
        thirds = (part.third for part in self.parts)
        return sum(rate.marked for third in thirds for rate in (third.accepted, *third.passes.values()))


@dataclass(frozen=True, slots=True)
class FastReview:
    record: ReviewRecord
    name: str
    reconstruction_id: int


@dataclass(frozen=True, slots=True)
class Pace:
    """`looked_at` is the number of reviews; with `more` there are earlier ones."""

    reviewers: tuple[ReviewerPace, ...]
    fast: tuple[FastReview, ...]
    fast_count: int
    untimed: int
    looked_at: int
    more: bool
    fastest: float


def columns() -> list[tuple[str, str]]:
    """What agreement is measured on: (name, label)."""
    return [(DECISION, "Decision"), *((name, str(label)) for name, label in CheckVerdict.Check.choices)]


def independent_reviews() -> QuerySet[Review]:
    """The reviews that count here."""
    return settled_reviews().filter(automatic=False, adjudication=False)


def items_not_read_blind() -> QuerySet[Any, Any]:
    """The items (as `reconstruction`) with a review by a researcher that is younger than the withdrawal of
    another. What reviewers undo themselves is not meant: they can only while nobody sees it."""
    withdrawn = Review.objects.filter(
        reconstruction=OuterRef("reconstruction"), withdrawn_at__lt=OuterRef("created_at")
    )
    by_researchers = Q(reviewer__groups__name=Role.RESEARCHER) | Q(reviewer__is_superuser=True)
    reviews = independent_reviews().filter(by_researchers)
    reviews = reviews.filter(Exists(withdrawn.exclude(withdrawn_because=UNDONE)))
    return reviews.order_by().values("reconstruction").distinct()


def agreement() -> Agreement:
    """Alpha over all who share items, and kappa for each two of them, with intervals."""
    tables = _tables()
    people = {one for pair in tables[DECISION] for one in pair}
    names = dict(User.objects.filter(pk__in=people).values_list("pk", "username"))
    rows = []
    for name, label in columns():
        every = _spread(count for table in tables[name].values() for count in (table,))
        kappa = cohen_kappa(every, draws=DRAWS) if len(people) == 2 else None
        same = Share(sum(one == two for one, two in every), len(every))
        alpha = krippendorff_alpha(_as_ratings(every), "nominal", draws=DRAWS)
        rows.append(AgreementRow(label, same, alpha, kappa))
    pairs = [
        PairRow(
            names[first],
            names[second],
            table.total(),
            tuple(_kappa_of(tables[name].get((first, second), Counter())) for name, _ in columns()),
        )
        for (first, second), table in tables[DECISION].items()
    ]
    pairs.sort(key=lambda row: (-row.n, row.first, row.second))
    labels = tuple(label for _, label in columns())
    return Agreement(tuple(rows), tuple(pairs), labels, items_not_read_blind().count())


def _kappa_of(table: Counter[Pair]) -> Coefficient:
    return _drawn_kappa(tuple(sorted(table.items())))


@lru_cache(maxsize=KEPT_KAPPAS)
def _drawn_kappa(counts: tuple[tuple[Pair, int], ...]) -> Coefficient:
    """To draw takes milliseconds, there are six of these for each pair of people, and the same counts always
    draw the same."""
    return cohen_kappa(_spread([Counter(dict(counts))]), draws=DRAWS)


def pace() -> Pace:
    """Drift and speed of the latest reviews."""
    rows, items = _records()
    fastest = CurationPolicy.current().fastest_characters_per_second
    checks = CheckVerdict.Check.values
    names = dict(User.objects.filter(pk__in={row.reviewer for row in rows}).values_list("pk", "username"))
    fast = too_fast(rows, fastest)
    per_reviewer = Counter(record.reviewer for record in rows)
    timed = Counter(record.reviewer for record in rows if record.seconds is not None)
    fast_of = Counter(record.reviewer for record in fast)
    thirds = drift(rows, checks)
    reviewers = [
        ReviewerPace(
            names[pk],
            count,
            tuple(Part(third, _time(third.start), _time(third.end)) for third in thirds.get(pk, ())),
            Share(fast_of[pk], timed[pk]),
        )
        for pk, count in per_reviewer.items()
    ]
    return Pace(
        tuple(sorted(reviewers, key=lambda one: one.name)),
        tuple(FastReview(one, names[one.reviewer], items[one.review_id]) for one in fast[:LISTED_FAST]),
        len(fast),
        len(rows) - timed.total(),
        len(rows),
        len(rows) == LATEST and independent_reviews().count() > LATEST,
        fastest,
    )


def _tables() -> Tables:
    """Counted in the database: an item of two reviews is one row of one table.

    No item has more than two independent reviews (`curation.review.revising.MOST_REVIEWS`).
    """
    tables: dict[str, dict[tuple[int, int], Counter[Pair]]] = {name: {} for name, _ in columns()}
    other = "reconstruction__reviews"
    blind = independent_reviews().exclude(reconstruction__in=items_not_read_blind())
    pairs = blind.filter(**_other(other), reviewer__lt=F(f"{other}__reviewer")).order_by()
    decisions = pairs.values_list("reviewer", f"{other}__reviewer", "decision", f"{other}__decision")
    for first, second, one, two, count in decisions.annotate(Count("pk")):
        tables[DECISION].setdefault((first, second), Counter())[one, two] += count
    both = pairs.filter(
        Q(verdicts__check_name=F(f"{other}__verdicts__check_name")),
        **_other(other),
        reviewer__lt=F(f"{other}__reviewer"),
    )
    verdicts = both.values_list(
        "reviewer",
        f"{other}__reviewer",
        "verdicts__check_name",
        "verdicts__verdict",
        f"{other}__verdicts__verdict",
    )
    for first, second, check, one, two, count in verdicts.annotate(Count("pk")):
        tables[check].setdefault((first, second), Counter())[one, two] += count
    return tables


def _other(path: str) -> dict[str, bool]:
    return {
        f"{path}__withdrawn_at__isnull": True,
        f"{path}__automatic": False,
        f"{path}__adjudication": False,
    }


def _spread(tables: Iterable[Counter[Pair]]) -> list[Pair]:
    return [pair for table in tables for pair in table.elements()]


def _as_ratings(pairs: Sequence[Pair]) -> list[list[str]]:
    return [[first for first, _ in pairs], [second for _, second in pairs]]


def _records() -> tuple[list[ReviewRecord], dict[int, int]]:
    """The latest reviews, and by review its reconstruction."""
    passed = ArrayAgg(
        "verdicts__check_name", filter=Q(verdicts__verdict=CheckVerdict.Verdict.PASS), default=[]
    )
    latest = independent_reviews().order_by("-pk").values_list("pk", flat=True)[:LATEST]
    rows = (
        Review.objects.filter(pk__in=list(latest))
        .order_by()
        .annotate(passed=passed)
        .values_list(
            "pk",
            "reconstruction",
            "reviewer",
            "created_at",
            "decision",
            "passed",
            "reconstruction__characters",
            "reconstruction__source_prompt__characters",
            "seconds",
            "opened_at",
        )
    )
    records, items = [], defaultdict[int, int](int)
    for pk, item, reviewer, at, decision, checks, own, source, seconds, opened in rows:
        items[pk] = item
        held = (at - opened).total_seconds() if opened else None
        records.append(
            ReviewRecord(
                pk,
                reviewer,
                at.timestamp(),
                decision == Review.Decision.ACCEPT,
                frozenset(checks),
                own + source,
                seconds,
                held,
            )
        )
    return records, items


def _time(epoch: float) -> datetime:
    return datetime.fromtimestamp(epoch, UTC)
