"""The rubric editor in a browser: by keyboard, with and without scripts, nothing over the edge."""

from __future__ import annotations

import pytest
from django.urls import reverse
from playwright.sync_api import Page, Route, expect

from llm.access import Role
from rubrics.models import Rubric
from tests.browser.conftest import PageFor
from tests.browser.test_pages import LONG, WATCH, overflow
from tests.samples import CHINESE, corpus_prompt, dimensions, person, rubric

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

NAMES = "[...document.querySelectorAll('.editor-name input')].map(field => field.value)"
WIDEST = """[...document.querySelectorAll('main *')]
    .filter(each => each.getBoundingClientRect().right > document.documentElement.clientWidth + 0.5)
    .map(each => `${each.tagName}.${each.className} ${each.getBoundingClientRect().right}`).slice(0, 8)"""


def editor(page_for: PageFor, row: Rubric, **options: object) -> Page:
    page = page_for(person("rosa", Role.RESEARCHER), **options)
    page.add_init_script(WATCH)
    page.goto(reverse("rubric-edit", args=[row.pk]))
    return page


@pytest.mark.parametrize(("scheme", "width"), [("light", 1440), ("dark", 1024), ("dark", 390)])
def test_nothing_runs_over_the_edge(page_for: PageFor, scheme: str, width: int) -> None:
    shape = dimensions((LONG.split("\n")[0], "averylongname" * 20, "Restraint"))
    row = rubric(corpus_prompt(CHINESE + LONG, "zh"), dimensions=shape)
    page = editor(page_for, row, color_scheme=scheme, viewport={"width": width, "height": 800})
    for name in ("Merge into", "Save as a new version"):
        assert overflow(page) <= 0, page.evaluate(WIDEST)
        page.get_by_role("button", name=name).first.click()
        page.wait_for_load_state("networkidle")
    expect(page.locator(".editor [role=alert]")).to_be_visible()
    assert overflow(page) <= 0, page.evaluate(WIDEST)


def test_buttons_work_in_place_and_the_focus_goes_along(page_for: PageFor) -> None:
    page = editor(page_for, rubric(dimensions=dimensions(("One", "Two", "Three", "Four"))))
    page.evaluate("window.here = true")
    page.get_by_label("Name").nth(3).fill("Fourth, typed")
    page.get_by_role("button", name="Move dimension 4 up").press("Enter")
    expect(page.get_by_role("button", name="Move dimension 3 up")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Move dimension 2 up")).to_be_focused()
    assert page.evaluate(NAMES) == ["One", "Fourth, typed", "Two", "Three"]
    page.get_by_role("button", name="Add a level before 3-4 of dimension 1").click()
    expect(page.locator("[id='0-level-1']")).to_be_focused()
    page.get_by_role("button", name="Remove dimension 1").click()
    expect(page.locator(".editor-done")).to_contain_text("The dimension is removed.")
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_label("Name")).to_have_count(4)
    assert page.evaluate("window.here")


def test_alt_and_an_arrow_move_the_dimension_one_types_in(page_for: PageFor) -> None:
    page = editor(page_for, rubric(dimensions=dimensions(("One", "Two", "Three"))))
    page.locator("[id='1-level-2']").press("Alt+ArrowUp")
    expect(page.get_by_label("Name").first).to_have_value("Two")
    page.get_by_label("Scope").first.press("Alt+ArrowUp")  # there is no way further up
    page.get_by_label("Scope").first.press("ArrowDown")
    page.get_by_label("Scope").first.press("Alt+ArrowDown")
    expect(page.get_by_label("Name").nth(1)).to_have_value("Two")
    assert page.evaluate(NAMES) == ["One", "Two", "Three"]


def test_a_version_is_saved_with_the_keyboard_alone(page_for: PageFor) -> None:
    row = rubric()
    page = editor(page_for, row)
    page.get_by_label("Name").first.fill("Tone")
    page.get_by_label("Name").first.press("Enter")
    expect(page.get_by_label("Name").first).to_have_value("Tone")
    page.get_by_role("button", name="Save as a new version").press("Enter")
    expect(page.locator("#note-problem")).to_be_visible()
    page.get_by_label("Why this version").fill("Voice was too wide")
    page.get_by_role("button", name="Save as a new version").press("Enter")
    expect(page.locator(".message-success")).to_contain_text("Version 2 is saved")
    expect(page.locator(".dimension-name").first).to_have_text("Tone")


def test_a_slow_answer_takes_neither_the_focus_nor_what_is_typed(page_for: PageFor) -> None:
    page = editor(page_for, rubric())
    waiting: list[Route] = []
    page.route("**/edit/", lambda route: waiting.append(route))
    page.get_by_label("Name").first.fill("Tone")
    page.get_by_label("Name").first.press("Enter")
    expect(page.get_by_label("Why this version")).to_have_js_property("readOnly", True)
    save = page.get_by_role("button", name="Save as a new version")
    save.focus()
    waiting[0].continue_()
    expect(page.get_by_label("Why this version")).to_have_js_property("readOnly", False)
    expect(save).to_be_focused()


def test_leaving_with_unsaved_text_asks_first(page_for: PageFor) -> None:
    page = editor(page_for, rubric())
    asked: list[str] = []
    page.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.dismiss()))
    page.get_by_label("Name").first.fill("Tone")
    page.get_by_role("link", name="Back without saving").click()
    page.wait_for_timeout(300)
    assert asked == ["beforeunload"]
    assert page.evaluate(NAMES)[0] == "Tone"


def test_without_a_script_the_same_buttons_work(page_for: PageFor) -> None:
    row = rubric()
    page = editor(page_for, row, java_script_enabled=False)
    page.get_by_label("Name").first.fill("Tone")
    page.get_by_role("button", name="Move dimension 1 down").click()
    expect(page.get_by_label("Name").nth(1)).to_have_value("Tone")
    page.get_by_role("button", name="Split dimension 2").click()
    expect(page.get_by_label("Name").nth(2)).to_have_value("Tone (2)")
    page.get_by_label("Why this version").fill("Two matters")
    page.get_by_role("button", name="Save as a new version").click()
    expect(page.locator(".message-success")).to_contain_text("Version 2 is saved")
    assert page.locator(".rubric tbody tr").count() == 4
