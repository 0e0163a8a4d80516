"""Reviews by a program, for demonstrations and trials: plainly marked, and never mistaken for a person's."""

from __future__ import annotations

from collections.abc import Collection

from django.contrib.auth.models import User

from curation.models import CheckVerdict, Reconstruction
from curation.review import AUTOMATIC_REVIEWER, LeaseTakenError, NotWaitingError, VerdictInput, decide
from curation.services import made_from

NOTE = "Passed by the automatic account without being read by a person."


def review_automatically(*, leave_for_people: int, among: Collection[int] | None = None) -> int:
    """Accepts what waits for review, but for the last few, which are left to people. Returns how many.

    `among` holds it to the reconstructions of these source prompts.
    """
    reviewer, created = User.objects.get_or_create(
        username=AUTOMATIC_REVIEWER, defaults={"first_name": "Automatic", "last_name": "reviewer"}
    )
    if created:
        reviewer.set_unusable_password()
        reviewer.save()
    waiting = list(
        made_from(among, Reconstruction.objects.filter(state=Reconstruction.State.IN_REVIEW))
        .order_by("pk")
        .values_list("pk", flat=True)
    )
    verdicts = {check: VerdictInput(CheckVerdict.Verdict.PASS, NOTE) for check in CheckVerdict.Check.values}
    accepted = 0
    for pk in waiting[: len(waiting) - leave_for_people] if leave_for_people < len(waiting) else []:
        try:
            decide(
                reviewer=reviewer, reconstruction_id=pk, decision="accept", verdicts=verdicts, automatic=True
            )
            accepted += 1
        except (LeaseTakenError, NotWaitingError):
            continue  # a person has it in hand, or was quicker
    return accepted
