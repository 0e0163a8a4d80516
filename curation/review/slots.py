"""Opening items for review, and who holds which: claims, leases, skips, and the state of the queue."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from curation.models import CurationPolicy, Reconstruction, ReviewSkip, ReviewSlot
from curation.review import statements
from curation.review.settling import wants_second_review
from curation.review.terms import LeaseTakenError, LeftForOthers, NotWaitingError, QueueState
from curation.review.texts import SLOT, slot_with_texts
from llm import sql
from llm.audit import Change, record_many
from llm.models import Run

COUNTED_EXACTLY = 200
"""The queue's length is counted up to here; a longer one is 'more than'."""

REVIEWER_LOCK = 0x7265_7669
"""Which of the database's advisory locks are those of reviewers."""

BATCH = 1_000
KIND = "reconstruction"

State = Reconstruction.State

_USUAL_MINUTES = CurationPolicy().lease_minutes
_LOCKED = sql.Columns(
    Reconstruction, "item", only=["id", "state", "state_reason", "wanted_reviews", "agreement"]
)
_LOCK_ITEM = f"""
    SELECT {_LOCKED.listed} FROM curation_reconstruction AS item WHERE item.id = %(item)s FOR NO KEY UPDATE
"""  # noqa: S608 - of the model's columns
_OPEN_SLOTS = f"""
    SELECT {SLOT.listed} FROM curation_reviewslot AS slot
    WHERE slot.reconstruction_id = %(item)s AND slot.review_id IS NULL ORDER BY slot.number FOR UPDATE
"""  # noqa: S608 - of the models' columns


@transaction.atomic
def open_for_review(*, reconstruction_ids: Collection[int], run: Run | None = None) -> None:
    """Puts items into the queue: a slot each, and a second one for the policy's share of them.

    Those that are in the queue, or past it, already are left alone.
    """
    policy = CurationPolicy.current()
    before = (State.REWRITTEN, State.PLANNED)
    found = Reconstruction.objects.select_for_update().filter(pk__in=reconstruction_ids, state__in=before)
    states = dict(found.order_by("pk").values_list("pk", "state"))
    second = {
        pk
        for pk in states
        if wants_second_review(pk, share=policy.second_review_share, seed=policy.second_review_seed)
    }
    for wanted, chosen in ((1, states.keys() - second), (2, second)):
        Reconstruction.objects.filter(pk__in=chosen).update(
            state=State.IN_REVIEW, state_reason="", wanted_reviews=wanted
        )
    ReviewSlot.objects.bulk_create(
        (
            ReviewSlot(reconstruction_id=pk, number=number)
            for pk in states
            for number in range(2 if pk in second else 1)
        ),
        batch_size=BATCH,
        ignore_conflicts=True,
    )
    after = {"state": State.IN_REVIEW.value}
    record_many(
        Change((KIND, pk), "opened for review", {"state": state}, after, run=run)
        for pk, state in states.items()
    )


@transaction.atomic
def claim_next(*, reviewer: User) -> ReviewSlot | None:
    """The slot that the reviewer holds, else the oldest free one; what they skipped comes last.

    None when nothing is free. Twenty at once get twenty different slots, and nobody gets two of one item.
    """
    sql.fetch(statements.LOCK_REVIEWER_IN_NO_HURRY, _reviewer_lock(reviewer))
    lease = _lease(reviewer)
    taken = sql.fetch(statements.TAKE_NEXT, lease) or sql.fetch(statements.TAKE_SKIPPED, lease)
    return slot_with_texts(taken[0]) if taken else None


