"""What researchers do with decisions, settings and many items at once."""

from __future__ import annotations

from django.contrib.auth.models import User
from rest_framework.test import APIClient

from curation.models import CurationPolicy, Reconstruction, Review
from llm.audit import history_of
from llm.models import Run
from tests.api.conftest import checks, send
from tests.samples import endpoint, reconstruction, review, source_prompt


def test_a_disputed_item_is_settled(as_rosa: APIClient, ann: User, ben: User) -> None:
    item = reconstruction("disputed", wanted_reviews=2)
    review(item, ann), review(item, ben, "reject")
    (waiting,) = send(as_rosa, "get", "adjudications/?state=disputed").json()["results"]
    assert waiting["id"] == item.pk
    body = {"decision": "accept", "verdicts": checks()}
    refused = send(as_rosa, "post", f"adjudications/{item.pk}/", body)
    assert set(refused.json()["errors"]) == {"reason"}
    made = send(as_rosa, "post", f"adjudications/{item.pk}/", body | {"reason": "clear enough"})
    assert (made.status_code, made.json()["adjudication"]) == (200, True)
    item.refresh_from_db()
    assert item.state == "accepted"
    again = send(as_rosa, "post", f"adjudications/{item.pk}/", body | {"reason": "clear enough"})
    assert (again.status_code, again.json()) == (200, made.json())
    other = send(as_rosa, "post", f"adjudications/{item.pk}/", body | {"reason": "on second thoughts"})
    assert (other.status_code, other.json()["code"]) == (409, "not_waiting")


def test_a_flag_is_resolved(as_rosa: APIClient, as_ann: APIClient) -> None:
    item = reconstruction("in_review")
    send(as_ann, "post", f"queue/{item.pk}/claim/")
    send(as_ann, "post", f"queue/{item.pk}/flag/", {"reason": "not a request"})
    (flag,) = send(as_rosa, "get", "flags/?state=open").json()["results"]
    assert (flag["reconstruction"], flag["reason"], flag["resolved_at"]) == (item.pk, "not a request", None)
    answer = send(as_rosa, "post", f"reconstructions/{item.pk}/put-back/", {"resolution": "it is one"})
    assert answer.status_code == 204
    assert send(as_rosa, "get", "flags/?state=resolved").json()["results"][0]["resolved_by"] == "rosa"
    assert send(as_ann, "post", "queue/next/").json()["item"]["reconstruction"] == item.pk
    again = send(as_rosa, "post", f"reconstructions/{item.pk}/put-back/", {"resolution": "x"})
    assert again.status_code == 409


def test_a_review_is_withdrawn_with_its_corpus_prompt(as_rosa: APIClient, as_ann: APIClient) -> None:
    item = reconstruction("in_review")
    send(as_ann, "post", f"queue/{item.pk}/claim/")
    made = send(
        as_ann, "post", f"queue/{item.pk}/decide/", {"decision": "accept", "verdicts": checks()}
    ).json()
    assert send(as_rosa, "post", f"reviews/{made['id']}/withdraw/", {}).status_code == 400
    answer = send(as_rosa, "post", f"reviews/{made['id']}/withdraw/", {"reason": "too fast"})
    assert answer.status_code == 200
    assert Review.objects.get().withdrawn_because == "too fast"
    assert Reconstruction.objects.get(pk=item.pk).state == "in_review"
    assert (
        send(as_rosa, "get", "corpus-prompts/?state=withdrawn").json()["results"][0]["reconstruction"]
        == item.pk
    )
    assert send(as_rosa, "get", f"reviews/{made['id']}/").status_code == 404


def test_a_second_review_is_asked_for(as_rosa: APIClient) -> None:
    items = [reconstruction("in_review").pk, reconstruction("accepted").pk]
    answer = send(as_rosa, "post", "second-reviews/", {"reconstructions": items})
    assert answer.json() == {"count": 1}
    assert Reconstruction.objects.get(pk=items[0]).wanted_reviews == 2
    assert send(as_rosa, "post", "second-reviews/", {"reconstructions": []}).status_code == 400


def test_a_bulk_action_is_previewed_then_done(as_rosa: APIClient, rosa: User) -> None:
    waiting = reconstruction("in_review")
    reconstruction("accepted")
    body = {"action": "second-review", "filters": {"language": "en"}}
    preview = send(as_rosa, "post", "bulk/", body).json()
    assert (preview["count"], preview["done"], len(preview["left_alone"])) == (1, False, 1)
    other = reconstruction("in_review")
    changed = send(as_rosa, "post", "bulk/", body | {"token": preview["token"]})
    assert (changed.status_code, changed.json()["preview"]["count"]) == (409, 2)
    done = send(as_rosa, "post", "bulk/", body | {"token": changed.json()["preview"]["token"]}).json()
    assert (done["count"], done["done"], done["run"]) == (2, True, None)
    assert set(Reconstruction.objects.filter(wanted_reviews=2).values_list("pk", flat=True)) == {
        waiting.pk,
        other.pk,
    }


