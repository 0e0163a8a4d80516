"""What the database itself refuses, whatever the code above it does; and what it keeps of earlier values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction

from curation.models import CheckVerdict, Reconstruction, Review, ReviewFlag, ReviewSlot
from curation.review import claim, decide, undo
from tests.reviewing import judged, waiting_item
from tests.samples import passed, reconstruction, review

CHECKS = CheckVerdict.Check.values


def second_review(item: Reconstruction, ann: User, bob: User) -> Any:
    review(item, ann)
    return lambda: Review.objects.create(reconstruction=item, reviewer=ann, decision="reject")


def second_adjudication(item: Reconstruction, ann: User, bob: User) -> Any:
    review(item, ann, adjudication=True)
    return lambda: Review.objects.create(
        reconstruction=item, reviewer=bob, decision="reject", adjudication=True
    )


def second_verdict(item: Reconstruction, ann: User, bob: User) -> Any:
    made = review(item, ann)
    return lambda: CheckVerdict.objects.create(review=made, check_name=CHECKS[0], verdict="fail")


def second_slot(item: Reconstruction, ann: User, bob: User) -> Any:
    return lambda: ReviewSlot.objects.create(reconstruction=item, number=0)


def second_flag(item: Reconstruction, ann: User, bob: User) -> Any:
    ReviewFlag.objects.create(reconstruction=item, reviewer=ann, reason="One")
    return lambda: ReviewFlag.objects.create(reconstruction=item, reviewer=bob, reason="Two")


@pytest.mark.parametrize(
    ("duplicate", "constraint"),
    [
        (second_review, "one_standing_review_per_reviewer"),
        (second_adjudication, "one_standing_adjudication_per_item"),
        (second_verdict, "one_verdict_per_check"),
        (second_slot, "one_slot_per_number"),
        (second_flag, "one_open_flag_per_item"),
    ],
)
def test_a_second_current_value_is_refused(
    annotator: User, researcher: User, duplicate: Callable[..., Callable[[], object]], constraint: str
) -> None:
    insert = duplicate(reconstruction(), annotator, researcher)
    with pytest.raises(IntegrityError, match=constraint), transaction.atomic():
        insert()


def test_a_withdrawn_review_makes_room_for_another(annotator: User, researcher: User) -> None:
    item = reconstruction()
    for adjudication in (False, True):
        first = review(item, annotator, adjudication=adjudication)
        Review.objects.filter(pk=first.pk).update(
            withdrawn_at=first.created_at, withdrawn_by=researcher, withdrawn_because="Again"
        )
        review(item, annotator, adjudication=adjudication)
    assert Review.objects.count() == 4


def test_earlier_verdicts_stay_after_undo_and_another_decision(annotator: User) -> None:
    item = waiting_item()
    first = judged(item, "ann", "reject", task_clarity="fail")
    undo(reviewer=annotator)
    claim(reviewer=annotator, reconstruction_id=item.pk)
    second = decide(
        reviewer=annotator, reconstruction_id=item.pk, decision="accept", verdicts=passed("better now")
    )
    assert first.pk != second.pk

    def stored(made: Review) -> tuple[str, bool, dict[str, tuple[str, str]]]:
        made.refresh_from_db()
        verdicts = {each.check_name: (each.verdict, each.note) for each in made.verdicts.all()}
        return made.decision, made.withdrawn_at is None, verdicts

    passes = dict.fromkeys(CHECKS, ("pass", ""))
    assert stored(first) == ("reject", False, {**passes, "task_clarity": ("fail", "does not hold")})
    assert first.verdicts.get(check_name="task_clarity").evidence["text"] == item.text[:5]
    assert stored(second) == ("accept", True, {**passes, CHECKS[0]: ("pass", "better now")})
    undo(reviewer=annotator)
    judged(item, "ann", "reject", usable_length="fail")
    assert CheckVerdict.objects.count() == 15
    assert list(Review.objects.order_by("pk").values_list("decision", flat=True)) == [
        "reject",
        "accept",
        "reject",
    ]
    assert Review.objects.get(withdrawn_at__isnull=True).verdicts.get(verdict="fail").check_name == (
        "usable_length"
    )
