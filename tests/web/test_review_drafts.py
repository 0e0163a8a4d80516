"""One person in several windows: what one of them has stored, no other writes over unasked."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from curation.api.review_serializers import DraftSerializer
from curation.models import CheckVerdict, Reconstruction, Review, ReviewDraft, ReviewFlag
from curation.review import claim, draft_of, save_draft
from curation.review.drafts import PageInput, clean_content, keep_page_input, version_of
from tests.samples import ENGLISH, reconstruction

HTMX = {"HX-Request": "true", "HX-Boosted": "true"}


def noted(text: str, **more: Any) -> dict[str, Any]:
    return clean_content({"task_clarity": {"note": text}, **more})


def note_of(item: Reconstruction) -> str:
    return str(ReviewDraft.objects.get(reconstruction=item).content.get("task_clarity", {}).get("note", ""))


class Window:
    """A page of the item as a browser without a script would have it: all fields, as they were served."""

    def __init__(self, client: Client, item: Reconstruction) -> None:
        self.client, self.item = client, item
        answer = client.get(reverse("review-item", args=[item.pk]))
        self.fields: dict[str, str] = {
            "version": answer.context["version"],
            "seconds": str(answer.context["seconds"] or ""),
            "known-seconds": str(answer.context["seconds"] or ""),
            "reason": answer.context["reason"],
        }
        for row, _, _ in answer.context["rows"]:
            self.fields |= {f"{row.name}-note": row.note, f"{row.name}-evidence": row.evidence}
            if row.verdict:
                self.fields[f"{row.name}-verdict"] = row.verdict

    def send(self, route: str, *, htmx: bool = False, **more: str) -> Any:
        address = reverse(route, args=[self.item.pk])
        return self.client.post(address, self.fields | more, headers=HTMX if htmx else {})

    def save(self, **more: str) -> Any:
        answer = self.send("review-draft", **more)
        known = answer.json() if answer.status_code == 200 else {}
        self.fields |= more | {name: known[name] for name in ("version",) if name in known}
        return answer


@pytest.fixture
def item(db: None) -> Reconstruction:
    return reconstruction(text=ENGLISH)


def sent(content: dict[str, Any] | None, version: str = "", **more: Any) -> PageInput:
    return PageInput(content, **{"seconds": 0.0, "version": version, "known_seconds": 0.0} | more)


@pytest.mark.parametrize(
    ("stored", "page", "goes_on"),
    [
        ({}, sent(noted("first")), True),
        (noted("old"), sent(noted("new"), version_of(noted("old"))), True),
        (noted("theirs"), sent(noted("mine"), version_of(noted("old"))), False),
        (noted("theirs"), sent(noted("mine")), False),
        (noted("theirs"), sent({}), False),
        (noted("same"), sent(noted("same")), True),
        (noted("mine, sent before"), sent(noted("mine, more"), unanswered=noted("mine, sent before")), True),
        (noted("theirs"), sent(noted("mine, more"), unanswered=noted("mine, sent before")), False),
    ],
)
def test_what_a_page_goes_on_from(stored: dict[str, Any], page: PageInput, goes_on: bool) -> None:
    assert page.goes_on_from(stored) is goes_on


def test_a_save_on_an_older_version_is_refused_and_gets_the_newer_one(
    annotator_client: Client, item: Reconstruction
) -> None:
    laptop, phone = Window(annotator_client, item), Window(annotator_client, item)
    assert phone.save(**{"task_clarity-note": "typed on the phone"}).status_code == 200
    answer = laptop.save(**{"task_clarity-note": "typed on the laptop"})
    assert answer.status_code == 409
    newer = answer.json()["newer"]
    assert newer["fields"] == {"task_clarity-note": "typed on the phone"}
    assert newer["saved_at"]
    assert note_of(item) == "typed on the phone"
    laptop.fields["version"] = newer["version"]
    assert laptop.save().status_code == 200
    assert note_of(item) == "typed on the laptop"


def test_saving_on_and_on_in_one_window_is_never_refused(
    annotator_client: Client, item: Reconstruction
) -> None:
    window = Window(annotator_client, item)
    for text in ("one", "one two", "", "three"):
        assert window.save(**{"task_clarity-note": text}).status_code == 200
    assert note_of(item) == "three"


def test_a_save_whose_answer_was_lost_can_be_sent_again_and_gone_on_from(
    annotator_client: Client, item: Reconstruction
) -> None:
    window = Window(annotator_client, item)
    first = {"task_clarity-note": "one", "seconds": "30", "known-seconds": "0"}
    window.send("review-draft", **first)
    assert window.send("review-draft", **first).status_code == 200
    assert ReviewDraft.objects.get().seconds == 30
    more = {"task_clarity-note": "one two", "seconds": "35", "known-seconds": "0"}
    assert window.send("review-draft", **more).status_code == 409
    lost = "&".join(f"{name}={value}" for name, value in first.items())
    ReviewDraft.objects.update(seconds=30)
    assert window.send("review-draft", unanswered=lost, **more).status_code == 200
    assert (note_of(item), ReviewDraft.objects.get().seconds) == ("one two", 35)


def test_time_alone_adds_up_and_leaves_content_and_version(
    annotator_client: Client, item: Reconstruction
) -> None:
    laptop, phone = Window(annotator_client, item), Window(annotator_client, item)
    phone.save(**{"task_clarity-note": "typed on the phone", "seconds": "20", "known-seconds": "0"})
    before = ReviewDraft.objects.get()
    address = reverse("review-draft", args=[item.pk])
    alone = {"version": laptop.fields["version"], "seconds": "7.5", "known-seconds": "0"}
    assert annotator_client.post(address, alone).status_code == 200
    after = ReviewDraft.objects.get()
    assert (after.content, after.saved_at) == (before.content, before.saved_at)
    assert after.seconds == 27.5
    refused = laptop.save(**{"task_clarity-note": "other", "seconds": "9.5", "known-seconds": "7.5"})
    assert (refused.status_code, refused.json()["newer"]["seconds"]) == (409, 29.5)


@pytest.mark.parametrize("htmx", [False, True])
@pytest.mark.parametrize("route", ["review-skip", "review-flag"])
def test_a_form_that_nobody_changed_writes_over_nothing(
    annotator_client: Client, item: Reconstruction, route: str, htmx: bool
) -> None:
    first = Window(annotator_client, item)
    first.save(**{"task_clarity-note": "as both windows show it"})
    laptop, phone = Window(annotator_client, item), Window(annotator_client, item)
    phone.save(**{"task_clarity-note": "typed on the phone"})
    answer = laptop.send(route, htmx=htmx)
    assert answer.status_code == (422 if route == "review-flag" else 200 if htmx else 302)
    assert note_of(item) == "typed on the phone"
    if route == "review-flag":
        assert f'name="version" value="{laptop.fields["version"]}"' in answer.text


@pytest.mark.parametrize("route", ["review-skip", "review-flag", "review-undo"])
def test_a_changed_form_on_an_older_version_comes_back_with_its_input(
    annotator_client: Client, item: Reconstruction, route: str
) -> None:
    laptop, phone = Window(annotator_client, item), Window(annotator_client, item)
    phone.save(**{"task_clarity-note": "typed on the phone"})
    mine = {"task_clarity-note": "typed on the laptop", "reason": "a name in it", "item": str(item.pk)}
    answer = laptop.send(route, **mine)
    assert answer.status_code == 409
    assert "Another window has newer input" in answer.text
    assert "typed on the laptop</textarea>" in answer.text
    assert "a name in it</textarea>" in answer.text
    assert note_of(item) == "typed on the phone"
    assert item.slots.get().holder is not None
    assert not ReviewFlag.objects.exists()
    kept = laptop.send("review-draft", keep=answer.context["newer_version"], **mine)
    assert (kept.status_code, note_of(item)) == (302, "typed on the laptop")


def test_without_a_script_a_decision_on_an_older_version_is_asked_for_again(
    annotator_client: Client, item: Reconstruction
) -> None:
    laptop, phone = Window(annotator_client, item), Window(annotator_client, item)
    phone.save(**{"task_clarity-note": "typed on the phone"})
    decision = {f"{check}-verdict": "pass" for check in CheckVerdict.Check.values} | {"decision": "accept"}
    answer = laptop.send("review-item", **decision)
    assert answer.status_code == 409
    assert not Review.objects.exists()
    assert note_of(item) == "typed on the phone"
    laptop.send("review-item", keep=answer.context["newer_version"], **decision)
    assert Review.objects.get().decision == "accept"


def test_input_that_cannot_be_stored_stops_a_skip(annotator_client: Client, item: Reconstruction) -> None:
    window = Window(annotator_client, item)
    answer = window.send(
        "review-skip", **{"task_clarity-evidence": "not in there", "usable_length-note": "kept"}
    )
    assert answer.status_code == 422
    assert "stands in neither text" in answer.text
    assert "kept</textarea>" in answer.text
    assert item.slots.get().holder is not None


def test_what_is_stored_can_be_asked_for(annotator_client: Client, item: Reconstruction) -> None:
    address = reverse("review-draft", args=[item.pk])
    assert annotator_client.get(address).json() == {}
    window = Window(annotator_client, item)
    window.save(
        **{"task_clarity-verdict": "fail", "task_clarity-evidence": "village library", "reason": "why"}
    )
    stored = annotator_client.get(address).json()
    assert stored["version"] == window.fields["version"]
    start = ENGLISH.index("village library")
    assert stored["fields"] == {
        "task_clarity-verdict": "fail",
        "task_clarity-evidence": "village library",
        "task_clarity-evidence-side": "reconstruction",
        "task_clarity-evidence-start": str(start),
        "task_clarity-evidence-end": str(start + len("village library")),
        "reason": "why",
    }


def test_the_reason_of_a_flag_is_part_of_the_draft(annotator_client: Client, item: Reconstruction) -> None:
    window = Window(annotator_client, item)
    window.save(reason=" two requests\r\nin one ")
    draft = ReviewDraft.objects.get()
    assert draft.content["flag"]["note"] == "two requests\nin one"
    assert DraftSerializer(draft).data["verdicts"] == draft.content
    page = annotator_client.get(reverse("review-item", args=[item.pk])).text
    assert "\ntwo requests\nin one</textarea>" in page
    window.save(reason="")
    assert ReviewDraft.objects.get().content == {}
    with pytest.raises(Exception, match="a flag has a reason and nothing else"):
        clean_content({"flag": {"verdict": "pass"}})


def test_the_last_one_stands_where_no_version_is_given(annotator: User, item: Reconstruction) -> None:
    claim(reviewer=annotator, reconstruction_id=item.pk)
    given = {"reviewer": annotator, "reconstruction_id": item.pk}
    keep_page_input(sent=sent(noted("typed", flag={"note": "why"}), seconds=5.0), **given)
    at = save_draft(content={"task_clarity": {"note": "by a program"}}, seconds=3, **given)
    draft = draft_of(**given)
    assert draft is not None
    assert draft.content == noted("by a program", flag={"note": "why"})
    assert (draft.seconds, draft.saved_at) == (3, at)
    assert at is not None
    assert at <= timezone.now()


def test_without_a_script_the_differences_are_a_button_that_keeps_the_input(
    annotator_client: Client, item: Reconstruction
) -> None:
    window = Window(annotator_client, item)
    page = annotator_client.get(reverse("review-item", args=[item.pk])).text
    assert 'name="save" value="difference"' in page
    answer = window.send("review-draft", save="difference", **{"task_clarity-note": "typed"})
    assert answer["Location"] == f"{reverse('review-item', args=[item.pk])}?difference=1"
    page = annotator_client.get(answer["Location"]).text
    assert "typed</textarea>" in page
    assert "data-difference" in page
    assert 'name="save" value="page" aria-pressed="true"' in page
