"""Opening items for review, and who holds which: claims, leases, skips, and the state of the queue."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Count, Exists, Min, OuterRef, Q, QuerySet
from django.utils import timezone

from curation.models import CurationPolicy, Reconstruction, Review, ReviewSkip, ReviewSlot
from curation.review.settling import wants_second_review
from curation.review.terms import LeaseTakenError, NotWaitingError, QueueState
from llm.audit import Change, record_many
from llm.models import Run

COUNTED_EXACTLY = 1_000
"""The queue's length is counted up to here; a longer one is 'more than'."""

BATCH = 1_000
KIND = "reconstruction"

State = Reconstruction.State


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
    _lock_reviewer(reviewer)
    held = _with_texts().filter(holder=reviewer, lease_expires_at__gt=timezone.now())
    if slot := held.order_by("-lease_expires_at").first():
        return slot
    skips = ReviewSkip.objects.filter(reconstruction=OuterRef("reconstruction"), reviewer=reviewer)
    if slot := _take_first(reviewer, _free_for(reviewer).filter(~Exists(skips)).order_by("pk")):
        return slot
    skipped = ReviewSkip.objects.filter(reviewer=reviewer).order_by("created_at")
    for pk in skipped.values_list("reconstruction", flat=True):
        if slot := _take_first(reviewer, _free_for(reviewer).filter(reconstruction=pk)):
            return slot
    return None


@transaction.atomic
def claim(*, reviewer: User, reconstruction_id: int) -> ReviewSlot:
    """Takes one particular item, or keeps it. Raises LeaseTakenError and NotWaitingError."""
    _lock_reviewer(reviewer)
    item = lock_item(reconstruction_id)
    now = timezone.now()
    open_slots = list(
        _with_texts().select_for_update(of=("self",)).filter(reconstruction=item).order_by("number")
    )
    held = [slot for slot in open_slots if slot.lease_expires_at and slot.lease_expires_at > now]
    for slot in held:
        if slot.holder_id == reviewer.pk:
            return _lease(slot, reviewer)
    free = [slot for slot in open_slots if slot not in held and not slot.suspended]
    if item.state != State.IN_REVIEW or not open_slots or _has_reviewed(item, reviewer):
        raise NotWaitingError(f"reconstruction {item.pk} is not waiting for your review")
    if not free:
        raise LeaseTakenError(min(slot.lease_expires_at for slot in held if slot.lease_expires_at))
    return _lease(free[0], reviewer)


def renew_lease(*, reviewer: User, reconstruction_id: int) -> datetime | None:
    """When the lease now ends; None when it has run out or the item is no longer the reviewer's."""
    until = _lease_end()
    live = live_slots(reviewer).filter(reconstruction=reconstruction_id)
    return until if live.update(lease_expires_at=until) else None


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
    """How much is left for this reviewer, and what others hold."""
    now = timezone.now()
    free = Q(holder__isnull=True) | Q(lease_expires_at__lte=now) | Q(holder=reviewer)
    earlier = _open_slots().filter(
        free, reconstruction=OuterRef("reconstruction"), number__lt=OuterRef("number")
    )
    mine = _open_slots().filter(free, ~Exists(_standing(reviewer)), ~Exists(earlier))
    waiting = mine.order_by()[: COUNTED_EXACTLY + 1].count()
    others = _open_slots().filter(
        ~Exists(_standing(reviewer)), lease_expires_at__gt=now, holder__isnull=False
    )
    held = others.exclude(holder=reviewer).aggregate(count=Count("pk"), until=Min("lease_expires_at"))
    return QueueState(min(waiting, COUNTED_EXACTLY), waiting > COUNTED_EXACTLY, held["count"], held["until"])


def lock_item(reconstruction_id: int) -> Reconstruction:
    return Reconstruction.objects.select_for_update(no_key=True).get(pk=reconstruction_id)


def live_slots(reviewer: User) -> QuerySet[ReviewSlot]:
    """The slots that a reviewer holds now."""
    return ReviewSlot.objects.filter(
        holder=reviewer, review__isnull=True, lease_expires_at__gt=timezone.now()
    )


def take_slot(slot: ReviewSlot, reviewer: User) -> ReviewSlot:
    """Leases a slot that the caller has locked."""
    return _lease(slot, reviewer)


def _open_slots() -> QuerySet[ReviewSlot]:
    return ReviewSlot.objects.filter(review__isnull=True, suspended=False)


def _with_texts() -> QuerySet[ReviewSlot]:
    return ReviewSlot.objects.filter(review__isnull=True).select_related("reconstruction__source_prompt")


def _standing(reviewer: User) -> QuerySet[Review]:
    return Review.objects.filter(
        reconstruction=OuterRef("reconstruction"), reviewer=reviewer, withdrawn_at__isnull=True
    )


def _has_reviewed(item: Reconstruction, reviewer: User) -> bool:
    return item.reviews.filter(reviewer=reviewer, withdrawn_at__isnull=True).exists()


def _lock_reviewer(reviewer: User) -> None:
    """Two tabs of one reviewer claim one after the other, so that both get the same item."""
    User.objects.select_for_update(no_key=True).only("pk").get(pk=reviewer.pk)


def _free_for(reviewer: User) -> QuerySet[ReviewSlot]:
    now = timezone.now()
    own = ReviewSlot.objects.filter(
        reconstruction=OuterRef("reconstruction"), holder=reviewer, lease_expires_at__gt=now
    )
    return _open_slots().filter(
        Q(holder__isnull=True) | Q(lease_expires_at__lte=now), ~Exists(_standing(reviewer)), ~Exists(own)
    )


def _take_first(reviewer: User, free: QuerySet[ReviewSlot]) -> ReviewSlot | None:
    """Locks the first free slot and leases it. A slot that changed since the query began is looked at again
    by the database under its lock, so one that was just leased is passed over."""
    pk = free.select_for_update(skip_locked=True, of=("self",)).values_list("pk", flat=True).first()
    if pk is None:
        return None
    return _lease(_with_texts().get(pk=pk), reviewer)


def _lease(slot: ReviewSlot, reviewer: User) -> ReviewSlot:
    """A renewal keeps the time since when the item is held."""
    now = timezone.now()
    if slot.holder_id != reviewer.pk or slot.lease_expires_at is None or slot.lease_expires_at <= now:
        slot.holder, slot.held_since = reviewer, now
    slot.lease_expires_at = _lease_end()
    slot.save(update_fields=["holder", "held_since", "lease_expires_at"])
    return slot


def _lease_end() -> datetime:
    return timezone.now() + timedelta(minutes=CurationPolicy.current().lease_minutes)
