"""Deciding on an item with the five checks, and what follows from it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from curation.models import (
    CheckVerdict,
    CorpusPrompt,
    Reconstruction,
    Review,
    ReviewSlot,
)
from curation.review import statements
from curation.review.settling import Opinion, check_agreement, standing_of
from curation.review.slots import lock_item, open_slots_of
from curation.review.terms import (
    Evidence,
    LeaseExpiredError,
    LeaseTakenError,
    NotWaitingError,
    ReviewError,
    VerdictInput,
)
from llm import sql
from llm.audit import Change, record_many

State = Reconstruction.State

PROMPT_KIND = str(CorpusPrompt._meta.verbose_name)
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
    others = standing_opinions(item)
    if any(opinion.reviewer == reviewer.pk and not opinion.adjudication for opinion in others):
        return _again(item, reviewer, decision, verdicts)
    if problems := problems_of(decision, verdicts):
        raise ReviewError(problems)
    slot = _slot_for(item, reviewer, automatic=automatic)
    review = store_review(
        Review(
            reconstruction=item,
            reviewer=reviewer,
            decision=decision,
            automatic=automatic,
            opened_at=slot.held_since,
            seconds=seconds,
        ),
        verdicts,
        slot=slot,
    )
    if automatic:
        item.wanted_reviews = 1
        item.slots.filter(review__isnull=True).delete()
    given = {check: verdict.verdict for check, verdict in verdicts.items()}
    settle(
        item,
        action=f"reviewed: {decision}",
        actor=reviewer,
        opinions=[*others, Opinion(decision, given, reviewer=reviewer.pk)],
    )
    return review


def _again(
    item: Reconstruction, reviewer: User, decision: str, verdicts: Mapping[str, VerdictInput]
) -> Review:
    earlier = standing_reviews(item).get(reviewer=reviewer, adjudication=False)
    if says_the_same(earlier, decision, verdicts):
        return earlier
    raise ReviewError({"decision": f"You have decided already: {earlier.decision}. Nothing changed."})


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


def store_review(
    review: Review, verdicts: Mapping[str, VerdictInput], *, slot: ReviewSlot | None = None
) -> Review:
    """Stores a new review with its verdicts, in a slot that the caller has locked; the reviewer's draft and
    skip of the item go with it."""
    review.created_at = timezone.now()
    given = [(check, verdicts[check]) for check in CheckVerdict.Check.values]
    [(review.pk, review.seconds)] = sql.fetch(
        statements.STORE_REVIEW,
        {
            "item": review.reconstruction_id,
            "reviewer": review.reviewer_id,
            "decision": review.decision,
            "automatic": review.automatic,
            "adjudication": review.adjudication,
            "opened_at": review.opened_at,
            "seconds": review.seconds,
            "now": review.created_at,
            "slot": slot.pk if slot else None,
            "checks": [check for check, _ in given],
            "verdicts": [verdict.verdict for _, verdict in given],
            "notes": [verdict.note for _, verdict in given],
            "evidence": [_as_text(verdict.evidence) for _, verdict in given],
        },
    )
    review._state.adding = False
    return review


def standing_reviews(item: Reconstruction) -> QuerySet[Review]:
    """The item's reviews that nobody has withdrawn."""
    return Review.objects.filter(reconstruction=item, withdrawn_at__isnull=True)


def standing_opinions(item: Reconstruction) -> list[Opinion]:
    """What the item's standing reviews say."""
    return [
        Opinion(decision, dict(zip(checks or (), verdicts or (), strict=True)), adjudication, reviewer)
        for decision, adjudication, reviewer, checks, verdicts in sql.fetch(
            statements.OPINIONS, {"item": item.pk}
        )
    ]


