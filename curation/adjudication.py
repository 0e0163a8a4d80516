"""Reads for those who settle: what waits for a decision, and what the reviewers gave, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db.models import Exists, F, OuterRef, QuerySet, Subquery
from django.db.models.functions import Left

from curation.models import CheckVerdict, Reconstruction, Review, ReviewFlag
from curation.selectors import EXCERPT, reviews_for
from llm.listing import count_of

State = Reconstruction.State


@dataclass(frozen=True, slots=True)
class SideBySide:
    """The independent reviews of an item, and by check what each gave."""

    reviews: tuple[Review, ...]
    given: Mapping[str, tuple[CheckVerdict | None, ...]]

    @property
    def agreed(self) -> dict[str, str]:
        """The verdicts that all reviewers share, by check; none with fewer than two reviewers."""
        if len(self.reviews) < 2:
            return {}
        verdicts = {
            check: {each.verdict if each else "" for each in row} for check, row in self.given.items()
        }
        return {
            check: found.pop() for check, found in verdicts.items() if len(found) == 1 and "" not in found
        }


def disputed_rows(viewer: User) -> QuerySet[Reconstruction]:
    """Items that reviewers disagree on, lowest agreement first; `own` where the viewer is one of them."""
    own = Review.objects.filter(
        reconstruction=OuterRef("pk"), reviewer=viewer, withdrawn_at__isnull=True, adjudication=False
    )
    standing = Review.objects.filter(withdrawn_at__isnull=True, adjudication=False)
    return (
        Reconstruction.objects.filter(state=State.DISPUTED)
        .only("language", "characters", "agreement")
        .annotate(
            beginning=Left("text", EXCERPT),
            own=Exists(own),
            review_count=count_of(standing, "reconstruction"),
        )
        .order_by(F("agreement").asc(nulls_first=True), "pk")
    )


def flagged_rows() -> QuerySet[Reconstruction]:
    """Items that are put aside, the one that has waited longest first, with who flagged it, when and why."""
    flags = ReviewFlag.objects.filter(reconstruction=OuterRef("pk"), resolved_at__isnull=True)
    return (
        Reconstruction.objects.filter(state=State.FLAGGED)
        .only("language", "characters")
        .annotate(
            beginning=Left("text", EXCERPT),
            flagged_by=Subquery(flags.values("reviewer__username")[:1]),
            flagged_at=Subquery(flags.values("created_at")[:1]),
            flag_reason=Subquery(flags.values("reason")[:1]),
        )
        .order_by("flagged_at", "pk")
    )


def side_by_side(item: Reconstruction, viewer: User) -> SideBySide:
    """What `viewer` may see of the item's independent reviews."""
    reviews = [review for review in reviews_for(item, viewer) if not review.adjudication]
    return SideBySide(tuple(reviews), {check: _given(reviews, check) for check in CheckVerdict.Check.values})


def _given(reviews: Sequence[Review], check: str) -> tuple[CheckVerdict | None, ...]:
    by_review = [{verdict.check_name: verdict for verdict in review.verdicts.all()} for review in reviews]
    return tuple(verdicts.get(check) for verdicts in by_review)
