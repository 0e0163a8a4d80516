"""The review room in a browser: by keyboard alone, on a bad line, and without JavaScript."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from curation.models import CorpusPrompt, Review, ReviewLease
from llm.access import Role
from tests.browser.conftest import PageFor
from tests.samples import CHINESE, PASSWORD, person, reconstruction

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def verdicts(page: Page) -> list[str]:
    return page.evaluate("[...document.querySelectorAll('.check :checked')].map(input => input.value)")  # type: ignore[no-any-return]


def sign_in_by_keyboard(page: Page, name: str, password: str) -> None:
    page.goto("/")
    page.keyboard.type(name)
    page.keyboard.press("Tab")
    page.keyboard.type(password)
    page.keyboard.press("Enter")


def test_sign_in_and_review_by_keyboard_only(page_for: PageFor) -> None:
    person("ann", Role.ANNOTATOR, password=PASSWORD)
    first, second = reconstruction(), reconstruction(text=CHINESE, language="zh")
    page = page_for()
    sign_in_by_keyboard(page, "ann", PASSWORD)
    expect(page.get_by_role("heading", name=f"Item {first.pk}")).to_be_visible()

    for key in "ppfup":
        page.keyboard.press(key)
    assert verdicts(page) == ["pass", "pass", "fail", "unsure", "pass"]
    page.keyboard.press("3")
    page.keyboard.press("n")
    page.keyboard.type("pass me a fresh rake, usually 1 at 5")
    assert verdicts(page) == ["pass", "pass", "fail", "unsure", "pass"]
    page.keyboard.press("Escape")
    page.keyboard.press("a")
    expect(page.locator(".decision-problem")).to_contain_text("cannot be accepted")
    assert verdicts(page) == ["pass", "pass", "fail", "unsure", "pass"]
    expect(page.locator("textarea").nth(2)).to_have_value("pass me a fresh rake, usually 1 at 5")
    assert not Review.objects.exists()

    page.keyboard.press("3")
    page.keyboard.press("p")
    page.keyboard.press("a")
    expect(page.get_by_role("heading", name=f"Item {second.pk}")).to_be_visible()
    expect(page.locator(".messages")).to_contain_text(f"Accepted item {first.pk}.")
    expect(page).to_have_url(re.compile(rf"/review/{second.pk}/$"))
    made = Review.objects.get()
    assert made.decision == "accept"
    assert made.verdicts.get(check_name="contextual_coherence").note.startswith("pass me")
    assert CorpusPrompt.objects.get().reconstruction == first

    assert verdicts(page) == []
    page.keyboard.press("f")
    for key in "pppp":
        page.keyboard.press(key)
    page.keyboard.press("r")
    expect(page.get_by_role("heading", name="Everything is reviewed")).to_be_visible()
    assert sorted(Review.objects.values_list("decision", flat=True)) == ["accept", "reject"]


def test_a_bare_key_without_verdicts_decides_nothing(page_for: PageFor) -> None:
    item = reconstruction()
    page = page_for(person("ann", Role.ANNOTATOR))
    page.goto("/review/")
    for key in "ar":
        page.keyboard.press(key)
        expect(page.locator(".decision-problem")).to_be_visible()
    item.refresh_from_db()
    assert item.state == "in_review"
    assert not Review.objects.exists()


def test_no_shortcut_fires_in_a_field_or_while_composing(page_for: PageFor) -> None:
    reconstruction()
    page = page_for(person("ann", Role.ANNOTATOR))
    page.goto("/review/")
    page.locator("textarea").first.focus()
    page.keyboard.type("arsfpu12345?/n")
    assert verdicts(page) == []
    expect(page.locator("textarea").first).to_have_value("arsfpu12345?/n")
    expect(page.locator("#shortcuts")).not_to_be_visible()
    page.keyboard.press("Escape")
    page.evaluate("""
        for (const options of [{isComposing: true}, {keyCode: 229}, {ctrlKey: true}, {metaKey: true}])
          document.body.dispatchEvent(new KeyboardEvent("keydown", {key: "p", bubbles: true, ...options}));
    """)
    assert verdicts(page) == []
    page.keyboard.press("p")
    assert verdicts(page) == ["pass"]


def test_the_panel_of_shortcuts_opens_and_holds_the_keys(page_for: PageFor) -> None:
    reconstruction()
    page = page_for(person("ann", Role.ANNOTATOR))
    page.goto("/review/")
    page.keyboard.press("?")
    panel = page.locator("#shortcuts")
    expect(panel).to_be_visible()
    expect(panel).to_contain_text("reject, with a failed check or a note")
    page.keyboard.press("p")
    assert verdicts(page) == []
    page.keyboard.press("Escape")
    expect(panel).not_to_be_visible()


def test_a_cut_line_keeps_everything_and_can_be_tried_again(page_for: PageFor) -> None:
    reconstruction()
    page = page_for(person("ann", Role.ANNOTATOR))
    page.goto("/review/")
    for key in "ppppp":
        page.keyboard.press(key)
    page.locator("textarea").last.evaluate("field => field.value = '打字到一半'")
    page.context.set_offline(True)
    page.keyboard.press("a")
    expect(page.locator("#notice")).to_contain_text("Nothing on this page is lost")
    assert verdicts(page) == ["pass"] * 5
    page.context.set_offline(False)
    page.keyboard.press("a")
    expect(page.get_by_role("heading", name="Everything is reviewed")).to_be_visible()
    assert Review.objects.get().verdicts.get(check_name="usable_length").note == "打字到一半"
    complaints = page_for.complaints  # type: ignore[attr-defined]
    assert all("DISCONNECTED" in line or line.startswith("htmx:") for line in complaints)
    complaints.clear()


def test_the_open_page_renews_its_lease(page_for: PageFor) -> None:
    reconstruction()
    page = page_for(person("ann", Role.ANNOTATOR))
    page.clock.install()
    page.goto("/review/")
    page.locator("textarea").first.fill("still here")
    ReviewLease.objects.update(expires_at=timezone.now() + timedelta(minutes=2))
    with page.expect_response(lambda answer: answer.url.endswith("/lease/")):
        page.clock.fast_forward(61_000)
    expect(page.locator("#lease")).to_contain_text("yours until")
    assert ReviewLease.objects.get().expires_at > timezone.now() + timedelta(minutes=15)
    expect(page.locator("textarea").first).to_have_value("still here")


def test_it_works_without_javascript(page_for: PageFor) -> None:
    first, second = reconstruction(), reconstruction()
    page = page_for(person("ann", Role.ANNOTATOR), java_script_enabled=False)
    page.goto("/review/")
    for check in page.locator(".check").all():
        check.locator("input[value=pass]").check(force=True)
        expect(check.locator("textarea")).to_be_visible()
    page.get_by_role("button", name="Accept").click()
    expect(page.get_by_role("heading", name=f"Item {second.pk}")).to_be_visible()
    page.get_by_role("button", name="Skip").click()
    expect(page.get_by_role("heading", name=f"Item {second.pk}")).to_be_visible()
    expect(page.locator(".messages")).to_contain_text("the only item left")
    assert Review.objects.get().reconstruction == first


def test_on_a_phone_the_texts_are_tabs(page_for: PageFor) -> None:
    reconstruction(text=CHINESE, language="zh")
    page = page_for(person("ann", Role.ANNOTATOR), viewport={"width": 390, "height": 800}, has_touch=True)
    page.goto("/review/")
    source, rewritten = page.locator("[data-text=source]"), page.locator("[data-text=reconstruction]")
    expect(rewritten).to_be_visible()
    expect(source).not_to_be_visible()
    page.get_by_role("button", name="Source").tap()
    expect(source).to_be_visible()
    expect(rewritten).not_to_be_visible()
    for check in page.locator(".verdict-pass").all():
        check.tap()
    page.get_by_role("button", name="Accept").tap()
    expect(page.get_by_role("heading", name="Everything is reviewed")).to_be_visible()
