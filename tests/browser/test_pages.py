"""Every page in a browser: nothing violates the policy, nothing runs, nothing runs over the edge."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from llm.access import Role
from llm.models import Run
from tests.browser.conftest import PageFor
from tests.samples import CHINESE, HOSTILE, corpus, pages, person, run_with_items, source_prompt

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

LONG = "一个没有空格的长句子" * 30 + "\n" + "averylongwordwithoutanybreak" * 20
WATCH = "addEventListener('securitypolicyviolation', event => console.error('CSP', event.violatedDirective))"
FOCUS = """(() => {
    const at = document.activeElement;
    const name = at === document.body ? "" : at.name || at.textContent.trim().slice(0, 20);
    return [getComputedStyle(at).outlineStyle, name];
})()"""
BACKGROUND = "getComputedStyle(document.body).backgroundColor"


def overflow(page: Page) -> int:
    return page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")  # type: ignore[no-any-return]


@pytest.mark.parametrize(("scheme", "width"), [("light", 1440), ("dark", 1024), ("dark", 390)])
def test_no_page_violates_the_policy_or_overflows(page_for: PageFor, scheme: str, width: int) -> None:
    addresses = list(pages(corpus(CHINESE + LONG, "zh")))
    viewport = {"width": width, "height": 800}
    page = page_for(person("rosa", Role.RESEARCHER), color_scheme=scheme, viewport=viewport)
    page.add_init_script(WATCH)
    for address in addresses:
        answer = page.goto(address)
        assert answer is not None
        assert answer.ok, address
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert overflow(page) <= 0, f"{address} is too wide at {width}"
        page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
        assert overflow(page) <= 0, f"{address} unfolded is too wide at {width}"
        assert page.evaluate("document.documentElement.lang") == "en"


def test_hostile_text_is_text(page_for: PageFor) -> None:
    rows = corpus(HOSTILE)
    page = page_for(person("rosa", Role.RESEARCHER))
    page.add_init_script(WATCH)
    for address in pages(rows):
        page.goto(address)
        assert "pwned" not in page.title(), address
        assert page.locator("main").count() == 1
        assert page.evaluate("getComputedStyle(document.body).display") == "grid"
        assert page.evaluate("document.querySelectorAll('main script, main style, main img').length") == 0
    page.goto(f"/corpus-prompts/{rows['corpus-prompt'].pk}/")
    assert page.locator(".reading").first.evaluate("text => text.textContent") == HOSTILE


def test_the_theme_is_switched_and_remembered_without_a_flash(page_for: PageFor) -> None:
    page = page_for(person("rosa", Role.RESEARCHER), color_scheme="light")
    page.goto("/sources/")
    light = page.evaluate(BACKGROUND)
    switch = page.locator("[data-theme-switch]")
    expect(switch).to_have_text("Theme: system")
    switch.click()
    switch.click()
    expect(switch).to_have_text("Theme: dark")
    dark = page.evaluate(BACKGROUND)
    assert dark != light
    page.add_init_script(f"addEventListener('DOMContentLoaded', () => window.first = {BACKGROUND})")
    page.goto("/runs/")
    assert page.evaluate("window.first") == dark


def test_a_list_is_filtered_in_place_and_its_address_can_be_kept(page_for: PageFor) -> None:
    for number in range(60):
        source_prompt(f"request {number}", "zh" if number % 2 else "en")
    page = page_for(person("rosa", Role.RESEARCHER))
    page.goto("/source-prompts/")
    page.keyboard.press("/")
    page.keyboard.type("request 7")
    expect(page.locator(".count")).to_contain_text("1 source prompt")
    expect(page).to_have_url(re.compile(r"/source-prompts/\?q=request%207$"))
    page.locator("input[type=search]").fill("")
    page.get_by_label("Language").select_option("zh")
    expect(page.locator(".count")).to_contain_text("30 source prompts")
    expect(page).to_have_url(re.compile(r"/source-prompts/\?language=zh$"))
    page.reload()
    expect(page.locator(".count")).to_contain_text("30 source prompts")
    expect(page.get_by_label("Language")).to_have_value("zh")


def test_a_run_follows_its_work_and_leaves_alone_what_is_in_use(page_for: PageFor) -> None:
    run = run_with_items(done=1, pending=3)
    page = page_for(person("rosa", Role.RESEARCHER))
    page.clock.install()
    page.goto(f"/runs/{run.pk}/")
    expect(page.locator("#live")).to_contain_text("1 of 4 items ended")
    top = page.locator("h2", has_text="Settings").bounding_box()
    run.items.filter(state="pending").update(state="done")
    page.locator("#cancel").click()
    page.clock.run_for(3_500)
    page.wait_for_load_state("networkidle")
    expect(page.locator("#live .confirm-box")).to_be_visible()
    expect(page.locator("#live")).to_contain_text("1 of 4 items ended")
    page.locator("#cancel").click()
    page.clock.run_for(3_500)
    expect(page.locator("#live")).to_contain_text("4 of 4 items ended")
    assert page.locator("h2", has_text="Settings").bounding_box() == top
    Run.objects.update(state="done")
    page.clock.run_for(3_500)
    expect(page.locator("#live .chip").first).to_contain_text("done")
    assert page.locator("#live").get_attribute("hx-trigger") is None


def test_the_menu_opens_on_a_phone(page_for: PageFor) -> None:
    page = page_for(person("rosa", Role.RESEARCHER), viewport={"width": 390, "height": 800})
    page.goto("/")
    expect(page.get_by_role("link", name="Endpoints")).not_to_be_visible()
    page.get_by_role("button", name="Menu").click()
    page.get_by_role("link", name="Endpoints").click()
    expect(page.get_by_role("heading", name="Endpoints")).to_be_visible()


def test_every_control_can_be_reached_and_seen_in_focus(page_for: PageFor) -> None:
    page = page_for(person("rosa", Role.RESEARCHER))
    page.goto("/runs/start/")
    seen = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        outline, name = page.evaluate(FOCUS)
        if name:
            seen.add(name)
            assert outline != "none", name
    assert {"stage", "endpoint", "limit", "Start the run", "Sign out"} <= seen
