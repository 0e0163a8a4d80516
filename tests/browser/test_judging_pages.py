"""The pages of candidates and judges in a browser: nothing runs over the edge, tabs lead to a response."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection
from django.urls import reverse
from playwright.sync_api import expect

from llm.access import Role
from tests.browser.conftest import PageFor
from tests.browser.test_pages import LONG, WATCH, overflow
from tests.samples import CHINESE, candidate, corpus_prompt, person, rubric
from tests.training.test_bias_checks import check, honest
from tests.training.test_choosing import read
from training.choosing import choose_by_hand, point_at_first_readings
from training.models import Candidate

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def five() -> list[Candidate]:
    text = CHINESE + LONG
    of = rubric(corpus_prompt(text, "zh"))
    rows = [candidate(of, index, f"{index} {text}", cut=index == 3) for index in range(5)]
    for row in rows:
        for judge, samples in (("a", 2), ("b" * 60, 1)):
            for sample in range(samples):
                made = read(row, 0.25 + row.index / 10, judge, sample=sample)
                made.items = [
                    {"name": name, "score": 4, "maximum": 8, "comment": text} for name in ("Voice", text[:60])
                ]
                made.save()
    read(rows[4], None, "a", sample=2)
    point_at_first_readings({of.pk})
    return rows


@pytest.mark.parametrize(("scheme", "width"), [("light", 1440), ("dark", 1024), ("dark", 390)])
def test_nothing_runs_over_the_edge(
    page_for: PageFor, five: list[Candidate], scheme: str, width: int
) -> None:
    rosa = person("rosa", Role.RESEARCHER)
    choose_by_hand(candidate_id=five[1].pk, user=rosa, reason=LONG[:1500])
    run = _elsewhere(five[0])
    page = page_for(rosa, color_scheme=scheme, viewport={"width": width, "height": 800})
    page.add_init_script(WATCH)
    for address in (
        reverse("choice", args=[five[0].rubric_id]),
        reverse("candidate", args=[five[4].pk]),
        reverse("candidates"),
        reverse("judges"),
        reverse("bias-check", args=[run]),
        reverse("snapshot-new"),
    ):
        answer = page.goto(address)
        assert answer is not None
        assert answer.ok, address
        page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
        assert overflow(page) <= 0, f"{address} is too wide at {width}"


def test_on_a_phone_a_tab_brings_its_response_into_view(page_for: PageFor, five: list[Candidate]) -> None:
    page = page_for(person("rosa", Role.RESEARCHER), viewport={"width": 390, "height": 800})
    page.goto(reverse("choice", args=[five[0].rubric_id]))
    page.get_by_role("navigation", name="Responses").get_by_role("link", name="3").click()
    third = page.locator(f"#candidate-{five[3].pk}")
    expect(third.get_by_role("heading", name="No. 3")).to_be_in_viewport()
    expect(page.locator(f"#candidate-{five[0].pk} h3")).not_to_be_in_viewport()


def test_a_choice_is_made_and_taken_back_with_the_keyboard_alone(
    page_for: PageFor, five: list[Candidate]
) -> None:
    page = page_for(person("rosa", Role.RESEARCHER))
    page.goto(reverse("choice", args=[five[0].rubric_id]))
    card = page.locator(f"#candidate-{five[2].pk}")
    card.get_by_text("Choose this one").press("Enter")
    card.get_by_label("Why").fill("It is the plainest.")
    card.get_by_role("button").press("Enter")
    expect(page.locator(".choice-state")).to_contain_text("It is the plainest.")
    page.get_by_role("button", name="Take this choice back").press("Enter")
    expect(page.locator(".choice-state")).not_to_contain_text("It is the plainest.")


def _elsewhere(of: Candidate) -> int:
    """A bias check made on another thread: Playwright has an event loop running in this one."""

    def work() -> int:
        try:
            return check(honest(of)).pk
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as threads:
        return threads.submit(work).result()
