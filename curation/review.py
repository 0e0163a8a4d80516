"""The review room's writes: taking an item under a lease, and deciding on it with the five checks of A.1.

    waiting ─► claimed (lease, renewed while the page is open) ─► decided ─► accepted: corpus prompt
                     │ released, or run out                            └───► rejected
                     └──────────► waiting

Every write here locks the reconstruction's row first, so what happens to one item happens in a line.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Count, Exists, Min, OuterRef, Q, QuerySet
from django.utils import timezone

from curation.models import CheckVerdict, CorpusPrompt, Reconstruction, Review, ReviewLease

LEASE_MINUTES = 20
"""How long an item stays with a reviewer whose page says nothing (ours). An open page renews it."""

AUTOMATIC_REVIEWER = "automatic-reviewer"
"""User name of the program that reviews in demonstrations; its reviews are marked `automatic`."""


@dataclass(frozen=True, slots=True)
class VerdictInput:
    """One check as it was filled in; '' for a verdict that was not given."""

    verdict: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class QueueState:
    """`waiting` counts what this reviewer could still take, the item in hand included.

    `held_until` is when the first item that others hold comes free, unless its reader goes on.
    """

    waiting: int
    held_by_others: int
    held_until: datetime | None


class ReviewError(Exception):
    """A decision that cannot be taken as it is: messages by check name, or under 'decision'."""

    def __init__(self, messages: Mapping[str, str]) -> None:
        super().__init__("; ".join(messages.values()))
        self.messages = dict(messages)


class LeaseTakenError(Exception):
    """Another reviewer holds the item until `until`. It never says who."""

    def __init__(self, until: datetime) -> None:
        super().__init__(f"another reviewer holds this item until {until:%H:%M} UTC")
        self.until = until


class LeaseExpiredError(Exception):
    """The reviewer holds no live lease on the item, and nobody else does."""


class NotWaitingError(Exception):
    """The item is not waiting for review, or this reviewer has decided on it already."""


@transaction.atomic
def claim_next(*, reviewer: User, skipped: Sequence[int] = ()) -> Reconstruction | None:
    """The item that the reviewer holds, else the oldest free one; the `skipped` come last, in their order.

    None when nothing is free. Twenty at once get twenty different items.
    """
    _lock_reviewer(reviewer)
    held = ReviewLease.objects.filter(holder=reviewer, expires_at__gt=timezone.now()).order_by("-expires_at")
    for lease in held.select_related("reconstruction"):
        if lease.reconstruction.state == Reconstruction.State.IN_REVIEW:
            return lease.reconstruction
    if item := _take_first(reviewer, _free_for(reviewer).exclude(pk__in=skipped)):
        return item
    for pk in skipped:
        if item := _take_first(reviewer, _free_for(reviewer).filter(pk=pk)):
            return item
    return None


@transaction.atomic
def claim(*, reviewer: User, reconstruction_id: int) -> ReviewLease:
    """Takes one particular item, or keeps it. Raises LeaseTakenError and NotWaitingError."""
    _lock_reviewer(reviewer)
    item = Reconstruction.objects.select_for_update(no_key=True).get(pk=reconstruction_id)
    if item.state != Reconstruction.State.IN_REVIEW or item.reviews.filter(reviewer=reviewer).exists():
        raise NotWaitingError(f"reconstruction {item.pk} is not waiting for your review")
    lease = ReviewLease.objects.filter(reconstruction=item).first()
    if lease and lease.holder_id != reviewer.pk and lease.expires_at > timezone.now():
        raise LeaseTakenError(lease.expires_at)
    return _lease(item, reviewer)


def renew_lease(*, reviewer: User, reconstruction_id: int) -> datetime | None:
    """When the lease now ends; None when it has run out or the item is no longer the reviewer's."""
    now = timezone.now()
    until = now + timedelta(minutes=LEASE_MINUTES)
    live = ReviewLease.objects.filter(
        reconstruction_id=reconstruction_id, holder=reviewer, expires_at__gt=now
    )
    return until if live.update(expires_at=until) else None


def release(*, reviewer: User, reconstruction_id: int) -> None:
    """Puts the reviewer's item back into the queue at once."""
    ReviewLease.objects.filter(reconstruction_id=reconstruction_id, holder=reviewer).delete()


@transaction.atomic
def decide(
    *,
    reviewer: User,
    reconstruction_id: int,
    decision: str,
    verdicts: Mapping[str, VerdictInput],
    automatic: bool = False,
) -> Review:
    """Stores one review and what follows from it; the same submission again gives the same review.

    Raises ReviewError for a decision that is incomplete, contradicts its verdicts, or differs from the one
    that this reviewer has stored; NotWaitingError, LeaseTakenError, LeaseExpiredError for an item that the
    reviewer may not decide on now. `automatic` needs no lease, but takes no item out of a person's hands.
    """
    item = Reconstruction.objects.select_for_update(no_key=True).get(pk=reconstruction_id)
    earlier = Review.objects.filter(reconstruction=item, reviewer=reviewer).first()
    if earlier:
        if _same(earlier, decision, verdicts):
            return earlier
        raise ReviewError({"decision": f"You have decided already: {earlier.decision}. Nothing changed."})
    if problems := problems_of(decision, verdicts):
        raise ReviewError(problems)
    if item.state != Reconstruction.State.IN_REVIEW:
        raise NotWaitingError(f"reconstruction {item.pk} is not waiting for review")
    _require_lease(item, reviewer, automatic=automatic)
    review = Review.objects.create(
        reconstruction=item, reviewer=reviewer, decision=decision, automatic=automatic
    )
    CheckVerdict.objects.bulk_create(
        CheckVerdict(
            review=review, check_name=check, verdict=verdicts[check].verdict, note=verdicts[check].note
        )
        for check in CheckVerdict.Check.values
    )
    _settle(item, review, verdicts)
    ReviewLease.objects.filter(reconstruction=item).delete()
    return review


