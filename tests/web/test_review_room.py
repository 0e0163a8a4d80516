"""Claims, leases and decisions, on real Postgres and with real threads."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.utils import timezone

from curation.models import CheckVerdict, CorpusPrompt, Reconstruction, Review, ReviewLease
from curation.review import (
    LEASE_MINUTES,
    LeaseExpiredError,
    LeaseTakenError,
    NotWaitingError,
    ReviewError,
    VerdictInput,
    claim,
    claim_next,
    decide,
    problems_of,
    queue_state,
    release,
    renew_lease,
)
from llm.access import Role
from tests.samples import CHINESE, passed, person, reconstruction

CHECKS = CheckVerdict.Check.values


def failed(check: str, note: str = "") -> dict[str, VerdictInput]:
    return {**passed(), check: VerdictInput("fail", note)}


def expire(item: Reconstruction) -> None:
    ReviewLease.objects.filter(reconstruction=item).update(expires_at=timezone.now() - timedelta(seconds=1))


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
    assert claim_next(reviewer=annotator) == first
    assert claim_next(reviewer=annotator) == first
    assert claim_next(reviewer=bea) == second
    assert claim_next(reviewer=person("cleo")) is None


def test_an_expired_lease_is_claimable_at_once(annotator: User, bea: User) -> None:
    item = reconstruction()
    claim_next(reviewer=annotator)
    assert claim_next(reviewer=bea) is None
    expire(item)
    assert claim_next(reviewer=bea) == item
    assert ReviewLease.objects.get().holder == bea
    assert claim_next(reviewer=annotator) is None


def test_an_item_that_one_has_reviewed_is_not_offered_again(annotator: User) -> None:
    item = reconstruction()
    claim_next(reviewer=annotator)
    decide(reviewer=annotator, reconstruction_id=item.pk, decision="accept", verdicts=passed())
    Reconstruction.objects.update(state="in_review")
    assert claim_next(reviewer=annotator) is None
    with pytest.raises(NotWaitingError):
        claim(reviewer=annotator, reconstruction_id=item.pk)


def test_skipped_items_come_last_in_the_order_of_skipping(annotator: User) -> None:
    first, second, third = reconstruction(), reconstruction(), reconstruction()
    for skipped, expected in (([first.pk], second), ([second.pk, first.pk], third)):
        assert claim_next(reviewer=annotator, skipped=skipped) == expected
        release(reviewer=annotator, reconstruction_id=expected.pk)
    assert claim_next(reviewer=annotator, skipped=[second.pk, first.pk, third.pk]) == second


@pytest.mark.django_db(transaction=True)
def test_twenty_at_once_never_share_an_item() -> None:
    people = [person(f"reviewer-{number}", Role.ANNOTATOR) for number in range(20)]
    for _ in range(15):
        reconstruction()
    for _ in range(3):
        answers = at_once([lambda one=one: claim_next(reviewer=one) for one in people])  # type: ignore[misc]
        items = [answer for answer in answers if isinstance(answer, Reconstruction)]
        assert not [answer for answer in answers if isinstance(answer, Exception)]
        assert len(items) == 15
        assert max(Counter(item.pk for item in items).values()) == 1
        assert ReviewLease.objects.count() == 15
        ReviewLease.objects.update(expires_at=timezone.now())


@pytest.mark.django_db(transaction=True)
def test_twenty_at_once_on_one_item_give_one_lease() -> None:
    people = [person(f"reviewer-{number}", Role.ANNOTATOR) for number in range(20)]
    item = reconstruction()
    answers = at_once(
        [lambda one=one: claim(reviewer=one, reconstruction_id=item.pk) for one in people]  # type: ignore[misc]
    )
    assert sum(isinstance(answer, ReviewLease) for answer in answers) == 1
    assert sum(isinstance(answer, LeaseTakenError) for answer in answers) == 19


@pytest.mark.django_db(transaction=True)
def test_two_tabs_of_one_reviewer_get_the_same_item() -> None:
    reviewer = person("ann", Role.ANNOTATOR)
    for _ in range(8):
        reconstruction()
    answers = at_once([lambda: claim_next(reviewer=reviewer)] * 8)
    assert len({answer.pk for answer in answers if isinstance(answer, Reconstruction)}) == 1
    assert ReviewLease.objects.count() == 1


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
    assert taken.value.until == lease.expires_at
    assert "ann" not in str(taken.value).replace("another", "")


def test_a_heartbeat_renews_only_a_live_lease_of_ones_own(annotator: User, bea: User) -> None:
    item = reconstruction()
    claim(reviewer=annotator, reconstruction_id=item.pk)
    soon = timezone.now() + timedelta(minutes=1)
    ReviewLease.objects.update(expires_at=soon)
    assert renew_lease(reviewer=bea, reconstruction_id=item.pk) is None
    until = renew_lease(reviewer=annotator, reconstruction_id=item.pk)
    assert until is not None
    assert until > soon + timedelta(minutes=LEASE_MINUTES - 2)
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
    assert not ReviewLease.objects.exists()
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
    assert ReviewLease.objects.exists()


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
    assert (mine.waiting, mine.held_by_others, mine.held_until) == (3, 1, lease.expires_at)
    assert (hers.waiting, hers.held_by_others) == (3, 1)
    expire(lease.reconstruction)
    assert queue_state(reviewer=annotator).held_by_others == 0
