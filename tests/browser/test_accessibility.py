"""What a screen reader and the Tab key get: names, one heading of the first level, the order of reading."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from llm.access import Role
from tests.browser.conftest import PageFor
from tests.reviewing import disputed_item, flagged_item, judged, waiting_item
from tests.samples import CHINESE, person, reconstruction, source_prompt

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

CONTROLS = {"button", "link", "textbox", "searchbox", "combobox", "radio", "checkbox", "spinbutton", "switch"}
PLACE = """(() => {
    const at = document.activeElement;
    const places = {source: "[data-text=source]", reconstruction: "[data-text=reconstruction]",
        checks: "#checks", decision: ".decision-bar"};
    return Object.keys(places).find(place => at.closest(places[place])) ?? "";
})()"""
SIZES = [{"width": 1440, "height": 900}, {"width": 390, "height": 800}]


def nodes(page: Page) -> list[dict[str, Any]]:
    """Chromium's accessibility tree."""
    tree = page.context.new_cdp_session(page).send("Accessibility.getFullAXTree")
    return [
        {"role": node["role"]["value"], "name": node.get("name", {}).get("value", "").strip()}
        for node in tree["nodes"]
        if not node.get("ignored")
    ]


def settled_and_open_items() -> list[str]:
    """The addresses of the review room, of both kinds of adjudication, and of the quality page."""
    item = reconstruction(text=CHINESE, language="zh", of=source_prompt())
    for number in range(2):
        judged(waiting_item(reviews=2), "ann", *(["reject"] if number else []))
    disputed, flagged = disputed_item("ann", "bob"), flagged_item("bob")
    return [
        f"/review/{item.pk}/",
        f"/review/{item.pk}/?difference=1",
        f"/adjudication/{disputed.pk}/",
        f"/adjudication/{flagged.pk}/",
        *("/adjudication/", "/flags/", "/quality/", "/my-work/", "/my-keys/"),
    ]


@pytest.mark.parametrize("size", SIZES, ids=["desk", "phone"])
def test_every_control_has_a_name_and_every_page_one_first_heading(
    page_for: PageFor, size: dict[str, int]
) -> None:
    page = page_for(person("rosa", Role.RESEARCHER), viewport=size)
    for address in settled_and_open_items():
        page.goto(address)
        page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
        found = nodes(page)
        assert sum(node["role"] in CONTROLS for node in found) > 3, address
        nameless = [node for node in found if node["role"] in CONTROLS and not node["name"]]
        assert nameless == [], address
        assert page.locator("h1").count() == 1, address
        assert page.evaluate("[...document.querySelectorAll('[tabindex]')].every(each => each.tabIndex <= 0)")
        repeated = "(ids => ids.filter((id, place) => ids.indexOf(id) !== place))"
        assert page.evaluate(f"{repeated}([...document.querySelectorAll('[id]')].map(each => each.id))") == []


def test_tab_goes_through_the_room_as_one_reads_it(page_for: PageFor) -> None:
    reconstruction(text=CHINESE * 20, language="zh", of=source_prompt(CHINESE * 20, "zh"))
    page = page_for(person("ann", Role.ANNOTATOR), viewport=SIZES[0])
    page.goto("/review/")
    places: list[str] = []
    for _ in range(60):
        page.keyboard.press("Tab")
        place = page.evaluate(PLACE)
        if place not in places[-1:]:
            places.append(place)
        if places[-2:] == ["decision", ""]:
            break
    assert [place for place in places if place] == ["source", "reconstruction", "checks", "decision"]


def test_hints_are_announced_where_they_stand_and_once(page_for: PageFor) -> None:
    """A region that is put in anew with its words is not read out; one whose words change is."""
    reconstruction(text="Sure! The river is wide and the boats are old, and", of=source_prompt())
    page = page_for(person("ann", Role.ANNOTATOR))
    page.goto("/review/")
    page.evaluate("""() => {
        window.regions = [...document.querySelectorAll(".hints")];
        window.changes = [];
        const watch = new MutationObserver(all => window.changes.push(...all.map(each => each.target.id)));
        for (const each of window.regions) watch.observe(each, {childList: true});
    }""")
    page.keyboard.press("p")
    expect(page.locator("#hints-task_clarity")).to_contain_text("It begins like a reply")
    expect(page.get_by_role("status").filter(has_text="It begins like a reply")).to_be_visible()
    assert page.evaluate("regions.every(each => each.isConnected)")
    assert set(page.evaluate("changes")) == {"hints-task_clarity"}
    page.evaluate("void (changes.length = 0)")
    page.keyboard.press("5")
    page.keyboard.press("p")
    expect(page.locator("#hints-usable_length")).to_contain_text("ends in the middle of a sentence")
    assert set(page.evaluate("changes")) == {"hints-usable_length"}