def problems_of(decision: str, verdicts: Mapping[str, VerdictInput]) -> dict[str, str]:
    """What is wrong with a decision, by check name or under 'decision'; empty when nothing is. Pure."""
    problems = {
        check: "Choose pass, fail or unsure."
        for check in CheckVerdict.Check.values
        if check not in verdicts or verdicts[check].verdict not in CheckVerdict.Verdict.values
    }
    failed = [v for v in verdicts.values() if v.verdict == CheckVerdict.Verdict.FAIL]
    if decision not in Review.Decision.values:
        problems["decision"] = "Choose accept or reject."
    elif decision == Review.Decision.ACCEPT and failed:
        problems["decision"] = (
            "A text with a failed check cannot be accepted. Reject it, or change the check."
        )
    elif decision == Review.Decision.REJECT and not failed and not any(v.note for v in verdicts.values()):
        problems["decision"] = "To reject, mark at least one check as failed, or say why in a note."
    return problems


def queue_state(*, reviewer: User) -> QueueState:
    """How much is left for this reviewer, and what others hold."""
    held = Q(lease__expires_at__gt=timezone.now()) & ~Q(lease__holder=reviewer)
    open_items = Reconstruction.objects.filter(state=Reconstruction.State.IN_REVIEW).filter(
        ~Exists(Review.objects.filter(reconstruction=OuterRef("pk"), reviewer=reviewer))
    )
    counts = open_items.aggregate(
        all=Count("pk"), held=Count("pk", filter=held), until=Min("lease__expires_at", filter=held)
    )
    return QueueState(counts["all"] - counts["held"], counts["held"], counts["until"])


def _lock_reviewer(reviewer: User) -> None:
    """Two tabs of one reviewer claim one after the other, so that both get the same item."""
    User.objects.select_for_update(no_key=True).get(pk=reviewer.pk)


def _free_for(reviewer: User) -> QuerySet[Reconstruction]:
    live = ReviewLease.objects.filter(reconstruction=OuterRef("pk"), expires_at__gt=timezone.now())
    own = Review.objects.filter(reconstruction=OuterRef("pk"), reviewer=reviewer)
    return Reconstruction.objects.filter(
        ~Exists(live), ~Exists(own), state=Reconstruction.State.IN_REVIEW
    ).order_by("pk")


def _take_first(reviewer: User, free: QuerySet[Reconstruction]) -> Reconstruction | None:
    """Locks the first free item and leases it.

    A lease that was stored between the start of the query and the lock is not in the query's snapshot, so
    the lease is read again under the lock; an item lost that way is left out of the next look.
    """
    lost: list[int] = []
    while item := free.exclude(pk__in=lost).select_for_update(skip_locked=True, no_key=True).first():
        lease = ReviewLease.objects.filter(reconstruction=item, expires_at__gt=timezone.now()).first()
        if lease is None:
            _lease(item, reviewer)
            return item
        lost.append(item.pk)
    return None


def _lease(item: Reconstruction, reviewer: User) -> ReviewLease:
    until = timezone.now() + timedelta(minutes=LEASE_MINUTES)
    lease, _ = ReviewLease.objects.update_or_create(
        reconstruction=item, defaults={"holder": reviewer, "expires_at": until}
    )
    return lease


def _require_lease(item: Reconstruction, reviewer: User, *, automatic: bool) -> None:
    lease = ReviewLease.objects.filter(reconstruction=item, expires_at__gt=timezone.now()).first()
    if lease and lease.holder_id != reviewer.pk:
        raise LeaseTakenError(lease.expires_at)
    if lease is None and not automatic:
        raise LeaseExpiredError(f"the lease on reconstruction {item.pk} has run out")


def _settle(item: Reconstruction, review: Review, verdicts: Mapping[str, VerdictInput]) -> None:
    if review.decision == Review.Decision.ACCEPT:
        item.state, item.state_reason = Reconstruction.State.ACCEPTED, ""
        CorpusPrompt.objects.create(reconstruction=item, text=item.text, language=item.language)
    else:
        failed = [
            str(CheckVerdict.Check(check).label)
            for check in CheckVerdict.Check.values
            if verdicts[check].verdict == CheckVerdict.Verdict.FAIL
        ]
        item.state = Reconstruction.State.REJECTED
        item.state_reason = f"failed: {'; '.join(failed)}" if failed else "rejected with a note"
    item.save(update_fields=["state", "state_reason"])


def _same(review: Review, decision: str, verdicts: Mapping[str, VerdictInput]) -> bool:
    stored = {v.check_name: VerdictInput(v.verdict, v.note) for v in review.verdicts.all()}
    return review.decision == decision and stored == dict(verdicts)
