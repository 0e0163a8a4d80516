"""Claims, leases and decisions, on real Postgres and with real threads."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.db.models import QuerySet
from django.utils import timezone

from curation.models import (
    CheckVerdict,
    CorpusPrompt,
    CurationPolicy,
    Reconstruction,
    Review,
    ReviewDraft,
    ReviewFlag,
    ReviewSkip,
    ReviewSlot,
)
from curation.review import (
    Evidence,
    LeaseExpiredError,
    LeaseTakenError,
    NotWaitingError,
    ReviewError,
    UndoError,
    VerdictInput,
    adjudicate,
    ask_for_second_review,
    claim,
    claim_next,
    decide,
    draft_of,
    flag,
    last_action,
    open_for_review,
    problems_of,
    queue_state,
    renew_lease,
    resolve_flag,
    save_draft,
    skip,
    undo,
    withdraw,
)
from curation.review.terms import LeftForOthers
from llm import sql
from llm.access import Role
from llm.audit import history_of
from tests.samples import CHINESE, passed, person, reconstruction, rubric

CHECKS = CheckVerdict.Check.values


def failed(check: str, note: str = "") -> dict[str, VerdictInput]:
    return {**passed(), check: VerdictInput("fail", note)}


def expire(item: Reconstruction) -> None:
    held = ReviewSlot.objects.filter(reconstruction=item, holder__isnull=False)
    held.update(lease_expires_at=timezone.now() - timedelta(seconds=1))


def next_item(reviewer: User) -> Reconstruction | None:
    slot = claim_next(reviewer=reviewer)
    return slot.reconstruction if slot else None


def held() -> QuerySet[ReviewSlot]:
    return ReviewSlot.objects.filter(holder__isnull=False)


def state_of(item: Reconstruction) -> str:
    item.refresh_from_db()
    return item.state


def at_once(actions: list[Callable[[], object]]) -> list[object]:
    """Runs the actions in threads that start together; an exception is that action's answer."""
    answers: list[object] = [None] * len(actions)
    start = threading.Barrier(len(actions))

    def act(place: int) -> None:
        try:
            start.wait()
            answers[place] = actions[place]()
        except Exception as error:  # noqa: BLE001
            answers[place] = error
        finally:
            connection.close()

    threads = [threading.Thread(target=act, args=(place,)) for place in range(len(actions))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


@pytest.fixture
def bea(db: None) -> User:
    return person("bea", Role.ANNOTATOR)


def test_the_oldest_free_item_is_claimed_and_kept(annotator: User, bea: User) -> None:
    reconstruction("accepted")
    first, second = reconstruction(), reconstruction()
    assert next_item(annotator) == first
    assert next_item(annotator) == first
    assert next_item(bea) == second
    assert claim_next(reviewer=person("cleo")) is None


def test_an_expired_lease_is_claimable_at_once(annotator: User, bea: User) -> None:
    item = reconstruction()
    claim_next(reviewer=annotator)
    assert claim_next(reviewer=bea) is None
    expire(item)
    assert next_item(bea) == item
    assert held().get().holder == bea
    assert claim_next(reviewer=annotator) is None


def test_an_item_that_one_has_reviewed_is_not_offered_again(annotator: User) -> None:
    item = reconstruction()
    claim_next(reviewer=annotator)
    decide(reviewer=annotator, reconstruction_id=item.pk, decision="accept", verdicts=passed())
    Reconstruction.objects.update(state="in_review")
    ReviewSlot.objects.create(reconstruction=item, number=1)
    assert claim_next(reviewer=annotator) is None
    with pytest.raises(NotWaitingError):
        claim(reviewer=annotator, reconstruction_id=item.pk)


def test_skipped_items_come_last_in_the_order_of_skipping(annotator: User) -> None:
    first, second, third = reconstruction(), reconstruction(), reconstruction()
    for expected in (first, second, third):
        assert next_item(annotator) == expected
        skip(reviewer=annotator, reconstruction_id=expected.pk)
    assert next_item(annotator) == first
    assert next_item(person("bea-too")) == second


@pytest.mark.django_db(transaction=True)
def test_twenty_at_once_never_share_an_item() -> None:
    people = [person(f"reviewer-{number}", Role.ANNOTATOR) for number in range(20)]
    for _ in range(15):
        reconstruction()
    for _ in range(3):
        answers = at_once([lambda one=one: next_item(one) for one in people])  # type: ignore[misc]
        items = [answer for answer in answers if isinstance(answer, Reconstruction)]
        assert not [answer for answer in answers if isinstance(answer, Exception)]
        assert len(items) == 15
        assert max(Counter(item.pk for item in items).values()) == 1
        assert held().count() == 15
        held().update(lease_expires_at=timezone.now())


@pytest.mark.django_db(transaction=True)
def test_twenty_at_once_fill_two_places_of_each_item_with_two_people() -> None:
    people = [person(f"reviewer-{number}", Role.ANNOTATOR) for number in range(20)]
    for _ in range(6):
        reconstruction(wanted_reviews=2)
    answers = at_once([lambda one=one: next_item(one) for one in people])  # type: ignore[misc]
    items = [answer for answer in answers if isinstance(answer, Reconstruction)]
    assert Counter(item.pk for item in items) == dict.fromkeys({item.pk for item in items}, 2)
    assert len(items) == 12
    pairs = held().values_list("reconstruction", "holder")
    assert len(set(pairs)) == 12


@pytest.mark.django_db(transaction=True)
def test_twenty_at_once_on_one_item_give_one_lease() -> None:
    people = [person(f"reviewer-{number}", Role.ANNOTATOR) for number in range(20)]
    item = reconstruction()
    answers = at_once(
        [lambda one=one: claim(reviewer=one, reconstruction_id=item.pk) for one in people]  # type: ignore[misc]
    )
    assert sum(isinstance(answer, ReviewSlot) for answer in answers) == 1
    assert sum(isinstance(answer, LeaseTakenError) for answer in answers) == 19


@pytest.mark.django_db(transaction=True)
def test_two_tabs_of_one_reviewer_get_the_same_item() -> None:
    reviewer = person("ann", Role.ANNOTATOR)
    for _ in range(8):
        reconstruction()
    answers = at_once([lambda: next_item(reviewer)] * 8)
    assert len({answer.pk for answer in answers if isinstance(answer, Reconstruction)}) == 1
    assert held().count() == 1


@pytest.mark.django_db(transaction=True)
def test_the_same_submission_eight_times_at_once_makes_one_row() -> None:
    reviewer, item = person("ann", Role.ANNOTATOR), reconstruction()
    claim_next(reviewer=reviewer)
    answers = at_once(
        [
            lambda: decide(
                reviewer=reviewer, reconstruction_id=item.pk, decision="accept", verdicts=passed("fine")
            )
        ]
        * 8
    )
    assert {answer.pk for answer in answers if isinstance(answer, Review)} == {Review.objects.get().pk}
    assert all(isinstance(answer, Review) for answer in answers)
    assert CheckVerdict.objects.count() == 5
    assert CorpusPrompt.objects.count() == 1


def test_a_taken_item_says_until_when_and_not_by_whom(annotator: User, bea: User) -> None:
    item = reconstruction()
    lease = claim(reviewer=annotator, reconstruction_id=item.pk)
    with pytest.raises(LeaseTakenError) as taken:
        claim(reviewer=bea, reconstruction_id=item.pk)
    assert taken.value.until == lease.lease_expires_at
    assert "ann" not in str(taken.value).replace("another", "")


def test_a_heartbeat_renews_only_a_live_lease_of_ones_own(annotator: User, bea: User) -> None:
    item = reconstruction()
    claim(reviewer=annotator, reconstruction_id=item.pk)
    soon = timezone.now() + timedelta(minutes=1)
    held().update(lease_expires_at=soon)
    assert renew_lease(reviewer=bea, reconstruction_id=item.pk) is None
    until = renew_lease(reviewer=annotator, reconstruction_id=item.pk)
    assert until is not None
    assert until > soon + timedelta(minutes=CurationPolicy().lease_minutes - 2)
    expire(item)
    assert renew_lease(reviewer=annotator, reconstruction_id=item.pk) is None


def test_accepting_makes_a_corpus_prompt(annotator: User) -> None:
    item = reconstruction(text=CHINESE, language="zh")
    claim_next(reviewer=annotator)
    made = decide(reviewer=annotator, reconstruction_id=item.pk, decision="accept", verdicts=passed("好"))
    item.refresh_from_db()
    prompt = CorpusPrompt.objects.get()
    assert (item.state, item.state_reason) == ("accepted", "")
    assert (prompt.reconstruction, prompt.text, prompt.language) == (item, CHINESE, "zh")
    assert not held().exists()
    assert [verdict.check_name for verdict in made.verdicts.all()] == CHECKS
    assert made.verdicts.first().note == "好"  # type: ignore[union-attr]


def test_rejecting_names_the_failed_checks(annotator: User) -> None:
    item = reconstruction()
    claim_next(reviewer=annotator)
    decide(
        reviewer=annotator,
        reconstruction_id=item.pk,
        decision="reject",
        verdicts={**failed("task_clarity"), "usable_length": VerdictInput("fail", "ends in the middle")},
    )
    item.refresh_from_db()
    assert item.state == "rejected"
    assert item.state_reason == "failed: Task clarity; Textual integrity and usable length"
    assert not CorpusPrompt.objects.exists()


@pytest.mark.parametrize(
    ("decision", "verdicts", "fields"),
    [
        ("accept", {}, set(CHECKS)),
        ("accept", {**passed(), "task_clarity": VerdictInput("perhaps")}, {"task_clarity"}),
        ("accept", failed("task_clarity"), {"decision"}),
        ("accept", {**passed(), "task_clarity": VerdictInput("unsure")}, set()),
        ("reject", passed(), {"decision"}),
        ("reject", passed("too near to its source"), set()),
        ("reject", failed("usable_length"), set()),
        ("maybe", passed(), {"decision"}),
    ],
)
def test_what_a_decision_demands(decision: str, verdicts: dict[str, VerdictInput], fields: set[str]) -> None:
    assert set(problems_of(decision, verdicts)) == fields


def test_an_incomplete_decision_stores_nothing(annotator: User) -> None:
    item = reconstruction()
    claim_next(reviewer=annotator)
    with pytest.raises(ReviewError) as refused:
        decide(reviewer=annotator, reconstruction_id=item.pk, decision="accept", verdicts={})
    assert set(refused.value.messages) == set(CHECKS)
    assert not Review.objects.exists()
    assert held().exists()


def test_a_decision_needs_a_live_lease_of_ones_own(annotator: User, bea: User) -> None:
    item = reconstruction()
    choice = {"reconstruction_id": item.pk, "decision": "accept", "verdicts": passed()}
    with pytest.raises(LeaseExpiredError):
        decide(reviewer=annotator, **choice)  # type: ignore[arg-type]
    claim_next(reviewer=annotator)
    with pytest.raises(LeaseTakenError):
        decide(reviewer=bea, **choice)  # type: ignore[arg-type]
    expire(item)
    with pytest.raises(LeaseExpiredError):
        decide(reviewer=annotator, **choice)  # type: ignore[arg-type]
    claim_next(reviewer=bea)
    decide(reviewer=bea, **choice)  # type: ignore[arg-type]
    with pytest.raises(NotWaitingError):
        decide(reviewer=annotator, **choice)  # type: ignore[arg-type]


def test_the_same_submission_again_answers_as_the_first_did(annotator: User) -> None:
    item = reconstruction()
    claim_next(reviewer=annotator)
    choice = {"reviewer": annotator, "reconstruction_id": item.pk, "decision": "accept"}
    first = decide(**choice, verdicts=passed("as before"))  # type: ignore[arg-type]
    assert decide(**choice, verdicts=passed("as before")) == first  # type: ignore[arg-type]
    with pytest.raises(ReviewError, match="decided already"):
        decide(**choice, verdicts=passed("something else"))  # type: ignore[arg-type]
    assert Review.objects.count() == 1


def test_a_program_needs_no_lease_but_takes_nothing_from_a_reader(annotator: User) -> None:
    program = person("automatic-reviewer")
    free, held = reconstruction(), reconstruction()
    claim(reviewer=annotator, reconstruction_id=held.pk)
    made = decide(
        reviewer=program, reconstruction_id=free.pk, decision="accept", verdicts=passed(), automatic=True
    )
    assert made.automatic
    with pytest.raises(LeaseTakenError):
        decide(
            reviewer=program, reconstruction_id=held.pk, decision="accept", verdicts=passed(), automatic=True
        )


def test_the_queue_counts_what_is_left_and_what_others_hold(annotator: User, bea: User) -> None:
    for _ in range(4):
        reconstruction()
    reconstruction("accepted")
    claim_next(reviewer=annotator)
    lease = claim(reviewer=bea, reconstruction_id=Reconstruction.objects.all()[1].pk)
    mine, hers = queue_state(reviewer=annotator), queue_state(reviewer=bea)
    assert (mine.waiting, mine.held_by_others, mine.held_until) == (3, 1, lease.lease_expires_at)
    assert (hers.waiting, hers.held_by_others) == (3, 1)
    expire(lease.reconstruction)
    assert queue_state(reviewer=annotator).held_by_others == 0


def reviewed(item: Reconstruction, reviewer: User, decision: str, **checks: str) -> Review:
    """`reviewer` takes the item and decides on it; the checks named get that verdict."""
    claim(reviewer=reviewer, reconstruction_id=item.pk)
    verdicts = passed("seen") | {check: VerdictInput(verdict) for check, verdict in checks.items()}
    return decide(reviewer=reviewer, reconstruction_id=item.pk, decision=decision, verdicts=verdicts)


def test_opening_gives_a_share_of_the_items_to_two_people(db: None) -> None:
    CurationPolicy(pk=1, second_review_share=0.5, second_review_seed=3).save()
    items = [reconstruction("rewritten") for _ in range(40)]
    ids = [item.pk for item in items]
    open_for_review(reconstruction_ids=ids)
    open_for_review(reconstruction_ids=ids)
    wanted = dict(Reconstruction.objects.filter(pk__in=ids).values_list("pk", "wanted_reviews"))
    assert 8 <= sum(count == 2 for count in wanted.values()) <= 32
    assert all(Reconstruction.objects.get(pk=pk).slots.count() == count for pk, count in wanted.items())
    entry = history_of(items[0]).get()
    assert (entry.before, entry.after) == ({"state": "rewritten"}, {"state": "in_review"})


@pytest.mark.parametrize(("share", "wanted"), [(0.0, 1), (1.0, 2)])
def test_all_or_nobody_read_twice(db: None, share: float, wanted: int) -> None:
    CurationPolicy(pk=1, second_review_share=share).save()
    item = reconstruction("rewritten")
    open_for_review(reconstruction_ids=[item.pk])
    assert Reconstruction.objects.get().wanted_reviews == wanted


def test_two_who_agree_settle_an_item_and_one_does_not(annotator: User, bea: User) -> None:
    item = reconstruction(wanted_reviews=2)
    reviewed(item, annotator, "accept")
    assert state_of(item) == "in_review"
    assert not CorpusPrompt.objects.exists()
    assert next_item(annotator) is None
    reviewed(item, bea, "accept", task_clarity="unsure")
    assert state_of(item) == "accepted"
    assert item.agreement == pytest.approx(4 / 5)


def test_two_who_disagree_leave_it_to_a_researcher(annotator: User, bea: User, researcher: User) -> None:
    item = reconstruction(wanted_reviews=2)
    reviewed(item, annotator, "accept")
    reviewed(item, bea, "reject", task_clarity="fail", usable_length="fail")
    assert state_of(item) == "disputed"
    assert item.agreement == pytest.approx(3 / 5)
    with pytest.raises(ReviewError):
        adjudicate(
            adjudicator=researcher,
            reconstruction_id=item.pk,
            decision="accept",
            verdicts=passed(),
            reason=" ",
        )
    made = adjudicate(
        adjudicator=researcher,
        reconstruction_id=item.pk,
        decision="accept",
        verdicts=passed(),
        reason="clear",
    )
    assert made.adjudication
    assert state_of(item) == "accepted"
    assert CorpusPrompt.objects.get().withdrawn_at is None
    with pytest.raises(NotWaitingError):
        adjudicate(
            adjudicator=researcher,
            reconstruction_id=item.pk,
            decision="reject",
            verdicts=failed("task_clarity"),
            reason="again",
        )


def test_a_reviewer_can_adjudicate_their_own_dispute(annotator: User, researcher: User) -> None:
    item = reconstruction(wanted_reviews=2)
    reviewed(item, annotator, "accept")
    reviewed(item, researcher, "reject", task_clarity="fail")
    adjudicate(
        adjudicator=researcher, reconstruction_id=item.pk, decision="accept", verdicts=passed(), reason="yes"
    )
    assert state_of(item) == "accepted"
    assert Review.objects.filter(reviewer=researcher, withdrawn_at__isnull=True).count() == 2


def test_undo_brings_back_state_values_and_lease(annotator: User) -> None:
    item, other = reconstruction(), reconstruction()
    claim(reviewer=annotator, reconstruction_id=item.pk)
    quote = Evidence("source", 3, 9, "passage")
    verdicts = failed("task_clarity", "no aim") | {"usable_length": VerdictInput("pass", "", quote)}
    decide(reviewer=annotator, reconstruction_id=item.pk, decision="reject", verdicts=verdicts, seconds=42.5)
    assert next_item(annotator) == other
    action = last_action(reviewer=annotator)
    assert action is not None
    assert (action.kind, action.reconstruction_id) == ("reject", item.pk)
    undo(reviewer=annotator)
    assert state_of(item) == "in_review"
    assert not Review.objects.filter(withdrawn_at__isnull=True).exists()
    draft = draft_of(reviewer=annotator, reconstruction_id=item.pk)
    assert draft is not None
    assert draft.content["task_clarity"] == {"verdict": "fail", "note": "no aim", "evidence": None}
    assert draft.content["usable_length"]["evidence"]["text"] == "passage"
    assert draft.seconds == 42.5
    assert next_item(annotator) == item
    decide(reviewer=annotator, reconstruction_id=item.pk, decision="reject", verdicts=verdicts)
    assert state_of(item) == "rejected"
    assert draft_of(reviewer=annotator, reconstruction_id=item.pk) is None


def test_undoing_an_acceptance_withdraws_its_prompt_until_it_is_accepted_again(annotator: User) -> None:
    item = reconstruction()
    reviewed(item, annotator, "accept")
    undo(reviewer=annotator)
    prompt = CorpusPrompt.objects.get()
    assert prompt.withdrawn_at is not None
    assert prompt.excluded_because
    reviewed(item, annotator, "accept")
    prompt.refresh_from_db()
    assert (prompt.withdrawn_at, prompt.excluded_because) == (None, "")


def test_what_others_have_built_on_is_not_undone(annotator: User) -> None:
    item = reconstruction()
    reviewed(item, annotator, "accept")
    rubric(CorpusPrompt.objects.get())
    with pytest.raises(UndoError, match="rubric was made"):
        undo(reviewer=annotator)
    assert state_of(item) == "accepted"


@pytest.mark.parametrize("decision", ["accept", "reject"])
def test_one_of_two_reviews_is_not_undone_once_both_are_in(
    annotator: User, researcher: User, decision: str
) -> None:
    """The researcher could read the other's verdicts by now: a new review would not be blind."""
    item = reconstruction(wanted_reviews=2)
    failing = {} if decision == "accept" else {"task_clarity": "fail"}
    reviewed(item, researcher, decision, **failing)
    undo(reviewer=researcher)
    reviewed(item, researcher, decision, **failing)
    reviewed(item, annotator, "accept")
    for reviewer in (researcher, annotator):
        with pytest.raises(UndoError, match=r"All reviews of item \d+ are in. Ask a researcher to withdraw"):
            undo(reviewer=reviewer)
    assert state_of(item) == ("accepted" if decision == "accept" else "disputed")
    assert item.reviews.filter(withdrawn_at__isnull=True).count() == 2


def test_undo_after_a_skip_and_after_a_flag(annotator: User, bea: User) -> None:
    item, other = reconstruction(), reconstruction()
    claim_next(reviewer=annotator)
    skip(reviewer=annotator, reconstruction_id=item.pk)
    assert next_item(annotator) == other
    assert undo(reviewer=annotator).kind == "skip"
    assert not ReviewSkip.objects.exists()
    assert next_item(annotator) == item
    save_draft(
        reviewer=annotator,
        reconstruction_id=item.pk,
        content={"task_clarity": {"verdict": "pass", "note": "half a no"}},
        seconds=5,
    )
    flag(reviewer=annotator, reconstruction_id=item.pk, reason="names a living person")
    assert state_of(item) == "flagged"
    assert next_item(bea) is None or next_item(bea) == other
    assert undo(reviewer=annotator).kind == "flag"
    assert state_of(item) == "in_review"
    draft = draft_of(reviewer=annotator, reconstruction_id=item.pk)
    assert draft is not None
    assert draft.content["task_clarity"]["note"] == "half a no"


def test_a_skip_cannot_be_undone_once_another_has_the_item(annotator: User, bea: User) -> None:
    item = reconstruction()
    claim_next(reviewer=annotator)
    skip(reviewer=annotator, reconstruction_id=item.pk)
    claim_next(reviewer=bea)
    with pytest.raises(UndoError, match="another reviewer"):
        undo(reviewer=annotator)
    assert ReviewSkip.objects.exists()


def test_nothing_to_undo(annotator: User) -> None:
    with pytest.raises(UndoError, match="nothing"):
        undo(reviewer=annotator)


def test_a_flag_keeps_the_item_from_everybody_until_it_is_resolved(
    annotator: User, bea: User, researcher: User
) -> None:
    item = reconstruction()
    claim_next(reviewer=annotator)
    with pytest.raises(ReviewError):
        flag(reviewer=annotator, reconstruction_id=item.pk, reason="  ")
    with pytest.raises(LeaseExpiredError):
        flag(reviewer=bea, reconstruction_id=item.pk, reason="not mine")
    flag(reviewer=annotator, reconstruction_id=item.pk, reason="unclear rights")
    assert next_item(bea) is None
    with pytest.raises(NotWaitingError):
        claim(reviewer=bea, reconstruction_id=item.pk)
    resolve_flag(by=researcher, reconstruction_id=item.pk, resolution="cleared with the author")
    assert next_item(bea) == item
    assert ReviewFlag.objects.get().resolved_by == researcher


def test_the_same_flag_again_answers_as_the_first_did(annotator: User, bea: User) -> None:
    item = reconstruction(wanted_reviews=2)
    claim(reviewer=bea, reconstruction_id=item.pk)
    claim_next(reviewer=annotator)
    made = flag(reviewer=annotator, reconstruction_id=item.pk, reason="unclear rights")
    assert flag(reviewer=annotator, reconstruction_id=item.pk, reason=" unclear rights\n") == made
    with pytest.raises(NotWaitingError):
        flag(reviewer=annotator, reconstruction_id=item.pk, reason="something else")
    with pytest.raises(NotWaitingError):
        flag(reviewer=bea, reconstruction_id=item.pk, reason="unclear rights")
    assert ReviewFlag.objects.count() == 1
    assert history_of(item).filter(action="flagged").count() == 1


def test_the_same_adjudication_again_answers_as_the_first_did(
    annotator: User, bea: User, researcher: User
) -> None:
    item = reconstruction(wanted_reviews=2)
    reviewed(item, annotator, "accept")
    reviewed(item, bea, "reject", task_clarity="fail")
    choice: dict[str, Any] = {"reconstruction_id": item.pk, "decision": "accept", "verdicts": passed("fine")}
    made = adjudicate(adjudicator=researcher, reason="clear", **choice)
    assert adjudicate(adjudicator=researcher, reason=" clear", **choice) == made
    assert history_of(item).filter(action="adjudicated: accept").count() == 1
    for other in (
        {"adjudicator": person("rick", Role.RESEARCHER), "reason": "clear"},
        {"adjudicator": researcher, "reason": "another"},
        {"adjudicator": researcher, "reason": "clear", "verdicts": passed("else")},
    ):
        with pytest.raises(NotWaitingError):
            adjudicate(**{**choice, **other})
    withdraw(review_id=made.pk, by=researcher, reason="look again")
    assert adjudicate(adjudicator=researcher, reason="clear", **choice) != made


def test_who_reads_a_flagged_item_may_finish(annotator: User, bea: User, researcher: User) -> None:
    item = reconstruction(wanted_reviews=2)
    claim(reviewer=annotator, reconstruction_id=item.pk)
    claim(reviewer=bea, reconstruction_id=item.pk)
    flag(reviewer=annotator, reconstruction_id=item.pk, reason="see me")
    decide(reviewer=bea, reconstruction_id=item.pk, decision="accept", verdicts=passed())
    assert state_of(item) == "flagged"
    resolve_flag(by=researcher, reconstruction_id=item.pk, resolution="fine")
    assert state_of(item) == "in_review"
    reviewed(item, annotator, "accept")
    assert state_of(item) == "accepted"


def test_a_withdrawn_review_puts_the_item_and_its_prompt_back(annotator: User, researcher: User) -> None:
    item = reconstruction()
    made = reviewed(item, annotator, "accept")
    rubric(CorpusPrompt.objects.get())
    with pytest.raises(ReviewError):
        withdraw(review_id=made.pk, by=researcher, reason="")
    withdraw(review_id=made.pk, by=researcher, reason="reviewed by mistake")
    assert state_of(item) == "in_review"
    assert CorpusPrompt.objects.get().withdrawn_at is not None
    with pytest.raises(NotWaitingError):
        withdraw(review_id=made.pk, by=researcher, reason="twice")
    entry = history_of(item).first()
    assert entry is not None
    assert (entry.actor, entry.reason, entry.after) == (
        researcher,
        "reviewed by mistake",
        {"state": "in_review"},
    )
    assert next_item(annotator) == item


def test_withdrawing_an_adjudication_brings_the_dispute_back(
    annotator: User, bea: User, researcher: User
) -> None:
    item = reconstruction(wanted_reviews=2)
    reviewed(item, annotator, "accept")
    reviewed(item, bea, "reject", task_clarity="fail")
    made = adjudicate(
        adjudicator=researcher, reconstruction_id=item.pk, decision="accept", verdicts=passed(), reason="ok"
    )
    withdraw(review_id=made.pk, by=researcher, reason="look again")
    assert state_of(item) == "disputed"


def test_a_second_review_is_asked_for_only_where_one_is_missing(annotator: User, researcher: User) -> None:
    waiting, twice, done = reconstruction(), reconstruction(wanted_reviews=2), reconstruction()
    reviewed(done, annotator, "accept")
    ids = [waiting.pk, twice.pk, done.pk]
    assert ask_for_second_review(reconstruction_ids=ids, by=researcher) == 1
    assert (waiting.slots.count(), twice.slots.count()) == (2, 2)
    assert state_of(done) == "accepted"


def test_a_draft_is_kept_whatever_happens_to_the_lease(annotator: User, bea: User) -> None:
    item = reconstruction()
    claim_next(reviewer=annotator)
    expire(item)
    claim_next(reviewer=bea)
    content = {"usable_length": {"verdict": "", "note": "ends mid-sentence", "evidence": None}}
    assert save_draft(reviewer=annotator, reconstruction_id=item.pk, content=content, seconds=-3)
    draft = ReviewDraft.objects.get()
    assert (draft.content, draft.seconds) == (content, 0)
    decide(reviewer=bea, reconstruction_id=item.pk, decision="accept", verdicts=passed())
    assert save_draft(reviewer=annotator, reconstruction_id=item.pk, content=content, seconds=1) is None


@pytest.mark.parametrize(
    "content",
    [
        {"charm": {"verdict": "pass"}},
        {"task_clarity": {"verdict": "perhaps"}},
        {"task_clarity": {"note": "x" * 5001}},
        {"task_clarity": {"note": 7}},
        {"task_clarity": "pass"},
        {"task_clarity": {"evidence": {"side": "elsewhere", "start": 0, "end": 1, "text": "a"}}},
        {"task_clarity": {"evidence": {"side": "source", "start": 5, "end": 1, "text": "a"}}},
        {"task_clarity": {"evidence": {"side": "source", "start": 0, "end": 1, "text": ""}}},
    ],
)
def test_a_draft_of_another_shape_is_refused(annotator: User, content: dict[str, object]) -> None:
    item = reconstruction()
    with pytest.raises(ReviewError):
        save_draft(reviewer=annotator, reconstruction_id=item.pk, content=content, seconds=0)
    assert not ReviewDraft.objects.exists()


def test_a_long_queue_is_not_counted_to_its_end(annotator: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("curation.review.slots.COUNTED_EXACTLY", 3)
    for _ in range(3):
        reconstruction()
    assert (queue_state(reviewer=annotator).waiting, queue_state(reviewer=annotator).many) == (3, False)
    reconstruction()
    assert (queue_state(reviewer=annotator).waiting, queue_state(reviewer=annotator).many) == (3, True)


def test_what_waits_for_others_is_counted_only_when_nothing_is_left(
    annotator: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    fetch = sql.fetch

    def noted(statement: str, parameters: sql.Parameters) -> list[tuple[Any, ...]]:
        asked.append(statement)
        return fetch(statement, parameters)

    twice, single = reconstruction(wanted_reviews=2), reconstruction()
    reviewed(twice, annotator, "accept")
    monkeypatch.setattr(sql, "fetch", noted)
    assert not queue_state(reviewer=annotator).for_others
    assert len(asked) == 1
    reviewed(single, annotator, "accept")
    assert queue_state(reviewer=annotator).for_others == LeftForOthers(second_reviews=1)


def test_an_item_with_two_places_counts_once_in_ones_queue(annotator: User) -> None:
    reconstruction(wanted_reviews=2)
    assert queue_state(reviewer=annotator).waiting == 1
    claim_next(reviewer=annotator)
    assert queue_state(reviewer=annotator).waiting == 1