def settle(
    item: Reconstruction,
    *,
    action: str,
    actor: User | None,
    reason: str = "",
    opinions: Sequence[Opinion] | None = None,
) -> None:
    """Brings an item (locked by the caller) to the state that its standing reviews amount to, with its
    corpus prompt and slots; one that is put aside with a flag stays there until the flag is resolved.

    `opinions` are those of the standing reviews, for a caller who knows them.
    """
    before = item.state
    if opinions is None:
        opinions = standing_opinions(item)
    standing = standing_of(opinions, item.wanted_reviews)
    item.agreement = check_agreement(opinions, CheckVerdict.Check.values)
    if item.state != State.FLAGGED or any(opinion.adjudication for opinion in opinions):
        item.state = State.IN_REVIEW if standing == "waiting" else State(standing)
    item.state_reason = _reason_of(item, opinions)
    made = _store_state(item)
    if made:
        subject = (PROMPT_KIND, made[0][0])
        followed = [Change(subject, "accepted", {}, {"state": "accepted"}, reason, actor)]
    else:
        followed = _set_corpus_prompt(item, actor, reason)
    if item.state == State.IN_REVIEW:
        _ensure_slots(item)
    record_many([Change(item, action, {"state": before}, {"state": item.state}, reason, actor), *followed])


def _store_state(item: Reconstruction) -> list[tuple[Any, ...]]:
    """Returns the id of the corpus prompt, if this made it."""
    return sql.fetch(
        statements.STORE_STATE,
        {
            "item": item.pk,
            "state": str(item.state),
            "state_reason": item.state_reason,
            "agreement": item.agreement,
            "wanted": item.wanted_reviews,
            "now": timezone.now(),
        },
    )


def _reason_of(item: Reconstruction, opinions: Sequence[Opinion]) -> str:
    if item.state == State.FLAGGED:
        return item.state_reason
    if item.state == State.DISPUTED:
        return "its reviewers decided differently"
    if item.state != State.REJECTED:
        return ""
    deciding = [opinion for opinion in opinions if opinion.adjudication] or opinions
    failed = {
        check
        for opinion in deciding
        for check, verdict in opinion.verdicts.items()
        if verdict == CheckVerdict.Verdict.FAIL
    }
    labels = [str(label) for check, label in CheckVerdict.Check.choices if check in failed]
    return f"failed: {'; '.join(labels)}" if labels else "rejected with a note"


def _set_corpus_prompt(item: Reconstruction, actor: User | None, reason: str) -> list[Change]:
    """Brings the corpus prompt that an item has had before to where its acceptance stands. One that has lost
    it is withdrawn, not deleted, because rubrics and exports may hold it. Returns what to put on record."""
    if item.state != State.ACCEPTED:
        return _withdraw_prompt(item, actor, reason)
    prompt = CorpusPrompt.objects.get(reconstruction=item)
    if not prompt.withdrawn_at:
        return []
    prompt.withdrawn_at = None
    if prompt.excluded_because == WITHDRAWN:
        prompt.excluded_because = ""
    prompt.save(update_fields=["withdrawn_at", "excluded_because"])
    return [Change(prompt, "accepted again", {"state": "withdrawn"}, {"state": "accepted"}, reason, actor)]


def _withdraw_prompt(item: Reconstruction, actor: User | None, reason: str) -> list[Change]:
    parameters = {"item": item.pk, "now": timezone.now(), "because": WITHDRAWN}
    return [
        Change((PROMPT_KIND, pk), "withdrawn", {"state": "accepted"}, {"state": "withdrawn"}, reason, actor)
        for (pk,) in sql.fetch(statements.WITHDRAW_PROMPT, parameters)
    ]


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
    slots = open_slots_of(item)
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


def _as_text(evidence: Evidence | None) -> str | None:
    return json.dumps(evidence.as_json()) if evidence else None


def _evidence_json(evidence: Evidence | None) -> dict[str, object] | None:
    return evidence.as_json() if evidence else None


def says_the_same(review: Review, decision: str, verdicts: Mapping[str, VerdictInput]) -> bool:
    """Whether a stored review has just this decision with these verdicts, notes and passages."""
    return review.decision == decision and _stored(review.verdicts.all()) == {
        check: (given.verdict, given.note, _evidence_json(given.evidence))
        for check, given in verdicts.items()
    }


def _stored(verdicts: Iterable[CheckVerdict]) -> dict[str, tuple[str, str, object]]:
    return {v.check_name: (v.verdict, v.note, v.evidence) for v in verdicts}
