"""The review room in a browser: by keyboard alone, on a bad line, and without JavaScript."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import Locator, Page, expect

from curation.models import CorpusPrompt, Review, ReviewPreference, ReviewSlot
from llm.access import Role
from tests.browser.conftest import PageFor
from tests.samples import CHINESE, PASSWORD, person, reconstruction

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def verdicts(page: Page) -> list[str]:
    return page.evaluate("[...document.querySelectorAll('.check input:checked')].map(input => input.value)")  # type: ignore[no-any-return]


def note(page: Page, number: int) -> Locator:
    return page.locator(f"#check-{number} .note textarea")


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
    expect(page.get_by_role("heading", name=f"Item {first.pk}")).to_be_visible(timeout=20_000)

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
    expect(note(page, 3)).to_have_value("pass me a fresh rake, usually 1 at 5")
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
    note(page, 1).focus()
    page.keyboard.type("arsfpu12345?/nxzdgle")
    assert verdicts(page) == []
    expect(note(page, 1)).to_have_value("arsfpu12345?/nxzdgle")
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
    expect(panel).to_contain_text("Reject, with a failed check or a note")
    page.keyboard.press("p")
    assert verdicts(page) == []
    page.keyboard.press("Escape")
    expect(panel).not_to_be_visible()


def test_the_open_page_renews_its_lease(page_for: PageFor) -> None:
    reconstruction()
    page = page_for(person("ann", Role.ANNOTATOR))
    page.clock.install()
    page.goto("/review/")
    note(page, 1).fill("still here")
    ReviewSlot.objects.update(lease_expires_at=timezone.now() + timedelta(minutes=2))
    with page.expect_response(lambda answer: answer.url.endswith("/lease/")):
        page.clock.fast_forward(61_000)
    expect(page.locator("#lease")).to_contain_text("yours until")
    assert ReviewSlot.objects.get().lease_expires_at > timezone.now() + timedelta(minutes=15)
    expect(note(page, 1)).to_have_value("still here")


def test_it_works_without_javascript(page_for: PageFor) -> None:
    first, second = reconstruction(), reconstruction()
    page = page_for(person("ann", Role.ANNOTATOR), java_script_enabled=False)
    page.goto("/review/")
    for check in page.locator(".check").all():
        check.locator("input[value=pass]").check(force=True)
        expect(check.locator(".note textarea")).to_be_visible()
        expect(check.get_by_label("Passage")).to_be_visible()
    page.get_by_role("button", name="Accept").click()
    expect(page.get_by_role("heading", name=f"Item {second.pk}")).to_be_visible()
    page.get_by_role("button", name="Skip").click()
    expect(page.get_by_role("heading", name=f"Item {second.pk}")).to_be_visible()
    expect(page.locator(".messages")).to_contain_text("the only item left")
    assert Review.objects.get().reconstruction == first


def test_on_a_phone_the_texts_are_tabs_and_the_checks_a_sheet(page_for: PageFor) -> None:
    reconstruction(text=CHINESE * 20, language="zh")
    page = page_for(person("ann", Role.ANNOTATOR), viewport={"width": 390, "height": 800}, has_touch=True)
    page.goto("/review/")
    source, rewritten = page.locator("[data-text=source]"), page.locator("[data-text=reconstruction]")
    expect(rewritten).to_be_visible()
    expect(source).not_to_be_visible()
    page.get_by_role("button", name="Source").tap()
    expect(source).to_be_visible()
    expect(rewritten).not_to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    expect(page.locator("#checks")).not_to_be_visible()
    sheet = page.get_by_role("button", name="Checks")
    sheet.tap()
    expect(sheet).to_have_attribute("aria-expanded", "true")
    for check in page.locator(".verdict-pass").all():
        check.tap()
    expect(sheet).to_contain_text("5 of 5")
    page.get_by_role("button", name="Accept").tap()
    expect(page.get_by_role("heading", name="Everything is reviewed")).to_be_visible()


@pytest.mark.parametrize("action", ["accept", "reject", "skip", "flag"])
def test_z_takes_back_what_was_done_last(page_for: PageFor, action: str) -> None:
    first, second = reconstruction(), reconstruction()
    page = page_for(person("ann", Role.ANNOTATOR))
    page.goto("/review/")
    for key in "puuuu" if action == "accept" else "pfuuu":
        page.keyboard.press(key)
    note(page, 5).fill("as I see it")
    page.keyboard.press("Escape")
    page.keyboard.press({"accept": "a", "reject": "r", "skip": "s", "flag": "x"}[action])
    if action == "flag":
        page.keyboard.type("a name in it")
        page.get_by_role("button", name="Flag and go on").click()
    expect(page.get_by_role("heading", name=f"Item {second.pk}")).to_be_visible()
    expect(page.locator(".undo")).to_contain_text(f"item {first.pk}")
    page.keyboard.press("z")
    expect(page.get_by_role("heading", name=f"Item {first.pk}")).to_be_visible()
    expect(page).to_have_url(re.compile(rf"/review/{first.pk}/$"))
    expect(page.locator(".messages")).to_contain_text("Undone:")
    assert verdicts(page) == ["pass", "unsure" if action == "accept" else "fail", *["unsure"] * 3]
    expect(note(page, 5)).to_have_value("as I see it")
    first.refresh_from_db()
    assert first.state == "in_review"
    assert ReviewSlot.objects.get(reconstruction=first).holder is not None


def test_a_decision_pressed_twice_makes_one_row(page_for: PageFor) -> None:
    first, second = reconstruction(), reconstruction()
    page = page_for(person("ann", Role.ANNOTATOR))
    page.goto("/review/")
    for key in "ppppp":
        page.keyboard.press(key)
    page.get_by_role("button", name="Accept").dblclick()
    expect(page.get_by_role("heading", name=f"Item {second.pk}")).to_be_visible()
    page.wait_for_load_state("networkidle")
    assert Review.objects.get().reconstruction == first


def test_enter_on_a_verdict_decides_nothing(page_for: PageFor) -> None:
    item = reconstruction()
    page = page_for(person("ann", Role.ANNOTATOR))
    page.goto("/review/")
    for key in "ppppp":
        page.keyboard.press(key)
    page.keyboard.press("Enter")
    page.wait_for_load_state("networkidle")
    expect(page.get_by_role("heading", name=f"Item {item.pk}")).to_be_visible()
    assert not Review.objects.exists()


def test_ones_own_keys_work_and_the_usual_ones_do_not(page_for: PageFor) -> None:
    reconstruction()
    ann = person("ann", Role.ANNOTATOR)
    ReviewPreference.objects.create(reviewer=ann, keys={"pass": "y", "difference": "ü"})
    page = page_for(ann)
    page.goto("/review/")
    page.keyboard.press("p")
    assert verdicts(page) == []
    page.keyboard.press("y")
    assert verdicts(page) == ["pass"]
    expect(page.locator("#check-2 .verdict-pass")).to_contain_text("y")
    page.evaluate("""document.body.dispatchEvent(new KeyboardEvent("keydown", {key: "Ü", bubbles: true}))""")
    expect(page.get_by_role("button", name="Differences")).to_have_attribute("aria-pressed", "true")
    page.goto("/my-keys/")
    page.get_by_label("Accept, if no check fails").fill("ü")
    page.get_by_role("button", name="Store these keys").click()
    expect(page.locator(".key-row.has-problem")).to_have_count(2)
    assert "accept" not in ReviewPreference.objects.get().keys


def test_the_guidelines_slide_in_at_the_check_in_hand(page_for: PageFor) -> None:
    reconstruction()
    page = page_for(person("ann", Role.ANNOTATOR))
    page.goto("/review/")
    page.keyboard.press("4")
    page.keyboard.press("g")
    expect(page.locator("#guideline-substantive_variation")).to_be_in_viewport()
    page.keyboard.press("f")
    assert verdicts(page) == []
    page.keyboard.press("g")
    expect(page.locator("#guidelines")).not_to_be_visible()


def test_a_tab_left_behind_acts_on_its_own_item(page_for: PageFor) -> None:
    first, second = reconstruction(), reconstruction()
    stale = page_for(person("ann", Role.ANNOTATOR))
    stale.goto("/review/")
    other = stale.context.new_page()
    other.goto("/review/")
    for key in "pppppa":
        other.keyboard.press(key)
    expect(other.get_by_role("heading", name=f"Item {second.pk}")).to_be_visible()
    stale.bring_to_front()
    stale.keyboard.press("s")
    expect(stale.locator(".messages")).to_contain_text("nothing to skip")
    assert ReviewSlot.objects.get(reconstruction=second).holder is not None
    assert Review.objects.get().reconstruction == first
