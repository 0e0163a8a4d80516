"""What is typed in the review room survives a cut line, a reload and another device."""

from __future__ import annotations

import re

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Page, Route, expect

from curation.models import Review, ReviewDraft, ReviewFlag
from llm.access import Role
from tests.browser.conftest import PageFor
from tests.browser.test_review import note, verdicts
from tests.samples import ENGLISH, person, reconstruction, source_prompt

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

SAVED = re.compile(r"Saved \d\d:\d\d:\d\d")
LINE = "打字到一半 \U0001f469\u200d\U0001f52c, <b>half</b> a sentence"


@pytest.fixture
def ann(transactional_db: None) -> User:
    return person("ann", Role.ANNOTATOR)


def forgive(page_for: PageFor, *known: str) -> None:
    """The browser's and htmx's own remarks on a cut line are expected; any other complaint stays."""
    complaints = page_for.complaints  # type: ignore[attr-defined]
    assert all(any(words in line for words in ("DISCONNECTED", "htmx:", *known)) for line in complaints)
    complaints.clear()


def write(page: Page, number: int, text: str) -> None:
    """Into the note of one check, which has to be the one in hand to show it."""
    page.locator(f"#check-{number} .check-name").click()
    note(page, number).fill(text)


def cut(page: Page) -> None:
    """Offline until the next page, for requests as well that outlive theirs: the browser's own switch lets
    those through."""
    page.context.set_offline(True)
    page.evaluate("""() => {
        navigator.sendBeacon = () => false;
        window.fetch = () => Promise.reject(new TypeError("cut"));
    }""")


def open_room(page: Page) -> None:
    page.goto("/review/")
    expect(page.locator("#decide")).to_be_visible()


def test_saved_appears_after_the_server_has_it(page_for: PageFor, ann: User) -> None:
    reconstruction()
    page = page_for(ann)
    held: list[Route] = []
    page.route("**/draft/", lambda route: held.append(route))
    open_room(page)
    write(page, 1, LINE)
    page.wait_for_timeout(1_000)
    expect(page.locator("#saved")).not_to_contain_text("Saved")
    held[0].continue_()
    expect(page.locator("#saved")).to_have_text(SAVED)
    assert ReviewDraft.objects.get().content["task_clarity"]["note"] == LINE


def test_a_cut_line_then_a_reload_keeps_everything(page_for: PageFor, ann: User) -> None:
    reconstruction()
    page = page_for(ann)
    open_room(page)
    page.keyboard.press("f")
    expect(page.locator("#saved")).to_have_text(SAVED)
    cut(page)
    write(page, 1, LINE)
    expect(page.locator("#saved")).to_contain_text("Not saved: you are offline, trying again")
    page.goto("about:blank")
    assert ReviewDraft.objects.get().content["task_clarity"]["note"] == ""
    page.context.set_offline(False)
    open_room(page)
    expect(note(page, 1)).to_have_value(LINE)
    expect(page.locator("#saved")).to_have_text(SAVED)
    assert ReviewDraft.objects.get().content["task_clarity"] == {
        "verdict": "fail",
        "note": LINE,
        "evidence": None,
    }
    forgive(page_for)


def test_a_save_that_was_planned_ends_with_the_last_item(page_for: PageFor, ann: User) -> None:
    reconstruction()
    page = page_for(ann)
    open_room(page)
    page.keyboard.type("pppppa")
    expect(page.locator(".messages")).to_contain_text("Accepted item")
    expect(page.locator("#decide")).to_have_count(0)
    page.wait_for_timeout(2_000)  # the planned save would come now; an error on the page fails the test


def test_it_is_saved_by_itself_when_the_line_is_back(page_for: PageFor, ann: User) -> None:
    reconstruction()
    page = page_for(ann)
    open_room(page)
    page.context.set_offline(True)
    write(page, 1, LINE)
    expect(page.locator("#saved")).to_contain_text("trying again")
    page.context.set_offline(False)
    expect(page.locator("#saved")).to_have_text(SAVED)
    assert page.evaluate("Object.keys(localStorage).filter(key => key.startsWith('review:')).length") == 0
    forgive(page_for)


def test_another_device_has_the_draft_and_the_newest_wins(page_for: PageFor, ann: User) -> None:
    reconstruction()
    page, other = page_for(ann), page_for(ann)
    open_room(page)
    cut(page)
    write(page, 1, "older, never sent")
    expect(page.locator("#saved")).to_contain_text("trying again")
    page.goto("about:blank")
    open_room(other)
    expect(note(other, 1)).to_have_value("")
    write(other, 1, "newer")
    expect(other.locator("#saved")).to_have_text(SAVED)
    page.context.set_offline(False)
    open_room(page)
    expect(note(page, 1)).to_have_value("newer")
    forgive(page_for)


