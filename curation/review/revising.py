"""What researchers do with decisions: settle a disagreement, withdraw a review, ask for another one."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from curation.models import Reconstruction, Review
from curation.review.deciding import problems_of, says_the_same, settle, standing_reviews, store_review
from curation.review.flags import close_flag
from curation.review.slots import lock_item
from curation.review.terms import NotWaitingError, ReviewError, VerdictInput
from llm.audit import history_of

State = Reconstruction.State

MOST_REVIEWS = 2
"""Independent reviews that one item can have; a disagreement between them goes to a researcher (ours)."""


@transaction.atomic
def adjudicate(
    *,
    adjudicator: User,
    reconstruction_id: int,
    decision: str,
    verdicts: Mapping[str, VerdictInput],
    reason: str,
) -> Review:
    """Decides on a disputed or flagged item; the same submission again gives the same review. Raises
    NotWaitingError for any other item, ReviewError without a reason or for a decision that contradicts its
    verdicts."""
    if not reason.strip():
        raise ReviewError({"reason": "Say why."})
    if problems := problems_of(decision, verdicts):
        raise ReviewError(problems)
    item = lock_item(reconstruction_id)
    if item.state not in (State.DISPUTED, State.FLAGGED):
        if earlier := _same_adjudication(item, adjudicator, decision, verdicts, reason.strip()):
            return earlier
        raise NotWaitingError(f"reconstruction {item.pk} waits for no adjudication")
    close_flag(item, by=adjudicator, resolution=f"decided: {decision}")
    review = store_review(
        Review(
            reconstruction=item,
            reviewer=adjudicator,
            decision=decision,
            adjudication=True,
        ),
        verdicts,
    )
    settle(item, action=_adjudicated(decision), actor=adjudicator, reason=reason.strip())
    return review


def _same_adjudication(
    item: Reconstruction, adjudicator: User, decision: str, verdicts: Mapping[str, VerdictInput], reason: str
) -> Review | None:
    """The standing adjudication of this person with just this content. Its reason is in the history."""
    earlier = standing_reviews(item).filter(reviewer=adjudicator, adjudication=True).first()
    if earlier is None or not says_the_same(earlier, decision, verdicts):
        return None
    entry = history_of(item).filter(action=_adjudicated(decision), actor=adjudicator).first()
    return earlier if entry and entry.reason == reason else None


def _adjudicated(decision: str) -> str:
    return f"adjudicated: {decision}"


@transaction.atomic
def withdraw(*, review_id: int, by: User, reason: str) -> Review:
    """Takes a review back for good. The item goes where its other reviews bring it, mostly into the queue,
    and its corpus prompt is withdrawn with it. Raises ReviewError without a reason, NotWaitingError for a
    review that is withdrawn already."""
    if not reason.strip():
        raise ReviewError({"reason": "Say why."})
    item = lock_item(Review.objects.values_list("reconstruction", flat=True).get(pk=review_id))
    review = Review.objects.select_for_update().get(pk=review_id)
    if review.withdrawn_at:
        raise NotWaitingError(f"review {review.pk} is withdrawn already")
    take_back(review, by=by, reason=reason.strip())
    settle(item, action=f"review withdrawn: {review.decision}", actor=by, reason=reason.strip())
    return review


@transaction.atomic
def ask_for_second_review(*, reconstruction_ids: Collection[int], by: User) -> int:
    """Wants a second, blind review of items that wait for their first or only one. Returns of how many;
    items that are settled, put aside, or have two already are left alone."""
    found = Reconstruction.objects.select_for_update(no_key=True).filter(
        pk__in=reconstruction_ids, state=State.IN_REVIEW, wanted_reviews__lt=MOST_REVIEWS
    )
    items = list(found.order_by("pk"))
    for item in items:
        item.wanted_reviews = MOST_REVIEWS
        settle(item, action="second review asked for", actor=by)
    return len(items)


def take_back(review: Review, *, by: User, reason: str) -> None:
    """Marks a review as withdrawn and frees its slot; the caller has locked the item and settles it."""
    review.withdrawn_at, review.withdrawn_by, review.withdrawn_because = timezone.now(), by, reason
    review.save(update_fields=["withdrawn_at", "withdrawn_by", "withdrawn_because"])
    review.reconstruction.slots.filter(review=review).update(review=None)
