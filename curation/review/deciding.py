"""Deciding on an item with the five checks, and what follows from it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from curation.models import (
    CheckVerdict,
    CorpusPrompt,
    Reconstruction,
    Review,
    ReviewDraft,
    ReviewSkip,
    ReviewSlot,
)
from curation.review.settling import Opinion, check_agreement, standing_of
from curation.review.slots import lock_item
from curation.review.terms import (
    Evidence,
    LeaseExpiredError,
    LeaseTakenError,
    NotWaitingError,
    ReviewError,
    VerdictInput,
)
from llm.audit import Change, record_many

State = Reconstruction.State

WITHDRAWN = "the decision that accepted it was withdrawn"
"""Why a corpus prompt without a standing acceptance is excluded."""


@transaction.atomic
def decide(
    *,
    reviewer: User,
    reconstruction_id: int,
    decision: str,
    verdicts: Mapping[str, VerdictInput],
    automatic: bool = False,
    seconds: float | None = None,
) -> Review:
    """Stores one review and what follows from it; the same submission again gives the same review.

    `seconds` is the time with the item in view; without it the draft's own count is taken. Raises
    ReviewError for a decision that is incomplete, contradicts its verdicts, or differs from the one that
    this reviewer has stored; NotWaitingError, LeaseTakenError, LeaseExpiredError for an item that the
    reviewer may not decide on now. `automatic` needs no lease, takes no item out of a person's hands, and
    asks for no second opinion.
    """
    item = lock_item(reconstruction_id)
    earlier = standing_reviews(item).filter(reviewer=reviewer, adjudication=False).first()
    if earlier:
        if _same(earlier, decision, verdicts):
            return earlier
        raise ReviewError({"decision": f"You have decided already: {earlier.decision}. Nothing changed."})
    if problems := problems_of(decision, verdicts):
        raise ReviewError(problems)
    slot = _slot_for(item, reviewer, automatic=automatic)
    draft = ReviewDraft.objects.filter(reconstruction=item, reviewer=reviewer).first()
    review = store_review(
        Review(
            reconstruction=item,
            reviewer=reviewer,
            decision=decision,
            automatic=automatic,
            opened_at=slot.held_since,
            seconds=seconds if seconds is not None or draft is None else draft.seconds,
        ),
        verdicts,
    )
    _fill(slot, review)
    if draft:
        draft.delete()
    ReviewSkip.objects.filter(reconstruction=item, reviewer=reviewer).delete()
    if automatic:
        item.wanted_reviews = 1
        item.slots.filter(review__isnull=True).delete()
    settle(item, action=f"reviewed: {decision}", actor=reviewer)
    return review


def problems_of(decision: str, verdicts: Mapping[str, VerdictInput]) -> dict[str, str]:
    """What is wrong with a decision, by check name or under 'decision'; empty when nothing is. Pure."""
    problems = {
        check: "Choose pass, fail or unsure."
        for check in CheckVerdict.Check.values
        if check not in verdicts or verdicts[check].verdict not in CheckVerdict.Verdict.values
    }
    failed = [v for v in verdicts.values() if v.verdict == CheckVerdict.Verdict.FAIL]
    if unknown := set(verdicts) - set(CheckVerdict.Check.values):
        problems["decision"] = f"There is no check {', '.join(sorted(unknown))}."
    elif decision not in Review.Decision.values:
        problems["decision"] = "Choose accept or reject."
    elif decision == Review.Decision.ACCEPT and failed:
        problems["decision"] = (
            "A text with a failed check cannot be accepted. Reject it, or change the check."
        )
    elif decision == Review.Decision.REJECT and not failed and not any(v.note for v in verdicts.values()):
        problems["decision"] = "To reject, mark at least one check as failed, or say why in a note."
    return problems


def store_review(review: Review, verdicts: Mapping[str, VerdictInput]) -> Review:
    review.save(force_insert=True)
    CheckVerdict.objects.bulk_create(
        CheckVerdict(
            review=review,
            check_name=check,
            verdict=verdicts[check].verdict,
            note=verdicts[check].note,
            evidence=_evidence_json(verdicts[check].evidence),
        )
        for check in CheckVerdict.Check.values
    )
    return review


def standing_reviews(item: Reconstruction) -> QuerySet[Review]:
    """The item's reviews that nobody has withdrawn."""
    return Review.objects.filter(reconstruction=item, withdrawn_at__isnull=True)


def settle(item: Reconstruction, *, action: str, actor: User | None, reason: str = "") -> None:
    """Brings an item (locked by the caller) to the state that its standing reviews amount to, with its
    corpus prompt and slots; one that is put aside with a flag stays there until the flag is resolved."""
    before = item.state
    reviews = list(standing_reviews(item).prefetch_related("verdicts"))
    opinions = [_opinion(review) for review in reviews]
    standing = standing_of(opinions, item.wanted_reviews)
    item.agreement = check_agreement(opinions, CheckVerdict.Check.values)
    if item.state != State.FLAGGED or any(opinion.adjudication for opinion in opinions):
        item.state = State.IN_REVIEW if standing == "waiting" else State(standing)
    item.state_reason = _reason_of(item, reviews)
    item.save(update_fields=["state", "state_reason", "agreement", "wanted_reviews"])
    followed = _set_corpus_prompt(item, actor, reason)
    if item.state == State.IN_REVIEW:
        _ensure_slots(item)
    elif item.state in (State.ACCEPTED, State.REJECTED):
        item.slots.filter(review__isnull=True).delete()
    record_many([Change(item, action, {"state": before}, {"state": item.state}, reason, actor), *followed])


