"""The review loop for programs: leases, drafts, decisions, undo; and nothing of what others gave."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone
from rest_framework.renderers import JSONRenderer
from rest_framework.test import APIClient

from curation.api.review_serializers import (
    ItemInHandSerializer,
    QueueStateSerializer,
    item_in_hand,
    queue_as_json,
)
from curation.api.serializers import ReviewSerializer
from curation.models import CheckVerdict, Reconstruction, Review, ReviewSlot
from curation.review import claim_next, queue_state
from tests.api.conftest import checks, send
from tests.samples import HOSTILE, reconstruction, review

NOTE = 'commas, "quotes"\r\n\tand 运河 \u2028 \u0085 \u00a0 \u202e'


def test_the_loop_from_next_to_an_empty_queue(as_ann: APIClient) -> None:
    item = reconstruction("in_review", HOSTILE)
    answer = send(as_ann, "post", "queue/next/").json()
    assert answer["item"]["reconstruction"] == item.pk
    assert answer["item"]["text"] == HOSTILE
    assert answer["item"]["source_text"] == item.source_prompt.text
    state = {"waiting": 1, "many": False, "held_by_others": 0, "held_until": None}
    nothing = {"second_reviews": 0, "flags": 0, "disagreements": 0}
    assert answer["queue"] == state | {"for_others": nothing}
    before = answer["item"]["lease_expires_at"]
    beat = send(as_ann, "post", f"queue/{item.pk}/heartbeat/")
    assert beat.json()["lease_expires_at"] > before
    body = {"decision": "accept", "verdicts": checks(task_clarity={"verdict": "pass", "note": NOTE})}
    made = send(as_ann, "post", f"queue/{item.pk}/decide/", body)
    assert made.status_code == 200
    assert made.json()["checks"]["task_clarity"]["note"] == NOTE
    assert list(made.json()["checks"]) == CheckVerdict.Check.values
    item.refresh_from_db()
    assert item.state == "accepted"
    assert send(as_ann, "post", "queue/next/").json()["item"] is None


def test_what_is_made_by_hand_is_what_the_serializers_would_give(ann: User, as_ann: APIClient) -> None:
    item = reconstruction("in_review")
    slot = claim_next(reviewer=ann)
    assert slot is not None
    answer = send(as_ann, "post", "queue/next/").json()
    assert answer["item"] == json.loads(JSONRenderer().render(ItemInHandSerializer(slot).data))
    assert answer["item"] == item_in_hand(slot)
    state = queue_state(reviewer=ann)
    assert answer["queue"] == QueueStateSerializer(state).data == queue_as_json(state)
    verdict = {"verdict": "fail", "note": NOTE, "evidence": {"text": "village library"}}
    body = {"decision": "reject", "verdicts": checks(task_clarity=verdict), "seconds": 12.5}
    made = send(as_ann, "post", f"queue/{item.pk}/decide/", body).json()
    assert made == json.loads(JSONRenderer().render(ReviewSerializer(Review.objects.get()).data))


def test_the_same_submission_again_answers_as_the_first(as_ann: APIClient) -> None:
    item = reconstruction("in_review")
    send(as_ann, "post", f"queue/{item.pk}/claim/")
    evidence = {"text": "village library"}
    body = {
        "decision": "reject",
        "verdicts": checks(task_clarity={"verdict": "fail", "evidence": evidence}),
        "seconds": 12.5,
    }
    first = send(as_ann, "post", f"queue/{item.pk}/decide/", body)
    again = send(as_ann, "post", f"queue/{item.pk}/decide/", body)
    assert (first.status_code, again.status_code) == (200, 200)
    assert first.json() == again.json()
    assert Review.objects.count() == 1
    other = send(as_ann, "post", f"queue/{item.pk}/decide/", body | {"decision": "accept"})
    assert (other.status_code, set(other.json()["errors"])) == (400, {"decision"})


def test_evidence_is_stored_at_its_place_or_refused(as_ann: APIClient) -> None:
    item = reconstruction("in_review", "Write 运河 a letter.")
    send(as_ann, "post", f"queue/{item.pk}/claim/")
    verdict = {"verdict": "fail", "evidence": {"text": "运河 a", "side": "reconstruction"}}
    wrong = checks(usable_length={"verdict": "fail", "evidence": {"text": "nowhere"}})
    body = {"decision": "reject", "verdicts": wrong}
    refused = send(as_ann, "post", f"queue/{item.pk}/decide/", body)
    assert (refused.status_code, set(refused.json()["errors"])) == (400, {"verdicts.usable_length.evidence"})
    body["verdicts"] = checks(usable_length=verdict)
    made = send(as_ann, "post", f"queue/{item.pk}/decide/", body).json()
    assert made["checks"]["usable_length"]["evidence"] == {
        "side": "reconstruction",
        "start": 6,
        "end": 10,
        "text": "运河 a",
    }


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ({}, {"decision", "verdicts"}),
        ({"decision": "accept", "verdicts": []}, {"verdicts"}),
        ({"decision": "accept", "verdicts": {"task_clarity": "pass"}}, {"verdicts.task_clarity"}),
        ({"decision": "maybe", "verdicts": checks()}, {"decision"}),
        ({"decision": "accept", "verdicts": checks(usable_length={})}, {"usable_length"}),
        ({"decision": "accept", "verdicts": checks(usable_length={"verdict": "no"})}, {"usable_length"}),
        ({"decision": "accept", "verdicts": checks(usable_length={"verdict": "fail"})}, {"decision"}),
        ({"decision": "reject", "verdicts": checks()}, {"decision"}),
        ({"decision": "accept", "verdicts": {**checks(), "charm": {"verdict": "pass"}}}, {"decision"}),
        ({"decision": "accept", "verdicts": checks(), "seconds": -1}, {"seconds"}),
        ({"decision": "accept", "verdicts": checks(), "seconds": "NaN"}, {"seconds"}),
        (
            {
                "decision": "accept",
                "verdicts": checks(usable_length={"verdict": "pass", "note": "x" * 6_000}),
            },
            {"verdicts.usable_length.note"},
        ),
    ],
)
def test_a_refusal_says_what_and_where(as_ann: APIClient, body: Any, fields: set[str]) -> None:
    item = reconstruction("in_review")
    send(as_ann, "post", f"queue/{item.pk}/claim/")
    answer = send(as_ann, "post", f"queue/{item.pk}/decide/", body)
    assert answer.status_code == 400, answer.json()
    assert answer.json()["code"] == "invalid"
    assert set(answer.json()["errors"]) == fields
    assert not Review.objects.exists()


def test_a_conflict_says_until_when_and_never_by_whom(as_ann: APIClient, as_ben: APIClient) -> None:
    item = reconstruction("in_review")
    until = send(as_ann, "post", f"queue/{item.pk}/claim/").json()["lease_expires_at"]
    body = {"decision": "accept", "verdicts": checks()}
    for action, sent in (("claim", None), ("decide", body)):
        answer = send(as_ben, "post", f"queue/{item.pk}/{action}/", sent)
        assert (answer.status_code, answer.json()["code"]) == (409, "lease_taken")
        assert answer.json()["until"] == until
        assert "ann" not in answer.json()["detail"].replace("another", "")
    assert send(as_ben, "post", f"queue/{item.pk}/heartbeat/").json()["code"] == "lease_expired"
    assert send(as_ben, "post", f"queue/{item.pk}/flag/", {"reason": "x"}).json()["code"] == "lease_expired"
    state = send(as_ben, "get", "queue/").json()["queue"]
    assert (state["waiting"], state["held_by_others"], state["held_until"]) == (0, 1, until)


def test_a_lease_that_ran_out_is_a_conflict_and_the_draft_is_kept(as_ann: APIClient) -> None:
    item = reconstruction("in_review")
    send(as_ann, "post", f"queue/{item.pk}/claim/")
    assert send(as_ann, "get", f"queue/{item.pk}/draft/").status_code == 404
    draft = {"verdicts": {"task_clarity": {"verdict": "fail", "note": NOTE}}, "seconds": 3}
    ReviewSlot.objects.update(lease_expires_at=timezone.now() - timedelta(seconds=1))
    saved = send(as_ann, "put", f"queue/{item.pk}/draft/", draft)
    assert saved.status_code == 200
    body = {"decision": "accept", "verdicts": checks()}
    answer = send(as_ann, "post", f"queue/{item.pk}/decide/", body)
    assert (answer.status_code, answer.json()["code"]) == (409, "lease_expired")
    kept = send(as_ann, "get", f"queue/{item.pk}/draft/").json()
    assert kept["verdicts"] == {"task_clarity": {"verdict": "fail", "note": NOTE, "evidence": None}}
    assert kept["saved_at"] == saved.json()["saved_at"]
    send(as_ann, "post", f"queue/{item.pk}/claim/")
    assert send(as_ann, "post", f"queue/{item.pk}/decide/", body).status_code == 200
    assert send(as_ann, "put", f"queue/{item.pk}/draft/", draft).json()["code"] == "not_waiting"


def test_skip_release_flag_and_undo(as_ann: APIClient) -> None:
    first, second = reconstruction("in_review"), reconstruction("in_review")
    assert send(as_ann, "post", "queue/undo/").json()["code"] == "nothing_to_undo"
    send(as_ann, "post", f"queue/{first.pk}/claim/")
    assert send(as_ann, "post", f"queue/{first.pk}/skip/").status_code == 204
    assert send(as_ann, "post", "queue/next/").json()["item"]["reconstruction"] == second.pk
    assert send(as_ann, "post", f"queue/{second.pk}/release/").status_code == 204
    assert send(as_ann, "post", "queue/undo/").json()["kind"] == "skip"
    send(as_ann, "post", f"queue/{first.pk}/claim/")
    flagged = send(as_ann, "post", f"queue/{first.pk}/flag/", {"reason": "  not a request  "})
    assert (flagged.status_code, flagged.json()["reason"]) == (201, "not a request")
    assert send(as_ann, "get", "queue/").json()["last_action"]["kind"] == "flag"
    undone = send(as_ann, "post", "queue/undo/").json()
    assert (undone["kind"], undone["reconstruction"]) == ("flag", first.pk)
    assert Reconstruction.objects.get(pk=first.pk).state == "in_review"


# Blindness


def test_an_annotator_finds_only_their_own_reviews(
    as_ann: APIClient, as_ben: APIClient, ann: User, ben: User
) -> None:
    item = reconstruction("disputed", wanted_reviews=2)
    mine, other = review(item, ann), review(item, ben, "reject")
    assert [row["id"] for row in send(as_ann, "get", "reviews/").json()["results"]] == [mine.pk]
    detail = send(as_ann, "get", f"reviews/{mine.pk}/").json()
    assert (detail["text"], detail["source_text"]) == (item.text, item.source_prompt.text)
    assert "state" not in detail
    assert send(as_ann, "get", f"reviews/{other.pk}/").status_code == 404
    assert (
        send(as_ann, "get", f"reviews/{10**9}/").json() == send(as_ann, "get", f"reviews/{other.pk}/").json()
    )
    for query in (f"reviewer={ben.pk}", "state=disputed", "ordering=decision"):
        answer = send(as_ann, "get", f"reviews/?{query}")
        assert answer.status_code == 400
        assert "ben" not in answer.text
    for hidden in (
        "reconstructions/",
        "flags/",
        "adjudications/",
        "history/",
        "exports/",
        "runs/",
        "policy/",
    ):
        assert send(as_ann, "get", hidden).status_code == 403, hidden


def test_an_item_that_was_never_opened_is_not_known_to_annotators(as_ann: APIClient) -> None:
    for state in ("planned", "rewritten", "repetitive", "contaminated"):
        item = reconstruction(state)
        for action in ("claim", "heartbeat", "skip", "release"):
            assert send(as_ann, "post", f"queue/{item.pk}/{action}/").status_code == 404


def test_a_researcher_who_rates_sees_nothing_before_the_item_is_settled(
    as_rosa: APIClient, rosa: User, ann: User, ben: User
) -> None:
    for state in ("in_review", "flagged"):
        item = reconstruction(state, wanted_reviews=2, agreement=0.4)
        made = review(item, ann, "reject")
        made.verdicts.update(verdict="fail", note="secret words")
        own = review(reconstruction(state, wanted_reviews=2), rosa)
        detail = send(as_rosa, "get", f"reconstructions/{item.pk}/")
        assert (detail.json()["reviews"], detail.json()["agreement"]) == ([], None)
        assert send(as_rosa, "get", f"reviews/{made.pk}/").status_code == 404
        assert send(as_rosa, "post", f"reviews/{made.pk}/withdraw/", {"reason": "x"}).status_code == 404
        assert own.pk in {row["id"] for row in send(as_rosa, "get", "reviews/").json()["results"]}
        for query in (f"reviewer={ann.pk}", "failed=any", "failed=task_clarity"):
            assert send(as_rosa, "get", f"reconstructions/?{query}").json()["results"] == []
        for query in ("decision=reject", f"reviewer={ann.pk}", "failed=any"):
            assert send(as_rosa, "get", f"reviews/?{query}").json()["results"] == []
        for address in (f"reconstructions/{item.pk}/", "reconstructions/", "reviews/", "history/"):
            assert "secret words" not in send(as_rosa, "get", address).text
        Reconstruction.objects.filter(pk=item.pk).update(state="disputed")
        detail = send(as_rosa, "get", f"reconstructions/{item.pk}/").json()
        assert [each["reviewer"] for each in detail["reviews"]] == ["ann"]
        assert detail["agreement"] == 0.4
        made.delete()


def test_the_history_keeps_a_decision_until_the_item_is_settled(
    as_rosa: APIClient, as_ann: APIClient, as_ben: APIClient
) -> None:
    item = reconstruction("in_review", wanted_reviews=2)
    body = {"decision": "reject", "verdicts": checks(task_clarity={"verdict": "fail"})}
    send(as_ann, "post", f"queue/{item.pk}/claim/")
    send(as_ann, "post", f"queue/{item.pk}/decide/", body)
    address = f"history/?kind=reconstruction&object={item.pk}"
    (entry,) = send(as_rosa, "get", address).json()["results"]
    assert (entry["action"], entry["hidden"], entry["differences"]) == ("reviewed", True, [])
    send(as_ben, "post", f"queue/{item.pk}/claim/")
    send(as_ben, "post", f"queue/{item.pk}/decide/", body)
    entries = send(as_rosa, "get", address).json()["results"]
    assert [each["action"] for each in entries] == ["reviewed: reject", "reviewed: reject"]
    assert [each["actor"] for each in entries] == ["ben", "ann"]
    assert entries[0]["differences"] == [{"name": "state", "before": "in_review", "after": "rejected"}]
