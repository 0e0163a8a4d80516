"""The two texts of the review room: quoted passages, the difference, scrolling together."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from curation.models import Reconstruction, ReviewDraft
from llm.access import Role
from tests.browser.conftest import PageFor
from tests.browser.test_review import verdicts
from tests.samples import CHINESE, person, reconstruction, source_prompt

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

ODD = "头\U0001f469\u200d\U0001f52c\r\n请写一篇\U0001f3f3\ufe0f关于𠮷野家的短文。\r\n\u05d0\u05d1 the end"

SELECT = """([side, passage]) => {
    const reading = document.querySelector(`[data-text=${side}] .reading`);
    const walker = document.createTreeWalker(reading, NodeFilter.SHOW_TEXT);
    const at = units => {
        walker.currentNode = reading;
        for (let node = walker.nextNode(); node; node = walker.nextNode()) {
            if (units <= node.length) return [node, units];
            units -= node.length;
        }
    };
    const start = reading.textContent.indexOf(passage);
    const range = document.createRange();
    range.setStart(...at(start));
    range.setEnd(...at(start + passage.length));
    getSelection().removeAllRanges();
    getSelection().addRange(range);
    return start;
}"""


def room(
    page_for: PageFor, text: str = ODD, source: str = CHINESE, **options: object
) -> tuple[Page, Reconstruction]:
    item = reconstruction(text=text, language="zh", of=source_prompt(source, "zh"))
    page = page_for(person("ann", Role.ANNOTATOR), **options)
    page.goto("/review/")
    return page, item


@pytest.mark.parametrize("difference", [False, True])
@pytest.mark.parametrize(
    "passage", ["关于𠮷野家", "\U0001f469\u200d\U0001f52c\r\n请写一篇\U0001f3f3\ufe0f关于", "the end"]
)
def test_a_selected_passage_is_quoted_where_it_stands(
    page_for: PageFor, passage: str, difference: bool
) -> None:
    page, item = room(page_for)
    assert page.locator("[data-text=reconstruction] .reading").evaluate("text => text.textContent") == ODD
    if difference:
        page.keyboard.press("d")
        expect(page.locator("[data-text=reconstruction] .reading ins").first).to_be_visible()
    page.keyboard.press("3")
    assert page.evaluate(SELECT, ["reconstruction", passage]) >= 0
    page.keyboard.press("e")
    expect(page.locator("#check-3 .evidence-quote")).to_contain_text(passage[-3:])
    expect(page.locator("#saved")).to_contain_text("Saved")
    evidence = ReviewDraft.objects.get().content["contextual_coherence"]["evidence"]
    assert evidence == {
        "side": "reconstruction",
        "start": ODD.index(passage),
        "end": ODD.index(passage) + len(passage),
        "text": passage,
    }
    assert page.evaluate("[...CSS.highlights.get('evidence')].map(String)") == [passage]
    page.reload()
    expect(page.locator("#check-3 .evidence-quote")).to_contain_text(passage[-3:])
    with page.expect_response(lambda answer: answer.url.endswith("/draft/")):
        page.locator("#check-3 [data-drop-evidence]").click()
    assert ReviewDraft.objects.get().content == {}
    assert item.text == ODD


def test_the_source_is_quoted_too(page_for: PageFor) -> None:
    page, item = room(page_for)
    page.evaluate(SELECT, ["source", "不少于四百字"])
    page.locator("#check-1").get_by_role("button", name="Quote the selected passage").click()
    expect(page.locator("#check-1 .evidence-quote")).to_contain_text("不少于四百字")
    expect(page.locator("#check-1 .evidence-quote")).to_contain_text("from the source")
    expect(page.locator("#saved")).to_contain_text("Saved")
    evidence = ReviewDraft.objects.get().content["task_clarity"]["evidence"]
    assert item.source_prompt.text[evidence["start"] : evidence["end"]] == "不少于四百字"


def test_a_passage_is_quoted_by_keyboard_alone(page_for: PageFor) -> None:
    page, item = room(page_for)
    page.keyboard.press("2")
    page.keyboard.press("e")
    check = page.locator("#check-2")
    passage = check.get_by_label("Passage")
    expect(passage).to_be_focused()
    expect(page.locator("#said")).to_contain_text("type or paste the passage")
    page.keyboard.type("请写 一句")
    page.keyboard.press("Escape")
    expect(page.locator("#said")).to_contain_text("stands in neither text")
    expect(passage).to_be_visible()
    page.keyboard.press("n")
    page.keyboard.type("a note beside it")
    page.wait_for_timeout(1_000)
    expect(page.locator("#saved")).to_contain_text("Saved")
    draft = ReviewDraft.objects.get().content["constraint_consistency"]
    assert (draft["note"], draft["evidence"]) == ("a note beside it", None)
    page.keyboard.press("Escape")
    page.keyboard.press("e")
    expect(passage).to_be_focused()
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type("不少于四百字")
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Escape")
    expect(check.locator(".evidence-quote")).to_contain_text("不少于四百字")
    expect(check.locator(".evidence-quote")).to_contain_text("from the source")
    expect(passage).not_to_be_visible()
    assert page.evaluate("document.activeElement.name") == "constraint_consistency-verdict"
    assert page.evaluate("[...CSS.highlights.get('evidence')].map(String)") == ["不少于四百字"]
    page.keyboard.press("p")
    expect(page.locator("#check-2 input:checked")).to_have_value("pass")
    page.wait_for_timeout(1_500)
    evidence = ReviewDraft.objects.get().content["constraint_consistency"]["evidence"]
    assert item.source_prompt.text[evidence["start"] : evidence["end"]] == "不少于四百字"
    page.keyboard.press("2")
    page.keyboard.press("e")
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.press("Delete")
    page.keyboard.press("Escape")
    expect(check.locator(".evidence-quote")).not_to_be_visible()


def test_the_differences_open_with_the_space_bar(page_for: PageFor) -> None:
    page, _ = room(page_for, CHINESE.replace("运河", "茶山"))
    link = page.get_by_role("button", name="Differences")
    link.focus()
    page.keyboard.press("Space")
    expect(link).to_have_attribute("aria-pressed", "true")
    expect(page.locator("[data-text=source] .reading del")).to_have_text(["运河"])


def test_d_shows_the_difference_and_takes_it_away(page_for: PageFor) -> None:
    page, _ = room(page_for, CHINESE.replace("运河", "茶山"))
    page.keyboard.press("f")
    page.keyboard.press("d")
    expect(page.locator("[data-text=source] .reading del")).to_have_text(["运河"])
    expect(page.locator("[data-text=reconstruction] .reading ins")).to_have_text(["茶山"])
    styles = "(side) => getComputedStyle(document.querySelector(side)).textDecorationStyle"
    assert page.evaluate(styles, ".reading del") == "dashed"
    assert page.evaluate(styles, ".reading ins") == "solid"
    expect(page.locator(".legend")).to_have_text(["only here", "only here"])
    assert verdicts(page) == ["fail"]
    page.keyboard.press("d")
    expect(page.locator("#texts del, #texts ins")).to_have_count(0)
    assert page.locator("[data-text=source] .reading").evaluate("text => text.textContent") == CHINESE


def test_without_a_script_the_difference_is_a_button_that_keeps_the_input(page_for: PageFor) -> None:
    page, _ = room(page_for, CHINESE.replace("运河", "茶山"), java_script_enabled=False)
    page.locator("#check-1 .note textarea").fill("typed before")
    page.get_by_role("button", name="Differences").click()
    expect(page.locator("[data-text=source] .reading del")).to_have_text(["运河"])
    expect(page.locator("#check-1 .note textarea")).to_have_value("typed before")
    page.locator("#check-2 .note textarea").fill("typed between")
    page.get_by_role("button", name="Differences").click()
    expect(page.locator("#texts del")).to_have_count(0)
    expect(page.locator("#check-2 .note textarea")).to_have_value("typed between")


def test_the_texts_scroll_together_by_paragraph_or_apart(page_for: PageFor) -> None:
    short = "\n".join(f"{number}. A paragraph." for number in range(60))
    long = "\n".join(f"{number}. A paragraph of many more words than the other. " * 6 for number in range(60))
    page, _ = room(page_for, long, short)
    top = "side => document.querySelector(`[data-text=${side}]`).scrollTop"
    first = """side => {
        const box = document.querySelector(`[data-text=${side}]`);
        const edge = box.getBoundingClientRect().top + 50;
        const node = box.querySelector('.reading').firstChild, range = document.createRange();
        for (const match of node.data.matchAll(/\\d+\\. A/g)) {
            range.setStart(node, match.index); range.setEnd(node, match.index + 1);
            if (range.getBoundingClientRect().bottom > edge) return Number.parseInt(match[0]);
        }
    }"""
    page.mouse.move(700, 400)
    page.mouse.wheel(0, 3_000)
    page.wait_for_function(f"({top})('source') > 100")
    page.wait_for_timeout(300)
    assert abs(page.evaluate(first, "source") - page.evaluate(first, "reconstruction")) <= 1
    page.keyboard.press("l")
    expect(page.get_by_role("button", name="Scroll together")).to_have_attribute("aria-pressed", "false")
    before = page.evaluate(top, "source")
    page.mouse.wheel(0, 3_000)
    page.wait_for_timeout(500)
    assert page.evaluate(top, "source") == before
    page.keyboard.press("k")
    page.keyboard.press("j")


def test_the_room_is_one_screen(page_for: PageFor) -> None:
    page, _ = room(page_for, CHINESE * 40, CHINESE * 40, viewport={"width": 1280, "height": 760})
    assert page.evaluate("document.documentElement.scrollHeight - innerHeight") <= 0
    for name in ("Accept", "Reject", "Skip", "Guidelines"):
        expect(page.get_by_role("button", name=name)).to_be_in_viewport()
    for number in range(1, 6):
        expect(page.locator(f"#check-{number} .verdicts")).to_be_in_viewport()