def _opinion(review: Review) -> Opinion:
    verdicts = {verdict.check_name: verdict.verdict for verdict in review.verdicts.all()}
    return Opinion(review.decision, verdicts, review.adjudication)


def _reason_of(item: Reconstruction, reviews: Sequence[Review]) -> str:
    if item.state == State.FLAGGED:
        return item.state_reason
    if item.state == State.DISPUTED:
        return "its reviewers decided differently"
    if item.state != State.REJECTED:
        return ""
    deciding = [review for review in reviews if review.adjudication] or reviews
    failed = {
        verdict.check_name
        for review in deciding
        for verdict in review.verdicts.all()
        if verdict.verdict == CheckVerdict.Verdict.FAIL
    }
    labels = [str(label) for check, label in CheckVerdict.Check.choices if check in failed]
    return f"failed: {'; '.join(labels)}" if labels else "rejected with a note"


def _set_corpus_prompt(item: Reconstruction, actor: User | None, reason: str) -> list[Change]:
    """An accepted item has a corpus prompt; one that was made and has lost its acceptance is withdrawn, not
    deleted, because rubrics and exports may hold it. Returns what to put on record."""
    if item.state == State.ACCEPTED:
        prompt, created = CorpusPrompt.objects.get_or_create(
            reconstruction=item, defaults={"text": item.text, "language": item.language}
        )
        if created:
            return [Change(prompt, "accepted", {}, {"state": "accepted"}, reason, actor)]
        if not prompt.withdrawn_at:
            return []
        prompt.withdrawn_at = None
        if prompt.excluded_because == WITHDRAWN:
            prompt.excluded_because = ""
        prompt.save(update_fields=["withdrawn_at", "excluded_because"])
        return [
            Change(prompt, "accepted again", {"state": "withdrawn"}, {"state": "accepted"}, reason, actor)
        ]
    standing = CorpusPrompt.objects.filter(reconstruction=item, withdrawn_at__isnull=True).first()
    if standing is None:
        return []
    standing.withdrawn_at = timezone.now()
    standing.excluded_because = standing.excluded_because or WITHDRAWN
    standing.save(update_fields=["withdrawn_at", "excluded_because"])
    return [Change(standing, "withdrawn", {"state": "accepted"}, {"state": "withdrawn"}, reason, actor)]


def _ensure_slots(item: Reconstruction) -> None:
    """As many slots as reviews are wanted, those that are filled included."""
    there = set(item.slots.values_list("number", flat=True))
    ReviewSlot.objects.bulk_create(
        ReviewSlot(reconstruction=item, number=number)
        for number in range(item.wanted_reviews)
        if number not in there
    )


def _slot_for(item: Reconstruction, reviewer: User, *, automatic: bool) -> ReviewSlot:
    """The slot that a decision fills, locked. Raises what stands in its way."""
    now = timezone.now()
    slots = list(item.slots.select_for_update().filter(review__isnull=True).order_by("number"))
    held = [s for s in slots if s.holder_id and s.lease_expires_at and s.lease_expires_at > now]
    if own := [s for s in held if s.holder_id == reviewer.pk]:
        return own[0]
    free = [s for s in slots if s not in held]
    if item.state != State.IN_REVIEW or not slots:
        raise NotWaitingError(f"reconstruction {item.pk} is not waiting for review")
    if not free or (automatic and held):
        raise LeaseTakenError(min(s.lease_expires_at for s in held if s.lease_expires_at))
    if not automatic:
        raise LeaseExpiredError(f"the lease on reconstruction {item.pk} has run out")
    return free[0]


def _fill(slot: ReviewSlot, review: Review) -> None:
    slot.review, slot.holder, slot.held_since, slot.lease_expires_at = review, None, None, None
    slot.save(update_fields=["review", "holder", "held_since", "lease_expires_at"])


def _evidence_json(evidence: Evidence | None) -> dict[str, object] | None:
    return evidence.as_json() if evidence else None


def _same(review: Review, decision: str, verdicts: Mapping[str, VerdictInput]) -> bool:
    return review.decision == decision and _stored(review.verdicts.all()) == {
        check: (given.verdict, given.note, _evidence_json(given.evidence))
        for check, given in verdicts.items()
    }


def _stored(verdicts: Iterable[CheckVerdict]) -> dict[str, tuple[str, str, object]]:
    return {v.check_name: (v.verdict, v.note, v.evidence) for v in verdicts}
