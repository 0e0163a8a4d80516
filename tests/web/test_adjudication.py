"""Settling disagreements and flags on their pages."""

from __future__ import annotations

import re

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from curation.models import CheckVerdict, CorpusPrompt, Reconstruction, Review, ReviewFlag
from llm.access import Role
from tests.reviewing import annotator, disputed_item, flagged_item, judged, waiting_item
from tests.samples import person

CHECKS = CheckVerdict.Check.values


def answers(decision: str, reason: str = "The second reading is right", **verdicts: str) -> dict[str, str]:
    given = {f"{check}-verdict": verdicts.get(check, "pass") for check in CHECKS}
    return {**given, "reason": reason, "decision": decision}


def page_of(client: Client, item: Reconstruction) -> str:
    return client.get(reverse("adjudication-item", args=[item.pk])).text


def test_what_reviewers_agree_on_least_comes_first(research_client: Client) -> None:
    some = waiting_item(reviews=2)
    judged(some, "ann")
    judged(some, "bob", "reject", task_clarity="fail")
    least = disputed_item()
    page = research_client.get(reverse("adjudication")).text
    assert re.findall(r'class="id" href="/adjudication/(\d+)/"', page) == [str(least.pk), str(some.pk)]
    assert "60%" in page
    assert "80%" in page


def test_verdicts_stand_side_by_side_with_notes_and_passages(research_client: Client) -> None:
    item = disputed_item(text="Write <b>one</b> page about the canal.")
    page = page_of(research_client, item)
    assert page.count('<span class="differ">differ</span>') == 2
    assert page.count('<span class="muted">agree</span>') == 3
    assert "does not hold" in page
    assert '<blockquote class="quote" dir="auto">Write</blockquote>' in page
    assert "&lt;b&gt;one&lt;/b&gt;" in page
    chosen = re.findall(r'name="([a-z_]+)-verdict" value="(\w+)" checked', page)
    assert dict(chosen) == dict.fromkeys(set(CHECKS) - {"task_clarity", "usable_length"}, "pass"), (
        "what they agree on is filled in, what they differ on is not"
    )


def test_a_decision_settles_the_item_and_keeps_the_reason(research_client: Client, researcher: User) -> None:
    item = disputed_item()
    answer = research_client.post(
        reverse("adjudication-item", args=[item.pk]), answers("accept"), follow=True
    )
    assert answer.redirect_chain[-1][0] == reverse("adjudication")
    assert "No disagreements" in answer.text
    item.refresh_from_db()
    assert item.state == "accepted"
    assert CorpusPrompt.objects.filter(reconstruction=item).exists()
    assert Review.objects.get(adjudication=True).reviewer == researcher
    history = research_client.get(reverse("reconstruction", args=[item.pk])).text
    assert "adjudicated: accept" in history
    assert "The second reading is right" in history


@pytest.mark.parametrize(
    ("sent", "message"),
    [
        (answers("accept", reason=" "), "Say why."),
        (answers("accept", task_clarity=""), "Choose pass, fail or unsure."),
        (answers("accept", task_clarity="fail"), "failed check cannot be accepted"),
        (answers("perhaps"), "Choose accept or reject."),
    ],
)
def test_a_decision_that_cannot_be_taken_keeps_the_input(
    research_client: Client, sent: dict[str, str], message: str
) -> None:
    item = disputed_item()
    sent = {**sent, "usable_length-note": "kept as typed"}
    answer = research_client.post(reverse("adjudication-item", args=[item.pk]), sent)
    assert answer.status_code == 422
    assert message in answer.text
    assert "kept as typed" in answer.text
    item.refresh_from_db()
    assert item.state == "disputed"


def test_an_item_that_somebody_else_has_settled_says_so(research_client: Client) -> None:
    item = disputed_item()
    address = reverse("adjudication-item", args=[item.pk])
    research_client.post(address, answers("reject", task_clarity="fail"))
    again = research_client.post(address, answers("accept"))
    assert again.status_code == 409
    assert "somebody has settled it" in again.text
    assert Review.objects.filter(adjudication=True).count() == 1


