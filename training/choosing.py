"""The demonstration of a rubric: what selection chose, and a person's word over it.

A choice that a person has made stands until a person takes it back: no run and no new reading moves it.
"""

from __future__ import annotations

from collections.abc import Collection

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from llm.audit import record
from rubrics.models import Rubric
from training.models import Candidate
from training.readings import first_readings, scored, with_readings
from training.selection import Selection, select_demonstration

OVERRULED, TAKEN_BACK = "demonstration chosen by hand", "choice by hand taken back"


class ChoiceError(Exception):
    """The choice cannot be made; the message says why."""


def keep_selection(rubric_id: int, selection: Selection) -> None:
    """Stores what selection chose, unless a person has chosen. Call it inside a transaction."""
    lock_rubrics({rubric_id})
    rows = Candidate.objects.filter(rubric=rubric_id)
    if rows.exclude(overruled_at=None).exists():
        return
    rows.update(demonstration=False, selection_reason=selection.reason if selection.index is None else "")
    if selection.index is not None:
        rows.filter(index=selection.index).update(demonstration=True, selection_reason=selection.reason)


def lock_rubrics(rubric_ids: Collection[int]) -> None:
    """Until the transaction ends nobody else decides about the candidates of these rubrics: two workers that
    each had one of a rubric's candidates would wait for the other's."""
    rows = Rubric.objects.select_for_update(no_key=True).filter(pk__in=rubric_ids).order_by("pk")
    list(rows.values_list("pk", flat=True))


def reopen(rubric_ids: set[int]) -> None:
    """Takes back automatic choices whose ground has changed."""
    chosen_by_hand = Candidate.objects.filter(rubric__in=rubric_ids).exclude(overruled_at=None)
    kept = set(chosen_by_hand.values_list("rubric", flat=True))
    Candidate.objects.filter(rubric__in=rubric_ids - kept, demonstration=True).update(
        demonstration=False, selection_reason=""
    )


def point_at_first_readings(rubric_ids: set[int]) -> None:
    """Sets `assessment` of these rubrics' candidates to the first reading by the judge that selects."""
    rows = with_readings(Candidate.objects.filter(rubric__in=rubric_ids).defer("text"))
    by_rubric: dict[int, list[Candidate]] = {}
    for row in rows.order_by("rubric", "index"):
        by_rubric.setdefault(row.rubric_id, []).append(row)
    changed = []
    for candidates in by_rubric.values():
        first = first_readings(candidates)
        for row in candidates:
            if row.assessment_id != first[row.pk]:
                row.assessment_id = first[row.pk]
                changed.append(row)
    Candidate.objects.bulk_update(changed, ["assessment"])


def choose_by_hand(*, candidate_id: int, user: User, reason: str) -> Candidate:
    """Makes a candidate the demonstration of its rubric, whatever selection says, and keeps who and why.

    Raises ChoiceError without a reason, or for a candidate that nothing can be learned from.
    """
    reason = reason.strip()
    if not reason:
        raise ChoiceError("Say why: the reason is kept with the choice.")
    with transaction.atomic():
        chosen = Candidate.objects.select_related("rubric").get(pk=candidate_id)
        lock_rubrics({chosen.rubric_id})
        rows = Candidate.objects.filter(rubric=chosen.rubric_id)
        if not chosen.text.strip():
            raise ChoiceError("This candidate is empty; nothing can be learned from it.")
        before = rows.filter(demonstration=True).first()
        rows.update(demonstration=False, **_nobody())
        rows.filter(pk=candidate_id).update(
            demonstration=True,
            selection_reason=f"Chosen by {user.get_username()}: {reason}",
            overruled_by=user,
            overruled_because=reason,
            overruled_at=timezone.now(),
        )
        record(
            chosen.rubric,
            OVERRULED,
            before={"candidate": before.index if before else None},
            after={"candidate": chosen.index},
            reason=reason,
            actor=user,
        )
    chosen.refresh_from_db()
    return chosen


def take_choice_back(*, rubric_id: int, user: User) -> Selection | None:
    """Ends a person's choice; selection's own takes its place, from the readings that are there now.

    None when nobody had chosen.
    """
    with transaction.atomic():
        lock_rubrics({rubric_id})
        rows = Candidate.objects.filter(rubric=rubric_id)
        chosen = rows.exclude(overruled_at=None).first()
        if chosen is None:
            return None
        rows.update(demonstration=False, selection_reason="", **_nobody())
        selection = automatic_choice(rubric_id)
        keep_selection(rubric_id, selection)
        record(
            Rubric.objects.get(pk=rubric_id),
            TAKEN_BACK,
            before={"candidate": chosen.index, "reason": chosen.overruled_because},
            after={"candidate": selection.index},
            actor=user,
        )
    return selection


def automatic_choice(rubric_id: int) -> Selection:
    """What selection would choose now."""
    rows = with_readings(Candidate.objects.filter(rubric=rubric_id)).order_by("index")
    return select_demonstration(scored(list(rows)))


def _nobody() -> dict[str, object]:
    return {"overruled_by": None, "overruled_because": "", "overruled_at": None}
