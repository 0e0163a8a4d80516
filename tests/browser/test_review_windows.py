"""One item open on two devices of one person: neither takes what was typed on the other."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Page, Route, expect

from curation.models import Reconstruction, Review, ReviewDraft
from llm.access import Role
from tests.browser.conftest import PageFor
from tests.browser.test_review import note, verdicts
from tests.browser.test_review_drafts import SAVED, forgive, open_room, write
from tests.samples import person, reconstruction

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def ann(transactional_db: None) -> User:
    return person("ann", Role.ANNOTATOR)


@pytest.fixture
def item(transactional_db: None) -> Reconstruction:
    return reconstruction()


def both(page_for: PageFor, ann: User) -> tuple[Page, Page]:
    laptop, phone = page_for(ann), page_for(ann)
    open_room(laptop)
    open_room(phone)
    return laptop, phone


def come_back(page: Page) -> None:
    with page.expect_response(lambda answer: answer.url.endswith("/draft/")):
        page.evaluate("window.dispatchEvent(new Event('focus'))")


def stored_note() -> Any:
    return ReviewDraft.objects.get().content.get("task_clarity", {}).get("note", "")


@pytest.mark.parametrize("how", ["reload", "leave", "skip"])
def test_a_page_without_edits_takes_nothing_from_another(
    page_for: PageFor, ann: User, item: Reconstruction, how: str
) -> None:
    laptop, phone = both(page_for, ann)
    laptop.wait_for_timeout(2_500)
    write(phone, 1, "typed on the phone")
    expect(phone.locator("#saved")).to_have_text(SAVED)
    seconds = ReviewDraft.objects.get().seconds
    if how == "reload":
        laptop.reload()
    elif how == "leave":
        laptop.goto("/my-work/")
    else:
        laptop.keyboard.press("s")
        expect(laptop.locator(".messages")).to_contain_text(f"Skipped item {item.pk}.")
    laptop.wait_for_timeout(500)
    assert stored_note() == "typed on the phone"
    assert ReviewDraft.objects.get().seconds >= seconds + 2
    laptop.goto("/review/")
    expect(note(laptop, 1)).to_have_value("typed on the phone")


def test_a_page_that_one_comes_back_to_goes_on_from_what_is_stored(
    page_for: PageFor, ann: User, item: Reconstruction
) -> None:
    laptop, phone = both(page_for, ann)
    write(phone, 1, "typed on the phone")
    phone.keyboard.press("Escape")
    phone.keyboard.press("f")
    phone.wait_for_timeout(1_000)
    expect(phone.locator("#saved")).to_have_text(SAVED)
    come_back(laptop)
    expect(note(laptop, 1)).to_have_value("typed on the phone")
    expect(laptop.locator("#said")).to_contain_text("Brought up to date")
    assert verdicts(laptop) == ["fail"]
    write(laptop, 1, "typed on the phone, and on the laptop")
    expect(laptop.locator("#saved")).to_have_text(SAVED)
    laptop.wait_for_timeout(1_000)
    assert stored_note() == "typed on the phone, and on the laptop"


def in_conflict(page_for: PageFor, ann: User) -> Page:
    laptop, phone = both(page_for, ann)
    write(phone, 1, "typed on the phone")
    expect(phone.locator("#saved")).to_have_text(SAVED)
    write(laptop, 1, "typed on the laptop")
    expect(laptop.locator("#newer")).to_contain_text("Another window has newer input on this item, saved")
    expect(note(laptop, 1)).to_have_value("typed on the laptop")
    assert stored_note() == "typed on the phone"
    return laptop


def test_the_newer_input_can_be_shown_and_ones_own_comes_back(
    page_for: PageFor, ann: User, item: Reconstruction
) -> None:
    laptop = in_conflict(page_for, ann)
    laptop.get_by_role("link", name="Show the newer input").click()
    expect(note(laptop, 1)).to_have_value("typed on the phone")
    expect(laptop.locator("#newer")).to_contain_text("set aside on this device")
    laptop.reload()
    expect(note(laptop, 1)).to_have_value("typed on the phone")
    laptop.get_by_role("link", name="Show it instead").click()
    expect(note(laptop, 1)).to_have_value("typed on the laptop")
    expect(laptop.locator("#saved")).to_have_text(SAVED)
    laptop.wait_for_timeout(1_000)
    assert stored_note() == "typed on the laptop"
    laptop.get_by_role("button", name="Discard it").click()
    expect(laptop.locator("#newer")).not_to_be_visible()
    forgive(page_for, "status of 409")


def test_ones_own_input_can_be_kept_and_the_other_is_set_aside(
    page_for: PageFor, ann: User, item: Reconstruction
) -> None:
    laptop = in_conflict(page_for, ann)
    laptop.get_by_role("button", name="Keep what stands here").click()
    expect(laptop.locator("#saved")).to_have_text(SAVED)
    assert stored_note() == "typed on the laptop"
    laptop.get_by_role("link", name="Show it instead").click()
    expect(note(laptop, 1)).to_have_value("typed on the phone")
    forgive(page_for, "status of 409")


def test_what_is_held_back_survives_a_reload_and_a_skip(
    page_for: PageFor, ann: User, item: Reconstruction
) -> None:
    laptop = in_conflict(page_for, ann)
    laptop.keyboard.press("Escape")
    laptop.keyboard.press("s")
    expect(laptop).to_have_url(re.compile(rf"/review/{item.pk}/$"))
    expect(laptop.locator("#newer")).to_contain_text("Another window has newer input")
    expect(note(laptop, 1)).to_have_value("typed on the laptop")
    laptop.wait_for_timeout(1_000)
    assert stored_note() == "typed on the phone"
    laptop.reload()
    expect(note(laptop, 1)).to_have_value("typed on the phone")
    laptop.get_by_role("link", name="Show it instead").click()
    expect(note(laptop, 1)).to_have_value("typed on the laptop")
    forgive(page_for, "status of 409")


def test_an_answer_that_got_lost_is_no_other_window(
    page_for: PageFor, ann: User, item: Reconstruction
) -> None:
    page = page_for(ann)
    open_room(page)

    def swallow(route: Route) -> None:
        route.fetch()
        route.abort()

    page.route("**/draft/", swallow, times=1)
    write(page, 1, "one")
    expect(page.locator("#saved")).to_contain_text("trying again")
    write(page, 1, "one two")
    expect(page.locator("#saved")).to_have_text(SAVED)
    page.wait_for_timeout(1_500)
    assert stored_note() == "one two"
    expect(page.locator("#newer")).not_to_be_visible()
    forgive(page_for, "ERR_FAILED")


def test_typing_goes_on_while_a_save_is_under_way_and_the_page_closes(
    page_for: PageFor, ann: User, item: Reconstruction
) -> None:
    page = page_for(ann)
    open_room(page)

    def answer_late(route: Route) -> None:
        route.fetch()

    page.route("**/draft/", answer_late, times=1)
    write(page, 1, "one")
    page.wait_for_timeout(1_200)
    assert stored_note() == "one"
    write(page, 1, "one two")
    page.goto("/my-work/")
    page.wait_for_timeout(500)
    assert stored_note() == "one two"
    assert not Review.objects.exists()