@transaction.atomic
def claim(*, reviewer: User, reconstruction_id: int) -> ReviewSlot:
    """Takes one particular item, or keeps it. Raises LeaseTakenError and NotWaitingError."""
    sql.fetch(statements.LOCK_REVIEWER, _reviewer_lock(reviewer))
    item = lock_item(reconstruction_id)
    now = timezone.now()
    open_slots = open_slots_of(item)
    held = [slot for slot in open_slots if slot.lease_expires_at and slot.lease_expires_at > now]
    for slot in held:
        if slot.holder_id == reviewer.pk:
            return take_slot(slot, reviewer)
    free = [slot for slot in open_slots if slot not in held and not slot.suspended]
    if item.state != State.IN_REVIEW or not open_slots or _has_reviewed(item, reviewer):
        raise NotWaitingError(f"reconstruction {item.pk} is not waiting for your review")
    if not free:
        raise LeaseTakenError(min(slot.lease_expires_at for slot in held if slot.lease_expires_at))
    return take_slot(free[0], reviewer)


def renew_lease(*, reviewer: User, reconstruction_id: int) -> datetime | None:
    """When the lease now ends; None when it has run out or the item is no longer the reviewer's."""
    renewed = sql.fetch(statements.RENEW, _lease(reviewer) | {"item": reconstruction_id})
    return renewed[0][0] if renewed else None


def release(*, reviewer: User, reconstruction_id: int) -> None:
    """Puts the reviewer's item back into the queue at once; what was filled in stays as a draft."""
    ReviewSlot.objects.filter(reconstruction=reconstruction_id, holder=reviewer, review__isnull=True).update(
        holder=None, held_since=None, lease_expires_at=None
    )


@transaction.atomic
def skip(*, reviewer: User, reconstruction_id: int) -> None:
    """Puts the item back; it comes again, to this person, after all others."""
    release(reviewer=reviewer, reconstruction_id=reconstruction_id)
    ReviewSkip.objects.update_or_create(
        reviewer=reviewer,
        reconstruction_id=reconstruction_id,
        defaults={"created_at": timezone.now()},
    )


def queue_state(*, reviewer: User) -> QueueState:
    """How much is left for this reviewer, and what others hold; if nothing is left, what waits for others."""
    statement = statements.queue_state(COUNTED_EXACTLY + 1)
    [(waiting, held, until)] = sql.fetch(statement, {"reviewer": reviewer.pk, "now": timezone.now()})
    if waiting:
        return QueueState(min(waiting, COUNTED_EXACTLY), waiting > COUNTED_EXACTLY, held, until)
    [counts] = sql.fetch(statements.LEFT_FOR_OTHERS, {"reviewer": reviewer.pk})
    return QueueState(0, False, held, until, LeftForOthers(*counts))


def lock_item(reconstruction_id: int) -> Reconstruction:
    """The item with what reviews change of it, locked until the transaction ends; the rest is deferred.

    Raises Reconstruction.DoesNotExist.
    """
    found = _LOCKED.load(_LOCK_ITEM, {"item": reconstruction_id})
    if not found:
        raise Reconstruction.DoesNotExist(f"there is no reconstruction {reconstruction_id}")
    return found[0]


def live_slots(reviewer: User) -> QuerySet[ReviewSlot]:
    """The slots that a reviewer holds now."""
    return ReviewSlot.objects.filter(
        holder=reviewer, review__isnull=True, lease_expires_at__gt=timezone.now()
    )


def open_slots_of(item: Reconstruction) -> list[ReviewSlot]:
    """The slots of an item (locked by the caller) that no review fills, locked, by number."""
    return SLOT.load(_OPEN_SLOTS, {"item": item.pk})


def take_slot(slot: ReviewSlot, reviewer: User) -> ReviewSlot:
    """Leases a slot that the caller has locked. A renewal keeps the time since when the item is held."""
    return slot_with_texts(sql.fetch(statements.LEASE, _lease(reviewer) | {"slot": slot.pk})[0])


def _has_reviewed(item: Reconstruction, reviewer: User) -> bool:
    return item.reviews.filter(reviewer=reviewer, withdrawn_at__isnull=True).exists()


def _reviewer_lock(reviewer: User) -> sql.Parameters:
    """Two tabs of one reviewer claim one after the other, so that both get the same item."""
    return {"lock": REVIEWER_LOCK, "reviewer": reviewer.pk}


def _lease(reviewer: User) -> dict[str, Any]:
    return {"reviewer": reviewer.pk, "now": timezone.now(), "usual_minutes": _USUAL_MINUTES}
