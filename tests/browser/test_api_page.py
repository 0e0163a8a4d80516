"""The API's page in a real browser: whole under the strict policy, and it tries requests out."""

from __future__ import annotations

import pytest

from llm.access import Role
from tests.browser.conftest import PageFor
from tests.samples import person

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_the_page_loads_from_here_alone_and_sends_a_request(page_for: PageFor) -> None:
    page = page_for(person("ann", Role.ANNOTATOR))
    foreign: list[str] = []
    page.on("request", lambda asked: foreign.append(asked.url) if "/localhost:" not in asked.url else None)
    page.goto("/api/v1/docs/")
    row = page.locator("#operations-queue-queue_next_create")
    row.locator("button.opblock-summary-control").click()
    row.locator("button.try-out__btn").click()
    row.locator("button.execute").click()
    answer = row.locator(".live-responses-table tbody .response-col_status").first
    answer.wait_for()
    assert "200" in answer.inner_text()
    assert not [url for url in foreign if not url.startswith("data:")]
