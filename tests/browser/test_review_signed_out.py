"""The session ends in the middle of the work: it is said, and nothing that was typed is lost."""

from __future__ import annotations

import re

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Page, expect

from curation.models import Review, ReviewDraft
from llm.access import Role
from tests.browser.conftest import PageFor
from tests.browser.test_review import note, verdicts
from tests.browser.test_review_drafts import SAVED, forgive, open_room, write
from tests.samples import PASSWORD, person, reconstruction

REFUSED = ("status of 401", "Status Error Code 401")

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def ann(transactional_db: None) -> User:
    return person("ann", Role.ANNOTATOR, password=PASSWORD)


def sign_out_behind(page: Page) -> None:
    page.context.clear_cookies(name="sessionid")


def sign_in_in_another_window(page: Page) -> None:
    with page.context.expect_page() as opened:
        page.get_by_role("link", name="Sign in in another window").click()
    other = opened.value
    other.get_by_label("User name").fill("ann")
    other.get_by_label("Password").fill(PASSWORD)
    other.get_by_role("button", name="Sign in").click()
    other.wait_for_url(re.compile(r"/review/\d+/$"))
    other.close()
    page.bring_to_front()
    page.evaluate("window.dispatchEvent(new Event('focus'))")


def test_the_heartbeat_says_it_and_leaves_the_note_alone(page_for: PageFor, ann: User) -> None:
    reconstruction()
    page = page_for(ann)
    page.clock.install()
    open_room(page)
    page.locator("#check-1 .check-name").click()
    note(page, 1).focus()
    sign_out_behind(page)
    with page.expect_response(lambda answer: answer.url.endswith("/lease/")):
        page.clock.fast_forward(61_000)
    expect(page.locator("#notice")).to_contain_text("You are signed out.")
    expect(page.locator("#notice")).to_contain_text("nothing on this page is lost")
    expect(page.locator("#lease")).to_contain_text("left")
    expect(page.locator(".sign-in")).to_have_count(0)
    expect(note(page, 1)).to_be_focused()
    forgive(page_for, *REFUSED)


def test_what_is_typed_is_saved_after_signing_in_again(page_for: PageFor, ann: User) -> None:
    reconstruction()
    page = page_for(ann)
    open_room(page)
    sign_out_behind(page)
    write(page, 1, "typed while signed out")
    expect(page.locator("#saved")).to_contain_text("you are signed out")
    sign_in_in_another_window(page)
    expect(page.locator("#saved")).to_have_text(SAVED)
    expect(page.locator("#notice")).not_to_be_visible()
    assert ReviewDraft.objects.get().content["task_clarity"]["note"] == "typed while signed out"
    forgive(page_for, *REFUSED)


@pytest.mark.parametrize("key", ["s", "x", "a"])
def test_a_form_sent_while_signed_out_stays_and_goes_through_later(
    page_for: PageFor, ann: User, key: str
) -> None:
    item = reconstruction()
    page = page_for(ann)
    open_room(page)
    for each in "ppppp":
        page.keyboard.press(each)
    expect(page.locator("#saved")).to_have_text(SAVED)
    sign_out_behind(page)
    page.keyboard.press(key)
    if key == "x":
        page.keyboard.type("a name in it")
        page.get_by_role("button", name="Flag and go on").click()
    expect(page.locator("#unsent")).to_contain_text("Not sent: you are signed out")
    expect(page).to_have_url(re.compile(rf"/review/{item.pk}/$"))
    assert verdicts(page) == ["pass"] * 5
    sign_in_in_another_window(page)
    page.get_by_role("button", name="Try again").click()
    words = {"s": "Skipped", "x": "Flagged", "a": "Accepted"}[key]
    expect(page.locator(".messages")).to_contain_text(f"{words} item {item.pk}.")
    assert Review.objects.exists() is (key == "a")
    forgive(page_for, *REFUSED)


def test_without_a_script_signing_in_leads_back_to_the_item(page_for: PageFor, ann: User) -> None:
    item = reconstruction()
    page = page_for(ann, java_script_enabled=False)
    page.goto("/review/")
    sign_out_behind(page)
    page.get_by_role("button", name="Skip").click()
    page.get_by_label("User name").fill("ann")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name=f"Item {item.pk}")).to_be_visible()