def test_the_same_decision_sent_twice_is_one(research_client: Client) -> None:
    item = disputed_item()
    address = reverse("adjudication-item", args=[item.pk])
    for _ in range(2):
        answer = research_client.post(address, answers("accept"), follow=True)
        assert f"Reconstruction {item.pk} is accepted." in answer.text
    assert Review.objects.filter(adjudication=True).count() == 1


def test_a_reviewer_of_the_item_is_told_so(client: Client, db: None) -> None:
    both = person("rose", Role.RESEARCHER, Role.ANNOTATOR)
    item = disputed_item(second="rose")
    client.force_login(both)
    assert "You are one of the two reviewers" in page_of(client, item)
    assert "you reviewed it" in client.get(reverse("adjudication")).text


def test_flags_with_their_reasons_and_the_way_back(research_client: Client) -> None:
    item = flagged_item(reason="Two <i>requests</i> in one")
    page = research_client.get(reverse("flags")).text
    assert "Two &lt;i&gt;requests&lt;/i&gt; in one" in page
    assert "ann" in page
    address = reverse("flag-put-back", args=[item.pk])
    assert research_client.post(address, {"resolution": " "}).status_code == 422
    answer = research_client.post(address, {"resolution": "One request, long"}, follow=True)
    assert "Nothing is flagged" in answer.text
    item.refresh_from_db()
    assert item.state == "in_review"
    assert ReviewFlag.objects.get().resolution == "One request, long"
    again = research_client.post(address, {"resolution": "Twice"}, follow=True)
    assert "no longer waiting" in again.text


def test_a_flagged_item_can_be_decided(research_client: Client) -> None:
    item = flagged_item()
    answer = research_client.post(
        reverse("adjudication-item", args=[item.pk]), answers("reject", task_clarity="fail"), follow=True
    )
    assert answer.redirect_chain[-1][0] == reverse("flags")
    item.refresh_from_db()
    assert item.state == "rejected"
    assert ReviewFlag.objects.get().resolved_at is not None


def test_nobody_sees_what_the_first_reviewer_of_a_flagged_item_gave(research_client: Client) -> None:
    item = waiting_item(reviews=2)
    judged(item, "ann", "reject", task_clarity="fail")
    from curation.review import claim, flag

    claim(reviewer=annotator("bob"), reconstruction_id=item.pk)
    flag(reviewer=annotator("bob"), reconstruction_id=item.pk, reason="Unclear")
    for page in (
        page_of(research_client, item),
        research_client.get(reverse("reconstruction", args=[item.pk])).text,
    ):
        assert "does not hold" not in page
        assert "reviewed: reject" not in page
        assert "shown once the item is settled" in page


def test_an_item_in_the_queue_shows_no_way_to_decide(research_client: Client) -> None:
    item = waiting_item(reviews=2)
    judged(item, "ann", "reject", task_clarity="fail")
    page = page_of(research_client, item)
    assert "does not hold" not in page
    assert 'name="decision"' not in page


def test_empty_lists_say_when_something_will_be_there(research_client: Client) -> None:
    assert "No disagreements" in research_client.get(reverse("adjudication")).text
    assert "Nothing is flagged" in research_client.get(reverse("flags")).text


@pytest.mark.parametrize("name", ["adjudication", "flags"])
def test_annotators_are_kept_out(annotator_client: Client, name: str) -> None:
    assert annotator_client.get(reverse(name)).status_code == 403
    item = disputed_item("carl", "dora")
    address = reverse("adjudication-item", args=[item.pk])
    assert annotator_client.get(address).status_code == 403
    assert annotator_client.post(address, answers("accept")).status_code == 403
    assert annotator_client.post(reverse("flag-put-back", args=[item.pk])).status_code == 403
