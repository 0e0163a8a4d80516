"""A real Chromium on the live server; skipped, with the reason, where there is none."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, sync_playwright

CHROMIUM = Path("/usr/bin/chromium")
ARGUMENTS = [
    "--no-sandbox",
    "--headless=new",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

PageFor = Callable[..., Page]


def is_complaint(line: ConsoleMessage) -> bool:
    """An error, unless it is the browser's remark that a form came back with status 422."""
    return line.type == "error" and "status of 422" not in line.text


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    if not CHROMIUM.exists():
        pytest.skip(f"no browser: {CHROMIUM} is missing (apt-get install chromium)")
    # Playwright keeps an event loop in this thread, which Django would take for asynchronous code.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=str(CHROMIUM), args=ARGUMENTS)
        yield chromium
        chromium.close()
    del os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"]


@pytest.fixture
def page_for(browser: Browser, live_server: Any) -> Iterator[PageFor]:
    """Opens a page as a signed-in user; a console error or an uncaught exception on it fails the test."""
    contexts: list[BrowserContext] = []
    complaints: list[str] = []

    def make(user: User | None = None, **options: Any) -> Page:
        context = browser.new_context(base_url=live_server.url, **options)
        contexts.append(context)
        if user:
            client = Client()
            client.force_login(user)
            cookie = client.cookies["sessionid"].value
            context.add_cookies([{"name": "sessionid", "value": cookie, "url": live_server.url}])
        page = context.new_page()
        page.set_default_timeout(10_000)
        page.on("console", lambda line: complaints.append(line.text) if is_complaint(line) else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        return page

    make.complaints = complaints  # type: ignore[attr-defined]
    yield make
    for context in contexts:
        context.close()
    assert not complaints