def test_a_bulk_action_asks_for_what_it_needs(as_rosa: APIClient) -> None:
    prompt, planned = source_prompt(), reconstruction("planned")
    body = {"action": "exclude", "filters": {"state": "waiting"}}
    body["token"] = send(as_rosa, "post", "bulk/", body).json()["token"]
    assert set(send(as_rosa, "post", "bulk/", body).json()["errors"]) == {"reason"}
    assert send(as_rosa, "post", "bulk/", body | {"reason": "spam"}).json()["count"] == 1
    prompt.refresh_from_db()
    assert prompt.excluded_because == "spam"
    body = {"action": "reconstruct", "filters": {"state": "planned"}}
    body["token"] = send(as_rosa, "post", "bulk/", body).json()["token"]
    assert set(send(as_rosa, "post", "bulk/", body).json()["errors"]) == {"endpoint"}
    assert set(send(as_rosa, "post", "bulk/", body | {"endpoint": "none"}).json()["errors"]) == {"endpoint"}
    run = send(as_rosa, "post", "bulk/", body | {"endpoint": endpoint().name}).json()["run"]
    assert list(Run.objects.get(pk=run).items.values_list("subject_id", flat=True)) == [planned.pk]
    assert set(send(as_rosa, "post", "bulk/", {"action": "x", "filters": {}}).json()["errors"]) == {"action"}
    assert set(send(as_rosa, "post", "bulk/", body | {"filters": {"stat": "x"}}).json()["errors"]) == {"stat"}


def test_the_settings_are_read_and_changed(as_rosa: APIClient, rosa: User) -> None:
    before = send(as_rosa, "get", "policy/").json()
    assert (before["second_review_share"], before["lease_minutes"]) == (0.1, 20)
    body = {"second_review_share": 0.25, "reason": "more agreement"}
    assert send(as_rosa, "patch", "policy/", body).json()["second_review_share"] == 0.25
    assert CurationPolicy.current().lease_minutes == 20
    entry = history_of(CurationPolicy.current()).get()
    assert (entry.actor, entry.reason, entry.after) == (rosa, "more agreement", {"second_review_share": 0.25})
    for wrong in (
        {"second_review_share": 1.5},
        {"lease_minutes": 0},
        {"repetition_limits": []},
        {"repetition_limits": {"charm": 1}},
    ):
        answer = send(as_rosa, "patch", "policy/", wrong)
        assert (answer.status_code, set(answer.json()["errors"])) == (400, set(wrong)), wrong


def test_quality_says_what_agreement_is_or_why_it_is_undefined(
    as_rosa: APIClient, ann: User, ben: User
) -> None:
    empty = send(as_rosa, "get", "quality/").json()["agreement"]
    assert empty["rows"][0]["alpha"]["value"] is None
    assert empty["rows"][0]["alpha"]["reason"]
    for decision in ("accept", "reject", "accept"):
        item = reconstruction("disputed", wanted_reviews=2)
        review(item, ann, seconds=0.1), review(item, ben, decision, seconds=500)
    blind = reconstruction("in_review", wanted_reviews=2)
    review(blind, ann), review(blind, ben)
    found = send(as_rosa, "get", "quality/").json()
    assert [row["label"] for row in found["agreement"]["rows"]] == found["agreement"]["labels"]
    assert found["agreement"]["rows"][0]["kappa"]["n"] == 3
    assert found["agreement"]["pairs"][0]["first"] == "ann"
    by_name = {row["name"]: row for row in found["pace"]["reviewers"]}
    assert (by_name["ann"]["fast"], by_name["ann"]["timed"], by_name["ben"]["fast"]) == (3, 3, 0)
    assert {row["name"] for row in found["pace"]["fast"]} == {"ann"}
    parts = by_name["ben"]["parts"]
    assert [part["part"] for part in parts] == ["first", "middle", "latest"]
    accepted = parts[1]["accepted"]
    assert (accepted["own"], accepted["others"]) == ({"count": 0, "n": 1}, {"count": 0, "n": 0})
    assert (accepted["first"], accepted["difference"]) == ({"count": 1, "n": 1}, None)
    assert accepted["change"]["value"] == -1.0
    assert not accepted["change"]["clear"]
    assert found["agreement"]["rows"][0]["same"] == {"count": 2, "n": 3}
    assert found["agreement"]["not_blind"] == 0
    assert parts[0]["passes"]["task_clarity"]["own"] == {"count": 1, "n": 1}
