"""Planning reconstructions on the page: with a script, and without one."""

from __future__ import annotations

import os

import pytest
from playwright.sync_api import expect

from curation.models import Reconstruction
from llm.access import Role
from llm.models import Run
from tests.browser.conftest import PageFor
from tests.samples import endpoint, person, reconstruction, source_prompt

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.mark.parametrize("script", [True, False])
def test_a_plan_is_shown_where_it_is_filled_in_then_started(page_for: PageFor, script: bool) -> None:
    endpoint()
    prompts = [source_prompt() for _ in range(3)]
    reconstruction("accepted", of=prompts[0])
    page = page_for(person("rosa", Role.RESEARCHER), java_script_enabled=script)
    page.goto("/runs/start/?stage=reconstruct")
    page.get_by_label("Reconstructions of each source prompt").fill("2")
    page.get_by_role("button", name="Show what it would add").click()
    told = page.locator("#plan-preview")
    expect(told).to_contain_text("3 source prompts, 1 reconstruction there already, 5 new.")
    if folder := os.environ.get("PICTURES"):
        page.screenshot(path=f"{folder}/run-start-{script}.png", full_page=True)
    assert not Run.objects.exists()
    expect(page.get_by_label("Reconstructions of each source prompt")).to_have_value("2")
    expect(page.get_by_role("radio", name="Reconstruct")).to_be_checked()
    page.get_by_role("button", name="Start the run").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Run")
    assert Reconstruction.objects.count() == 6


def test_the_bounds_unfold_and_fit_a_phone(page_for: PageFor) -> None:
    endpoint()
    page = page_for(
        person("rosa", Role.RESEARCHER), viewport={"width": 390, "height": 800}, java_script_enabled=False
    )
    page.goto("/runs/start/?stage=mine")
    page.get_by_label("Rubrics by which method").select_option("drg")
    page.get_by_text("Acceptance bounds").click()
    page.get_by_label("Scored dimensions of a rubric, at least").fill("9")
    page.get_by_role("button", name="Start the run").click()
    expect(page.get_by_text("No rubric could meet these bounds")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    if folder := os.environ.get("PICTURES"):
        page.screenshot(path=f"{folder}/run-start-bounds.png", full_page=True)
