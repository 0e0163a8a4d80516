"""Taking back what one did last: a decision, a skip, or a flag."""

from __future__ import annotations

from datetime import timedelta

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from curation.models import (
    CorpusPrompt,
    Reconstruction,
    Review,
    ReviewDraft,
    ReviewSkip,
)
from curation.review import statements
from curation.review.deciding import settle, standing_reviews
from curation.review.flags import close_flag
from curation.review.revising import take_back
from curation.review.slots import claim, lock_item, take_slot
from curation.review.terms import LastAction, LeaseTakenError, NotWaitingError, UndoError
from llm import sql

UNDO_HOURS = 24
"""How long a reviewer can take back an action; later ones are withdrawn by a researcher (ours)."""

UNDONE = "undone by the reviewer"

State = Reconstruction.State


def last_action(*, reviewer: User) -> LastAction | None:
    """What the reviewer did last, if it is recent enough to be taken back."""
    parameters = {"reviewer": reviewer.pk, "since": timezone.now() - timedelta(hours=UNDO_HOURS)}
    found = sql.fetch(statements.LAST_ACTION, parameters)
    return LastAction(*found[0]) if found else None


@transaction.atomic
def undo(*, reviewer: User) -> LastAction:
    """Takes back the reviewer's last action: the item is in their hands again, with what they had filled in.

    Raises UndoError when there is nothing to take back, when something has been built on it since, or when
    it is one of several reviews that are all in: from then on researchers see them, and a new one would not
    be blind.
    """
    action = last_action(reviewer=reviewer)
    if action is None:
        raise UndoError("There is nothing to undo.")
    item = lock_item(action.reconstruction_id)
    if action.kind == "skip":
        ReviewSkip.objects.filter(reviewer=reviewer, reconstruction=item).delete()
    elif action.kind == "flag":
        close_flag(item, by=reviewer, resolution=UNDONE)
        item.state = State.IN_REVIEW
        settle(item, action="flag undone", actor=reviewer)
    else:
        _undo_review(item, reviewer)
        return action
    try:
        claim(reviewer=reviewer, reconstruction_id=item.pk)
    except (LeaseTakenError, NotWaitingError):
        raise UndoError(f"Item {item.pk} is in another reviewer's hands, or decided, by now.") from None
    return action


def _undo_review(item: Reconstruction, reviewer: User) -> None:
    review = standing_reviews(item).select_related("slot").get(reviewer=reviewer, adjudication=False)
    standing = standing_reviews(item)
    if standing.filter(adjudication=True).exists():
        raise UndoError(f"A researcher has settled item {item.pk} since. Ask them to withdraw it.")
    if 1 < item.wanted_reviews <= standing.filter(adjudication=False).count():
        raise UndoError(f"All reviews of item {item.pk} are in. Ask a researcher to withdraw yours.")
    if built := _built_on(item):
        raise UndoError(f"{built} was made of item {item.pk} since. Ask a researcher to withdraw it.")
    slot = getattr(review, "slot", None)
    take_back(review, by=reviewer, reason=UNDONE)
    _restore_draft(review)
    settle(item, action=f"undone: {review.decision}", actor=reviewer)
    freed = item.slots.select_for_update().filter(review__isnull=True)
    take_slot(freed.get(pk=slot.pk) if slot else freed.filter(holder__isnull=True)[0], reviewer)


def _built_on(item: Reconstruction) -> str:
    """The kind of the first thing that was made of the item's corpus prompt, '' for nothing."""
    prompt = CorpusPrompt.objects.filter(reconstruction=item).first()
    if prompt is None:
        return ""
    for relation in CorpusPrompt._meta.related_objects:
        rows = relation.related_model._base_manager.filter(**{relation.field.name: prompt})
        if rows.exists():
            return f"a {relation.related_model._meta.verbose_name}".capitalize()
    return ""


def _restore_draft(review: Review) -> None:
    content = {
        verdict.check_name: {
            "verdict": verdict.verdict,
            "note": verdict.note,
            "evidence": verdict.evidence,
        }
        for verdict in review.verdicts.all()
    }
    ReviewDraft.objects.update_or_create(
        reconstruction=review.reconstruction,
        reviewer=review.reviewer,
        defaults={
            "content": content,
            "seconds": review.seconds or 0,
            "saved_at": timezone.now(),
        },
    )
