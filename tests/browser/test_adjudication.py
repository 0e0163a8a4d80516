"""Settling an item in a browser: what is filled in stays on the device until the server has it."""

from __future__ import annotations

import re

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Locator, Page, expect

from curation.models import Reconstruction, Review
from llm.access import Role
from tests.browser.conftest import PageFor
from tests.browser.test_review_drafts import forgive
from tests.reviewing import disputed_item, flagged_item
from tests.samples import person

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

WORD = "Not sent yet: what you filled in on"
NO_ROOM = "void (Storage.prototype.setItem = () => { throw new DOMException('full'); })"


@pytest.fixture
def rosa(transactional_db: None) -> User:
    return person("rosa", Role.RESEARCHER)


def open_item(page: Page, item: Reconstruction) -> None:
    page.goto("/adjudication/")
    page.goto(f"/adjudication/{item.pk}/")


def note(page: Page, check: str) -> Locator:
    return page.locator(f"textarea[name={check}-note]")


def kept(page: Page) -> int:
    return page.evaluate("Object.keys(localStorage).filter(key => key.startsWith('keep:')).length")  # type: ignore[no-any-return]


def test_what_is_filled_in_comes_back_until_it_is_sent(page_for: PageFor, rosa: User) -> None:
    item = disputed_item()
    page = page_for(rosa)
    open_item(page, item)
    note(page, "task_clarity").fill("an aim there is")
    page.locator("input[name=usable_length-verdict][value=unsure]").check()
    page.get_by_label("Why you decide so").fill("理由：两者都对")
    page.reload()
    expect(page.locator(".adjudicate .kept")).to_contain_text(WORD)
    expect(note(page, "task_clarity")).to_have_value("an aim there is")
    expect(page.locator("input[name=usable_length-verdict][value=unsure]")).to_be_checked()
    expect(page.get_by_label("Why you decide so")).to_have_value("理由：两者都对")
    page.get_by_role("button", name="Accept").click()
    expect(page.locator(".adjudicate .problem").first).to_be_visible()
    expect(page.get_by_label("Why you decide so")).to_have_value("理由：两者都对")
    assert kept(page) == 1
    for check in page.locator(".adjudicate-table tbody tr").all()[1:]:
        check.get_by_label("Pass").check()
    page.get_by_role("button", name="Accept").click()
    expect(page).to_have_url(re.compile(r"/adjudication/$"))
    expect(page.locator(".messages")).to_contain_text(f"Reconstruction {item.pk} is accepted.")
    assert kept(page) == 0
    made = Review.objects.get(adjudication=True)
    assert made.verdicts.get(check_name="task_clarity").note == "an aim there is"


def test_on_a_phone_every_verdict_says_whose_it_is(page_for: PageFor, rosa: User) -> None:
    item = disputed_item("ann", "bob")
    page = page_for(rosa, viewport={"width": 390, "height": 800})
    open_item(page, item)
    row = page.locator(".adjudicate-table tbody tr", has_text="Task clarity")
    labels = row.locator("td").evaluate_all(
        "cells => cells.map(cell => getComputedStyle(cell, '::before').content)"
    )
    assert labels == ['"Check"', '"ann"', '"bob"', '"You"']
    expect(row.locator("td").nth(1)).to_contain_text("pass")
    expect(row.locator("td").nth(2)).to_contain_text("fail")


def test_one_can_start_afresh_and_another_person_sees_nothing_of_it(page_for: PageFor, rosa: User) -> None:
    item = disputed_item()
    page = page_for(rosa)
    open_item(page, item)
    note(page, "task_clarity").fill("to be thrown away")
    page.reload()
    page.get_by_role("button", name="Start afresh").click()
    expect(note(page, "task_clarity")).to_have_value("")
    expect(page.locator(".adjudicate .kept")).not_to_be_visible()
    page.reload()
    expect(note(page, "task_clarity")).to_have_value("")
    note(page, "task_clarity").fill("rosa's own")
    other = page_for(person("rolf", Role.RESEARCHER), storage_state=page.context.storage_state())
    open_item(other, item)
    expect(note(other, "task_clarity")).to_have_value("")


def test_a_cut_line_and_a_lost_session_leave_everything_in_place(page_for: PageFor, rosa: User) -> None:
    item = disputed_item()
    page = page_for(rosa)
    open_item(page, item)
    note(page, "task_clarity").fill("kept")
    page.context.set_offline(True)
    page.get_by_role("button", name="Reject").click()
    expect(page.locator("#notice")).to_contain_text("cannot be reached")
    page.context.set_offline(False)
    page.context.clear_cookies(name="sessionid")
    page.get_by_role("button", name="Reject").click()
    expect(page.locator("#notice")).to_contain_text("You are signed out.")
    expect(note(page, "task_clarity")).to_have_value("kept")
    assert kept(page) == 1
    forgive(page_for, "401")


def test_leaving_asks_only_while_something_is_not_kept(page_for: PageFor, rosa: User) -> None:
    item = flagged_item()
    page = page_for(rosa)
    asked: list[str] = []
    page.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.accept()))
    open_item(page, item)
    page.get_by_label("What came of it").press_sequentially("looked at")
    page.reload()
    expect(page.get_by_label("What came of it")).to_have_value("looked at")
    assert asked == []
    page.evaluate(NO_ROOM)
    page.get_by_label("What came of it").press_sequentially(" twice")
    page.reload()
    assert asked == ["beforeunload"]
    page.get_by_role("button", name="Put it back").click()
    expect(page.locator(".messages")).to_contain_text("back in the queue")
    assert kept(page) == 0
