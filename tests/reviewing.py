"""Items brought through the review room by its own services, for tests of what comes after."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User

from curation.models import CheckVerdict, CurationPolicy, Reconstruction, Review
from curation.review import Evidence, VerdictInput, claim, decide, flag, open_for_review
from llm.access import Role
from tests.samples import person, reconstruction


def annotator(name: str) -> User:
    """The annotator of this name, made when there is none yet."""
    return User.objects.filter(username=name).first() or person(name, Role.ANNOTATOR)


def waiting_item(*, reviews: int = 1, **fields: Any) -> Reconstruction:
    """A reconstruction in the queue, of which so many reviews are wanted."""
    CurationPolicy.objects.update_or_create(pk=1, defaults={"second_review_share": float(reviews == 2)})
    item = reconstruction("rewritten", **fields)
    open_for_review(reconstruction_ids=[item.pk])
    item.refresh_from_db()
    return item


def judged(
    item: Reconstruction, name: str, decision: str = "accept", seconds: float = 90.0, **verdicts: str
) -> Review:
    """`name` reviews the item; checks not named pass, and a failed one gets a note and a passage."""
    reviewer = annotator(name)
    claim(reviewer=reviewer, reconstruction_id=item.pk)
    given = {check: _given(verdicts.get(check, "pass"), item) for check in CheckVerdict.Check.values}
    if decision == "reject" and "fail" not in verdicts.values():
        given["task_clarity"] = VerdictInput("pass", f"{name} says no")
    review = decide(
        reviewer=reviewer, reconstruction_id=item.pk, decision=decision, verdicts=given, seconds=seconds
    )
    item.refresh_from_db()
    return review


def disputed_item(first: str = "ann", second: str = "bob", **fields: Any) -> Reconstruction:
    """Accepted by the first, rejected by the second for two failed checks."""
    item = waiting_item(reviews=2, **fields)
    judged(item, first)
    judged(item, second, "reject", task_clarity="fail", usable_length="fail")
    return item


def flagged_item(name: str = "ann", reason: str = "Two requests in one", **fields: Any) -> Reconstruction:
    item = waiting_item(**fields)
    claim(reviewer=annotator(name), reconstruction_id=item.pk)
    flag(reviewer=annotator(name), reconstruction_id=item.pk, reason=reason)
    item.refresh_from_db()
    return item


def _given(verdict: str, item: Reconstruction) -> VerdictInput:
    if verdict != "fail":
        return VerdictInput(verdict)
    passage = Evidence("reconstruction", 0, 5, item.text[:5])
    return VerdictInput(verdict, "does not hold", passage)
