"""Putting an item aside for a researcher, and putting it back."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from curation.models import Reconstruction, ReviewFlag
from curation.review.deciding import settle
from curation.review.slots import live_slots, lock_item, release
from curation.review.terms import LONGEST_NOTE, LeaseExpiredError, NotWaitingError, ReviewError
from llm.audit import record

State = Reconstruction.State


@transaction.atomic
def flag(*, reviewer: User, reconstruction_id: int, reason: str) -> ReviewFlag:
    """Takes an item that the reviewer holds out of the queue, with the reason; what was filled in is kept.

    Someone who reads it at the same time may finish. The same flag again answers as it did the first time.
    Raises ReviewError without a reason, NotWaitingError for an item that is put aside or settled already,
    LeaseExpiredError without a lease.
    """
    reason = reason.replace("\0", "").strip()
    if not reason or len(reason) > LONGEST_NOTE:
        raise ReviewError({"flag": f"Say why, in at most {LONGEST_NOTE:,} characters."})
    item = lock_item(reconstruction_id)
    if item.state == State.FLAGGED and (same := _open_flags(item).filter(reviewer=reviewer, reason=reason)):
        return same[0]
    if item.state != State.IN_REVIEW:
        raise NotWaitingError(f"reconstruction {item.pk} is not waiting for review")
    if not live_slots(reviewer).filter(reconstruction=item).exists():
        raise LeaseExpiredError(f"the lease on reconstruction {item.pk} has run out")
    made = ReviewFlag.objects.create(reconstruction=item, reviewer=reviewer, reason=reason)
    release(reviewer=reviewer, reconstruction_id=item.pk)
    item.slots.filter(review__isnull=True).update(suspended=True)
    item.state, item.state_reason = State.FLAGGED, reason
    item.save(update_fields=["state", "state_reason"])
    record(
        item,
        "flagged",
        before={"state": State.IN_REVIEW.value},
        after={"state": item.state},
        reason=reason,
        actor=reviewer,
    )
    return made


@transaction.atomic
def resolve_flag(*, by: User, reconstruction_id: int, resolution: str) -> None:
    """Puts a flagged item back where its reviews have brought it. Raises NotWaitingError for any other."""
    item = lock_item(reconstruction_id)
    if item.state != State.FLAGGED:
        raise NotWaitingError(f"reconstruction {item.pk} is not put aside")
    close_flag(item, by=by, resolution=resolution)
    item.state = State.IN_REVIEW
    settle(item, action="put back", actor=by, reason=resolution)


def close_flag(item: Reconstruction, *, by: User, resolution: str) -> None:
    """Ends the item's open flag, if it has one; the caller has locked the item and settles it."""
    _open_flags(item).update(resolved_at=timezone.now(), resolved_by=by, resolution=resolution)
    item.slots.filter(suspended=True).update(suspended=False)


def _open_flags(item: Reconstruction) -> QuerySet[ReviewFlag]:
    return ReviewFlag.objects.filter(reconstruction=item, resolved_at__isnull=True)