def test_leaving_the_page_sends_what_was_just_typed(page_for: PageFor, ann: User) -> None:
    reconstruction()
    page = page_for(ann)
    open_room(page)
    page.locator("#check-2 .check-name").click()
    note(page, 2).press_sequentially("just now")
    page.goto("/my-work/")
    page.wait_for_timeout(500)
    assert ReviewDraft.objects.get().content["constraint_consistency"]["note"] == "just now"


def test_a_decision_that_did_not_get_through_is_offered_again(page_for: PageFor, ann: User) -> None:
    reconstruction()
    page = page_for(ann)
    open_room(page)
    for key in "ppppp":
        page.keyboard.press(key)
    write(page, 5, LINE)
    page.context.set_offline(True)
    page.keyboard.press("Escape")
    page.keyboard.press("a")
    expect(page.locator("#unsent")).to_contain_text("Not sent: the server cannot be reached")
    assert verdicts(page) == ["pass"] * 5
    page.context.set_offline(False)
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("heading", name="Everything is reviewed")).to_be_visible()
    assert Review.objects.get().verdicts.get(check_name="usable_length").note == LINE
    forgive(page_for)


def test_being_signed_out_is_said_and_keeps_the_input(page_for: PageFor, ann: User) -> None:
    reconstruction()
    page = page_for(ann)
    open_room(page)
    cookies = page.context.cookies()
    page.context.clear_cookies()
    write(page, 1, LINE)
    expect(page.locator("#saved")).to_contain_text("signed out")
    page.context.add_cookies(cookies)  # type: ignore[arg-type]
    open_room(page)
    expect(note(page, 1)).to_have_value(LINE)
    expect(page.locator("#saved")).to_have_text(SAVED)
    forgive(page_for, "status of 403")


def test_the_reason_of_a_flag_is_kept_while_it_is_written(page_for: PageFor, ann: User) -> None:
    reconstruction()
    page = page_for(ann)
    open_room(page)
    page.keyboard.press("x")
    page.keyboard.type("two requests in one")
    expect(page.locator("#saved")).to_have_text(SAVED)
    assert ReviewDraft.objects.get().content["flag"]["note"] == "two requests in one"
    cut(page)
    page.keyboard.type(", " + LINE)
    expect(page.locator("#saved")).to_contain_text("trying again")
    page.goto("about:blank")
    page.context.set_offline(False)
    open_room(page)
    page.keyboard.press("x")
    expect(page.get_by_label("What should a researcher look at?")).to_have_value(
        f"two requests in one, {LINE}"
    )
    expect(page.locator("#saved")).to_have_text(SAVED)
    page.get_by_role("button", name="Flag and go on").click()
    expect(page.locator(".messages")).to_contain_text("Flagged item")
    assert ReviewFlag.objects.get().reason == f"two requests in one, {LINE}"
    forgive(page_for)


def test_an_item_in_other_hands_answers_409_with_the_input(page_for: PageFor, ann: User) -> None:
    item = reconstruction()
    page = page_for(ann)
    open_room(page)
    for key in "ppppp":
        page.keyboard.press(key)
    expect(page.locator("#saved")).to_have_text(SAVED)
    item.slots.update(holder=person("bea", Role.ANNOTATOR))
    page.keyboard.press("a")
    expect(page.locator(".decision-problem")).to_contain_text("Another reviewer took this item over")
    assert verdicts(page) == ["pass"] * 5
    forgive(page_for, "status of 409")


def test_hints_come_after_ones_own_verdict_and_only_on_that_check(page_for: PageFor, ann: User) -> None:
    text = "Sure! The river is wide and the boats are old, and"
    item = reconstruction(text=text, of=source_prompt(ENGLISH))
    page = page_for(ann)
    open_room(page)
    write(page, 1, "only a note so far")
    expect(page.locator("#saved")).to_have_text(SAVED)
    expect(page.locator(".hints li")).to_have_count(0)
    page.keyboard.press("Escape")
    page.keyboard.press("p")
    expect(page.locator("#check-1 .hints")).to_contain_text("It begins like a reply")
    expect(page.locator("#check-5 .hints li")).to_have_count(0)
    page.keyboard.press("5")
    page.keyboard.press("p")
    expect(page.locator("#check-5 .hints")).to_contain_text("ends in the middle of a sentence")
    page.locator("#check-5 .hints").get_by_role("button", name="Show in the reconstruction").click()
    assert page.evaluate("[...CSS.highlights.get('passage')].map(String)")[0].strip().endswith("are old, and")
    assert verdicts(page) == ["pass", "pass"]
    assert item.reviews.count() == 0


def test_only_time_in_view_is_counted_and_idling_is_not(page_for: PageFor, ann: User) -> None:
    reconstruction()
    page = page_for(ann)
    page.clock.install()
    open_room(page)
    for _ in range(4):
        page.mouse.move(30, 300)
        page.mouse.move(60, 320)
        page.clock.run_for(30_000)
    page.clock.run_for(10 * 60_000)
    write(page, 1, "looked at it")
    page.clock.run_for(1_000)
    expect(page.locator("#saved")).to_have_text(SAVED)
    assert 140 <= ReviewDraft.objects.get().seconds <= 170
