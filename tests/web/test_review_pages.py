"""The review room over HTTP, as it works without JavaScript."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from curation.models import CheckVerdict, CorpusPrompt, Reconstruction, Review, ReviewLease
from curation.review import claim
from llm.access import Role
from tests.samples import CHINESE, ENGLISH, passed, person, reconstruction, review, source_prompt

CHECKS = CheckVerdict.Check.values


def filled(decision: str = "accept", verdict: str = "pass", **notes: str) -> dict[str, str]:
    return {
        "decision": decision,
        **{f"{check}-verdict": verdict for check in CHECKS},
        **{f"{check}-note": note for check, note in notes.items()},
    }


def item_page(item: Reconstruction) -> str:
    return reverse("review-item", args=[item.pk])


@pytest.fixture
def bea(db: None) -> User:
    return person("bea", Role.ANNOTATOR)


def test_review_goes_to_the_next_item_with_both_texts_in_their_languages(annotator_client: Client) -> None:
    item = reconstruction(text=CHINESE, language="zh", of=source_prompt(ENGLISH, "en"))
    answer = annotator_client.get(reverse("review"), follow=True)
    assert answer.redirect_chain == [(item_page(item), 302)]
    assert f'<div class="reading" lang="zh" dir="auto">{CHINESE}</div>' in answer.text
    assert f'<div class="reading" lang="en" dir="auto">{ENGLISH}</div>' in answer.text
    for label in CheckVerdict.Check.labels:
        assert label in answer.text
    assert ReviewLease.objects.get().reconstruction == item


def test_accepting_goes_on_to_the_next_item(annotator_client: Client) -> None:
    first, second = reconstruction(), reconstruction()
    annotator_client.get(item_page(first))
    answer = annotator_client.post(item_page(first), filled(task_clarity="clear"), follow=True)
    assert answer.redirect_chain[-1] == (item_page(second), 302)
    assert f"Accepted item {first.pk}." in answer.text
    assert Review.objects.get().verdicts.get(check_name="task_clarity").note == "clear"
    assert CorpusPrompt.objects.get().reconstruction == first


def test_a_failed_submit_keeps_the_input_and_says_what_is_missing(annotator_client: Client) -> None:
    item = reconstruction()
    annotator_client.get(item_page(item))
    sent = filled(verdict="pass", usable_length="说明：结尾 <b>突然</b>断了")
    del sent["contextual_coherence-verdict"]
    answer = annotator_client.post(item_page(item), sent)
    assert answer.status_code == 422
    assert answer.text.count("Choose pass, fail or unsure.") == 1
    assert "说明：结尾 &lt;b&gt;突然&lt;/b&gt;断了</textarea>" in answer.text
    assert answer.text.count(" checked>") == 4
    assert not Review.objects.exists()


def test_accepting_with_a_failed_check_is_refused(annotator_client: Client) -> None:
    item = reconstruction()
    annotator_client.get(item_page(item))
    answer = annotator_client.post(item_page(item), filled(verdict="fail"))
    assert answer.status_code == 422
    assert "cannot be accepted" in answer.text


def test_a_lease_that_ran_out_unnoticed_costs_nothing(annotator_client: Client) -> None:
    item = reconstruction()
    annotator_client.get(item_page(item))
    ReviewLease.objects.update(expires_at=timezone.now() - timedelta(hours=1))
    annotator_client.post(item_page(item), filled())
    assert Review.objects.get().decision == "accept"


def test_an_item_that_went_to_someone_else_keeps_the_input(annotator_client: Client, bea: User) -> None:
    item = reconstruction()
    annotator_client.get(item_page(item))
    ReviewLease.objects.all().delete()
    claim(reviewer=bea, reconstruction_id=item.pk)
    answer = annotator_client.post(item_page(item), filled(task_clarity="my words"))
    assert answer.status_code == 422
    assert "Another reviewer took this item over" in answer.text
    assert "my words</textarea>" in answer.text
    Reconstruction.objects.update(state="rejected")
    answer = annotator_client.post(item_page(item), filled(task_clarity="my words"))
    assert "has decided on this item meanwhile" in answer.text
    assert "my words</textarea>" in answer.text
    assert not Review.objects.exists()


def test_sending_twice_answers_as_the_first_time_did(annotator_client: Client) -> None:
    item = reconstruction()
    annotator_client.get(item_page(item))
    answers = [annotator_client.post(item_page(item), filled()) for _ in range(2)]
    assert [(a.status_code, a["Location"]) for a in answers] == [(302, reverse("review"))] * 2
    assert Review.objects.count() == 1


def test_a_taken_item_says_until_when_and_not_by_whom(annotator_client: Client, bea: User) -> None:
    item = reconstruction()
    claim(reviewer=bea, reconstruction_id=item.pk)
    answer = annotator_client.get(item_page(item))
    assert answer.status_code == 409
    assert "Another reviewer is reading this item" in answer.text
    assert "bea" not in answer.text
    assert "<time" in answer.text


def test_an_empty_queue_says_why(annotator_client: Client, bea: User) -> None:
    assert "Everything is reviewed" in annotator_client.get(reverse("review")).text
    item = reconstruction()
    claim(reviewer=bea, reconstruction_id=item.pk)
    answer = annotator_client.get(reverse("review")).text
    assert "Other reviewers hold 1 item." in answer
    assert "Everything is reviewed" not in answer


def test_skipping_puts_the_item_at_the_end(annotator_client: Client) -> None:
    first, second = reconstruction(), reconstruction()
    for skipped, shown in ((first, second), (second, first), (first, second)):
        annotator_client.get(item_page(skipped))
        answer = annotator_client.post(reverse("review-skip", args=[skipped.pk]), follow=True)
        assert answer.redirect_chain[-1][0] == item_page(shown)
        assert not ReviewLease.objects.filter(reconstruction=skipped).exists()


def test_the_heartbeat_renews_and_admits_a_lost_lease(annotator_client: Client) -> None:
    item = reconstruction()
    annotator_client.get(item_page(item))
    ReviewLease.objects.update(expires_at=timezone.now() + timedelta(seconds=5))
    beat = reverse("review-lease", args=[item.pk])
    answer = annotator_client.post(beat, headers={"HX-Request": "true"})
    assert "yours until" in answer.text
    assert "<html" not in answer.text
    assert ReviewLease.objects.get().expires_at > timezone.now() + timedelta(minutes=15)
    ReviewLease.objects.all().delete()
    assert "no longer reserved" in annotator_client.post(beat, headers={"HX-Request": "true"}).text
    assert annotator_client.post(beat)["Location"] == item_page(item)


def test_a_decided_item_shows_no_verdict_of_others(annotator_client: Client, bea: User) -> None:
    item = reconstruction("rejected", state_reason="failed: Task clarity")
    review(item, bea, "reject")
    page = annotator_client.get(item_page(item)).text
    assert "not waiting for review" in page
    for secret in ("bea", "reject", "Task clarity", ENGLISH):
        assert secret not in page


def test_a_researcher_sees_no_review_before_giving_one(research_client: Client, researcher: User) -> None:
    item = reconstruction()
    review(item, person("bea"), "reject")
    address = reverse("reconstruction", args=[item.pk])
    assert "bea" not in research_client.get(address).text
    review(item, researcher)
    assert "bea" in research_client.get(address).text


def test_my_work_is_ones_own(annotator_client: Client, annotator: User, bea: User) -> None:
    mine = review(reconstruction("accepted", text="mine to see"), annotator)
    hers = review(reconstruction("rejected", text="not for others"), bea, "reject")
    page = annotator_client.get(reverse("my-work")).text
    assert "mine to see" in page
    assert "not for others" not in page
    assert annotator_client.get(reverse("my-review", args=[mine.pk])).status_code == 200
    assert annotator_client.get(reverse("my-review", args=[hers.pk])).status_code == 404
    assert "Nothing matches" in annotator_client.get(reverse("my-work"), {"decision": "reject"}).text


def test_an_automatic_review_is_called_so(research_client: Client) -> None:
    item = reconstruction("accepted")
    review(item, person("automatic-reviewer"), automatic=True)
    page = research_client.get(reverse("reconstruction", args=[item.pk])).text
    assert "automatic: made by a program" in page


def test_a_note_with_line_breaks_comes_back_the_same(annotator_client: Client) -> None:
    item, note = reconstruction(), "one\ntwo \U0001f469\u200d\U0001f52c \u202ethree\u2028"
    annotator_client.get(item_page(item))
    annotator_client.post(item_page(item), filled(task_clarity=note.replace("\n", "\r\n") + "."))
    assert Review.objects.get().verdicts.get(check_name="task_clarity").note == note + "."


def test_a_decision_of_the_service_is_the_same_as_of_the_page(annotator_client: Client) -> None:
    item = reconstruction()
    annotator_client.get(item_page(item))
    annotator_client.post(item_page(item), filled())
    stored = {v.check_name: v.verdict for v in Review.objects.get().verdicts.all()}
    assert stored == {check: given.verdict for check, given in passed().items()}
