"""The review room over HTTP, as it works without JavaScript."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from curation.models import (
    CheckVerdict,
    CorpusPrompt,
    Reconstruction,
    ReconstructionDraft,
    Review,
    ReviewDraft,
    ReviewFlag,
    ReviewPreference,
    ReviewSkip,
    ReviewSlot,
)
from curation.review import claim, decide
from llm.access import Role
from tests.reviewing import disputed_item, flagged_item, judged, waiting_item
from tests.samples import CHINESE, ENGLISH, passed, person, reconstruction, review, source_prompt

CHECKS = CheckVerdict.Check.values


def filled(decision: str = "accept", verdict: str = "pass", **notes: str) -> dict[str, str]:
    return {
        "decision": decision,
        **{f"{check}-verdict": verdict for check in CHECKS},
        **{f"{check}-note": note for check, note in notes.items()},
    }


def free_all() -> None:
    ReviewSlot.objects.update(holder=None, held_since=None, lease_expires_at=None)


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
    assert ReviewSlot.objects.get(holder__isnull=False).reconstruction == item


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
    ReviewSlot.objects.update(lease_expires_at=timezone.now() - timedelta(hours=1))
    annotator_client.post(item_page(item), filled())
    assert Review.objects.get().decision == "accept"


def test_an_item_that_went_to_someone_else_keeps_the_input(annotator_client: Client, bea: User) -> None:
    item = reconstruction()
    annotator_client.get(item_page(item))
    free_all()
    claim(reviewer=bea, reconstruction_id=item.pk)
    answer = annotator_client.post(item_page(item), filled(task_clarity="my words"))
    assert answer.status_code == 409
    assert "Another reviewer took this item over" in answer.text
    assert "my words</textarea>" in answer.text
    Reconstruction.objects.update(state="rejected")
    answer = annotator_client.post(item_page(item), filled(task_clarity="my words"))
    assert answer.status_code == 409
    assert "is not waiting for your review any more" in answer.text
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


def test_an_empty_queue_counts_what_waits_for_others_and_no_verdict(
    annotator_client: Client, annotator: User, bea: User
) -> None:
    judged(waiting_item(reviews=2), "ann", "reject", task_clarity="fail")
    held = waiting_item(reviews=2)
    judged(held, "ann")
    claim(reviewer=bea, reconstruction_id=held.pk)
    flagged_item("bea")
    disputed_item("bea", "carl")
    answer = annotator_client.get(reverse("review")).text
    assert "Nothing is left for you" in answer
    assert "Everything is reviewed" not in answer
    counts = re.findall(r"<li><strong>(\d+)</strong> ([^<]+)</li>", answer)
    assert counts == [
        ("2", "that you have reviewed: somebody else is to read them too"),
        ("1", "put aside with a flag, for a researcher to look at"),
        ("1", "on which reviewers disagree, for a researcher to settle"),
    ]
    assert "chip" not in answer
    assert "Other reviewers hold" not in answer, "an item that one has reviewed does not come free for one"


@pytest.mark.parametrize(
    ("waits", "words"),
    [
        (lambda: judged(waiting_item(reviews=2), "ann"), "somebody else is to read it too"),
        (lambda: flagged_item("bob"), "put aside with a flag"),
        (lambda: disputed_item("bob", "carl"), "reviewers disagree"),
    ],
)
def test_not_everything_is_reviewed_while_anything_waits(
    annotator_client: Client, waits: Callable[[], object], words: str
) -> None:
    waits()
    answer = annotator_client.get(reverse("review")).text
    assert "Nothing is left for you" in answer
    assert answer.count("<li><strong>") == 1
    assert words in answer


def test_skipping_puts_the_item_at_the_end(annotator_client: Client) -> None:
    first, second = reconstruction(), reconstruction()
    for skipped, shown in ((first, second), (second, first), (first, second)):
        annotator_client.get(item_page(skipped))
        answer = annotator_client.post(reverse("review-skip", args=[skipped.pk]), follow=True)
        assert answer.redirect_chain[-1][0] == item_page(shown)
        assert not ReviewSlot.objects.filter(reconstruction=skipped, holder__isnull=False).exists()


def test_the_heartbeat_renews_and_admits_a_lost_lease(annotator_client: Client, bea: User) -> None:
    item = reconstruction()
    annotator_client.get(item_page(item))
    ReviewSlot.objects.update(lease_expires_at=timezone.now() + timedelta(seconds=5))
    beat = reverse("review-lease", args=[item.pk])
    answer = annotator_client.post(beat, headers={"HX-Request": "true"})
    assert "yours until" in answer.text
    assert "<html" not in answer.text
    assert ReviewSlot.objects.get().lease_expires_at > timezone.now() + timedelta(minutes=15)
    free_all()
    claim(reviewer=bea, reconstruction_id=item.pk)
    assert "no longer reserved" in annotator_client.post(beat, headers={"HX-Request": "true"}).text
    assert annotator_client.post(beat)["Location"] == item_page(item)


def test_a_decided_item_shows_no_verdict_of_others(annotator_client: Client, bea: User) -> None:
    item = reconstruction("rejected", state_reason="failed: Task clarity")
    review(item, bea, "reject")
    page = annotator_client.get(item_page(item)).text
    assert "not waiting for review" in page
    for secret in ("bea", "reject", "Task clarity", ENGLISH):
        assert secret not in page


def test_a_researcher_sees_the_reviews_of_others_once_the_item_is_settled(
    research_client: Client, researcher: User
) -> None:
    item = reconstruction()
    review(item, person("bea"), "reject")
    address = reverse("reconstruction", args=[item.pk])
    assert "bea" not in research_client.get(address).text
    review(item, researcher)
    assert "bea" not in research_client.get(address).text
    Reconstruction.objects.update(state="rejected")
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


HTMX = {"HX-Request": "true", "HX-Boosted": "true"}


def address(name: str, item: Reconstruction) -> str:
    return reverse(name, args=[item.pk])


def test_htmx_gets_the_next_item_in_the_answer_itself(annotator_client: Client) -> None:
    first, second = reconstruction(), reconstruction()
    annotator_client.get(item_page(first))
    answer = annotator_client.post(item_page(first), filled(), headers=HTMX)
    assert answer.status_code == 200
    assert answer["HX-Push-Url"] == item_page(second)
    assert f"Item {second.pk}</h1>" in answer.text
    assert f"Accepted item {first.pk}." in answer.text
    answer = annotator_client.post(item_page(first), filled(), headers=HTMX)
    assert answer["HX-Push-Url"] == item_page(second)
    answer = annotator_client.post(item_page(second), filled(), headers=HTMX)
    assert answer["HX-Push-Url"] == reverse("review")
    assert "Everything is reviewed" in answer.text
    assert Review.objects.count() == 2


def test_a_refused_form_leaves_the_address_of_a_page(annotator_client: Client) -> None:
    item = reconstruction()
    annotator_client.get(item_page(item))
    answer = annotator_client.post(address("review-flag", item), filled(), headers=HTMX)
    assert answer.status_code == 422
    assert answer["HX-Replace-Url"] == item_page(item)
    assert "Say why" in answer.text
    assert " open>" in answer.text
    assert answer.text.count(" checked>") == 5
    assert not ReviewFlag.objects.exists()


def test_a_draft_is_stored_and_comes_back_on_any_device(annotator_client: Client, annotator: User) -> None:
    item = reconstruction()
    annotator_client.get(item_page(item))
    sent = {"usable_length-verdict": "fail", "usable_length-note": "断了 \U0001f469", "seconds": "12.5"}
    answer = annotator_client.post(address("review-draft", item), sent)
    assert answer.status_code == 200
    draft = ReviewDraft.objects.get()
    assert answer.json() == {"saved_at": draft.saved_at.isoformat(timespec="milliseconds")[:23] + "Z"}
    assert draft.seconds == 12.5
    other = Client()
    other.force_login(annotator)
    page = other.get(item_page(item)).text
    assert "断了 \U0001f469</textarea>" in page
    assert 'name="usable_length-verdict" value="fail" checked' in page
    assert 'name="seconds" value="12.5"' in page


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        ({"usable_length-verdict": "maybe"}, 422),
        ({"charm-verdict": "pass"}, 422),
        ({"usable_length-note": "x" * 5_001}, 422),
    ],
)
def test_a_draft_of_another_shape_is_refused_in_words(
    annotator_client: Client, sent: dict[str, str], status: int
) -> None:
    item = reconstruction()
    annotator_client.get(item_page(item))
    answer = annotator_client.post(address("review-draft", item), sent)
    assert answer.status_code == status
    assert answer.json()["message"]
    assert not ReviewDraft.objects.exists()


def test_a_draft_of_a_settled_item_is_refused(annotator_client: Client) -> None:
    item = reconstruction()
    annotator_client.get(item_page(item))
    annotator_client.post(item_page(item), filled())
    answer = annotator_client.post(address("review-draft", item), {"usable_length-note": "late"})
    assert answer.status_code == 409
    assert "not open to you any more" in answer.json()["message"]
    assert annotator_client.post("/review/999999/draft/").status_code == 404


def test_without_a_script_a_button_saves_and_the_page_comes_back(annotator_client: Client) -> None:
    item = reconstruction(text="Sure! The river is wide.")
    annotator_client.get(item_page(item))
    sent = {"save": "page", "task_clarity-verdict": "fail", "task_clarity-note": "an answer"}
    answer = annotator_client.post(address("review-draft", item), sent, follow=True)
    assert answer.redirect_chain == [(item_page(item), 302)]
    assert "an answer</textarea>" in answer.text
    assert "It begins like a reply" in answer.text
    answer = annotator_client.post(
        address("review-draft", item),
        {"save": "page", "task_clarity-evidence": "not in there", "task_clarity-note": "kept"},
    )
    assert answer.status_code == 422
    assert "stands in neither text" in answer.text
    assert "not in there</textarea>" in answer.text


def test_hints_wait_for_ones_own_verdict_on_the_check(annotator_client: Client, bea: User) -> None:
    item = reconstruction(text="Sure! The river is wide, and", of=source_prompt(ENGLISH, "en"))
    page = annotator_client.get(item_page(item)).text
    hints = address("review-hints", item)
    for text in (page, annotator_client.get(hints).text):
        assert "It begins like a reply" not in text
        assert "ends in the middle" not in text
    draft = address("review-draft", item)
    annotator_client.post(draft, {"task_clarity-note": "only a note"})
    assert "It begins like a reply" not in annotator_client.get(hints).text
    annotator_client.post(draft, {"task_clarity-verdict": "pass"})
    found = annotator_client.get(hints).text
    assert "It begins like a reply" in found
    assert "ends in the middle" not in found
    assert "ends in the middle" not in annotator_client.get(item_page(item)).text
    other = Client()
    other.force_login(bea)
    assert "It begins like a reply" not in other.get(hints).text
    annotator_client.post(draft, {})
    assert "It begins like a reply" not in annotator_client.get(hints).text
    assert not Review.objects.exists()


@pytest.mark.parametrize("sides", [("", "reconstruction"), ("source", "source")])
def test_evidence_is_found_where_it_stands(annotator_client: Client, sides: tuple[str, str]) -> None:
    side, stored = sides
    text = "one \U0001f469\u200d\U0001f52c two\r\nthree\r\n四五六 the passage\r\nends here"
    item = reconstruction(text=text, of=source_prompt("先 \U0001f3f3 " + text, "en"))
    annotator_client.get(item_page(item))
    sent = filled("reject", "fail") | {
        "task_clarity-evidence": "四五六 the passage\r\nends",
        "task_clarity-evidence-side": side,
    }
    annotator_client.post(item_page(item), sent)
    evidence = Review.objects.get().verdicts.get(check_name="task_clarity").evidence
    assert evidence["side"] == stored
    of = item.text if stored == "reconstruction" else item.source_prompt.text
    assert of[evidence["start"] : evidence["end"]] == evidence["text"] == "四五六 the passage\r\nends"


def test_the_second_of_two_places_is_kept_when_it_was_the_one_selected(annotator_client: Client) -> None:
    item = reconstruction(text="again and again and again")
    annotator_client.get(item_page(item))
    sent = filled("reject", "fail") | {
        "task_clarity-evidence": "again",
        "task_clarity-evidence-side": "reconstruction",
        "task_clarity-evidence-start": "20",
        "task_clarity-evidence-end": "25",
    }
    annotator_client.post(item_page(item), sent)
    assert Review.objects.get().verdicts.get(check_name="task_clarity").evidence["start"] == 20


def test_a_carriage_return_reaches_the_page_as_one(annotator_client: Client) -> None:
    item = reconstruction(text="one\r\ntwo")
    assert "one&#13;\ntwo</div>" in annotator_client.get(item_page(item)).text


def test_flagging_puts_aside_with_the_reason_and_keeps_the_input(
    annotator_client: Client, annotator: User
) -> None:
    item, following = reconstruction(), reconstruction()
    annotator_client.get(item_page(item))
    sent = filled(task_clarity="half done") | {"reason": "names a living person"}
    answer = annotator_client.post(address("review-flag", item), sent, headers=HTMX)
    assert answer["HX-Push-Url"] == item_page(following)
    assert ReviewFlag.objects.get().reason == "names a living person"
    item.refresh_from_db()
    assert item.state == "flagged"
    undone = annotator_client.post(
        address("review-undo", item), {"undo": "flag", "item": str(following.pk)}, headers=HTMX
    )
    assert undone["HX-Push-Url"] == item_page(item)
    assert f"Undone: flagged item {item.pk}" in undone.text
    assert "half done</textarea>" in undone.text


def test_the_same_flag_sent_again_goes_on_as_the_first_did(annotator_client: Client) -> None:
    item, following = reconstruction(), reconstruction()
    annotator_client.get(item_page(item))
    for _ in range(2):
        answer = annotator_client.post(
            address("review-flag", item), {"reason": "names a person"}, headers=HTMX
        )
        assert (answer.status_code, answer["HX-Push-Url"]) == (200, item_page(following))
    assert ReviewFlag.objects.count() == 1


@pytest.mark.parametrize("decision", ["accept", "reject", "skip"])
def test_undo_brings_back_state_and_values(annotator_client: Client, decision: str) -> None:
    item, following = reconstruction(), reconstruction()
    annotator_client.get(item_page(item))
    sent = filled(decision, "unsure", task_clarity="my words")
    target = address("review-skip", item) if decision == "skip" else item_page(item)
    page = annotator_client.post(target, sent, follow=True).text
    done = {"accept": "accepted", "reject": "rejected", "skip": "skipped"}[decision]
    assert f"Undo: {done} item {item.pk}" in page
    form = {"undo": decision, "item": str(following.pk), "usable_length-note": "on the other item"}
    answer = annotator_client.post(address("review-undo", item), form | {"seconds": "3"}, follow=True)
    assert answer.redirect_chain == [(item_page(item), 302)]
    assert f"Undone: {done} item {item.pk}." in answer.text
    assert "my words</textarea>" in answer.text
    assert answer.text.count('value="unsure" checked') == 5
    item.refresh_from_db()
    assert item.state == "in_review"
    assert not Review.objects.filter(withdrawn_at__isnull=True).exists()
    assert ReviewDraft.objects.get(reconstruction=following).content == {
        "usable_length": {"verdict": "", "note": "on the other item", "evidence": None}
    }


def test_undo_from_a_page_left_behind_undoes_nothing(annotator_client: Client) -> None:
    first, second, third = reconstruction(), reconstruction(), reconstruction()
    for item in (first, second):
        annotator_client.get(item_page(item))
        annotator_client.post(item_page(item), filled())
    stale = {"undo": "accept", "item": str(third.pk)}
    answer = annotator_client.post(address("review-undo", first), stale, follow=True)
    assert "Nothing was undone." in answer.text
    assert f"Your last action is now: accepted item {second.pk}." in answer.text
    assert Review.objects.filter(withdrawn_at__isnull=True).count() == 2
    annotator_client.post(address("review-undo", second), stale)
    assert Review.objects.get(withdrawn_at__isnull=True).reconstruction == first


def test_undo_is_there_when_nothing_is_left(annotator_client: Client) -> None:
    item = reconstruction()
    annotator_client.get(item_page(item))
    page = annotator_client.post(item_page(item), filled(), follow=True).text
    assert "Everything is reviewed" in page
    assert f"Undo: accepted item {item.pk}" in page


def test_a_tab_left_behind_skips_nothing(annotator_client: Client) -> None:
    item = reconstruction()
    annotator_client.get(item_page(item))
    annotator_client.post(item_page(item), filled())
    page = annotator_client.post(address("review-skip", item), filled(), follow=True).text
    assert "nothing to skip" in page
    assert not ReviewSkip.objects.exists()


def test_the_difference_has_a_link_and_a_legend(annotator_client: Client) -> None:
    item = reconstruction(
        text="Write a long <b>poem</b>.", of=source_prompt("Write a short <b>poem</b>.", "en")
    )
    page = annotator_client.get(item_page(item)).text
    assert f'href="{item_page(item)}?difference=1"' in page
    assert "<del>" not in page
    page = annotator_client.get(item_page(item), {"difference": "1"}).text
    assert "Write a <del>short</del> &lt;b&gt;poem" in page
    assert "Write a <ins>long</ins> &lt;b&gt;poem" in page
    assert "only here</del>" in page
    part = annotator_client.get(
        item_page(item), {"difference": "1"}, headers={"HX-Request": "true", "HX-Target": "texts"}
    ).text
    assert part.startswith('<div id="texts"')
    assert "<ins>long</ins>" in part


def test_the_drafts_of_a_reconstruction_are_there_folded(annotator_client: Client) -> None:
    from tests.samples import completion

    item = reconstruction()
    for number, kind in enumerate(("rewrite", "enrichment")):
        ReconstructionDraft.objects.create(
            reconstruction=item,
            number=number,
            kind=kind,
            text=f"draft <i>{number}</i>",
            characters=1_200,
            segments=7,
            completion=completion(),
        )
    page = annotator_client.get(item_page(item)).text
    assert "How it came about: 2 drafts" in page
    assert "draft &lt;i&gt;1&lt;/i&gt;" in page
    assert "1,200 characters" in page


def test_progress_and_the_queue_are_named(annotator_client: Client, annotator: User, bea: User) -> None:
    earlier = [reconstruction() for _ in range(3)]
    for item in earlier:
        claim(reviewer=annotator, reconstruction_id=item.pk)
        decide(
            reviewer=annotator,
            reconstruction_id=item.pk,
            decision="accept",
            verdicts=passed(),
            seconds=90,
        )
    Review.objects.filter(reconstruction=earlier[0]).update(created_at=timezone.now() - timedelta(days=2))
    item, others = reconstruction(), reconstruction()
    claim(reviewer=bea, reconstruction_id=others.pk)
    page = annotator_client.get(item_page(item)).text
    assert "Today <strong>2</strong>" in page
    assert "3 in all" in page
    assert "1 min 30 s an item" in page
    assert "<strong>1</strong> left" in page
    assert "1 held by others until" in page
    annotator_client.cookies["timezone"] = "Not/AZone"
    assert annotator_client.get(item_page(item)).status_code == 200


def test_a_second_reviewer_sees_nothing_of_the_first(annotator_client: Client, bea: User) -> None:
    item = reconstruction(wanted_reviews=2)
    claim(reviewer=bea, reconstruction_id=item.pk)
    verdicts = passed("a telling note")
    decide(reviewer=bea, reconstruction_id=item.pk, decision="accept", verdicts=verdicts)
    page = annotator_client.get(item_page(item)).text
    for secret in ("bea", "a telling note", "accepted", " checked>"):
        assert secret not in page


def test_the_time_in_view_is_stored_with_the_review(annotator_client: Client) -> None:
    first, second, third = reconstruction(), reconstruction(), reconstruction()
    for item, sent in ((first, "61.5"), (second, "nan"), (third, "")):
        annotator_client.get(item_page(item))
        annotator_client.post(item_page(item), filled() | {"seconds": sent})
    assert list(Review.objects.order_by("pk").values_list("seconds", flat=True)) == [61.5, None, None]


def test_unknown_names_and_values_are_answered_and_nothing_is_lost(annotator_client: Client) -> None:
    item = reconstruction()
    annotator_client.get(item_page(item))
    for tampered in (
        {"charm-verdict": "pass"},
        {"usable_length-verdict": "splendid"},
        {"decision": "burn"},
        {"usable_length-evidence": "no such passage"},
    ):
        answer = annotator_client.post(item_page(item), filled(task_clarity="my words") | tampered)
        assert answer.status_code == 422, tampered
        assert 'role="alert"' in answer.text
        assert "my words</textarea>" in answer.text
    assert not Review.objects.exists()
    assert annotator_client.post("/review/999999/", filled()).status_code == 404


def test_keys_are_ones_own_and_shown_on_the_buttons(annotator_client: Client, annotator: User) -> None:
    from curation.review_keys import usual_keys

    keys = reverse("my-keys")
    sent = usual_keys() | {"accept": "Y", "reject": "ü"}
    assert annotator_client.post(keys, sent)["Location"] == keys
    assert ReviewPreference.objects.get().keys == {"accept": "y", "reject": "ü"}
    item = reconstruction()
    page = annotator_client.get(item_page(item)).text
    assert "Accept <kbd>y</kbd>" in page
    assert "Reject <kbd>ü</kbd>" in page
    annotator_client.post(keys, {"reset": "1"})
    assert ReviewPreference.objects.get().keys == {}
    assert "Accept <kbd>a</kbd>" in annotator_client.get(item_page(item)).text


@pytest.mark.parametrize(
    "wrong", [{"accept": "r"}, {"skip": "?"}, {"skip": "/"}, {"skip": ""}, {"skip": "ab"}]
)
def test_keys_that_cannot_be_are_refused_with_the_input_kept(
    annotator_client: Client, wrong: dict[str, str]
) -> None:
    from curation.review_keys import usual_keys

    answer = annotator_client.post(reverse("my-keys"), usual_keys() | {"undo": "w"} | wrong)
    assert answer.status_code == 422
    assert 'aria-invalid="true"' in answer.text
    assert 'name="undo" value="w"' in answer.text
    assert not ReviewPreference.objects.exists()


def test_an_undone_review_leaves_my_work_and_a_withdrawn_one_says_so(
    annotator_client: Client, annotator: User, bea: User
) -> None:
    for by, text in ((annotator, "undone by me"), (bea, "withdrawn by another")):
        review(
            reconstruction("in_review", text=text),
            annotator,
            withdrawn_at=timezone.now(),
            withdrawn_by=by,
            withdrawn_because="a second look",
        )
    page = annotator_client.get(reverse("my-work")).text
    assert "undone by me" not in page
    assert "withdrawn by another" in page
    assert "a second look" in page


def test_skipped_items_are_named_and_come_back_with_their_draft(annotator_client: Client) -> None:
    item = reconstruction()
    annotator_client.get(item_page(item))
    sent = {"usable_length-note": "to be thought over", "seconds": "5"}
    page = annotator_client.post(address("review-skip", item), sent, follow=True).text
    assert f"Skipped item {item.pk}." in page
    assert "the only item left" in page
    assert "to be thought over</textarea>" in page
