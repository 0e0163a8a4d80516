"""A real Chromium on the live server; skipped, with the reason, where there is none."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.signals import request_finished, request_started
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


class RequestsAtWork:
    """How many requests the live server is answering. A page that closes still sends what was typed, and the
    database must not be emptied under that request."""

    def __init__(self) -> None:
        self.count, self.changed_at = 0, time.monotonic()
        request_started.connect(self._started)
        request_finished.connect(self._finished)

    def _started(self, **_: Any) -> None:
        self.count, self.changed_at = self.count + 1, time.monotonic()

    def _finished(self, **_: Any) -> None:
        self.count, self.changed_at = max(self.count - 1, 0), time.monotonic()

    def wait_for_quiet(self, seconds: float = 0.3, at_most: float = 10) -> None:
        until = time.monotonic() + at_most
        while time.monotonic() < until:
            if self.count == 0 and time.monotonic() - self.changed_at > seconds:
                return
            time.sleep(0.05)


@pytest.fixture(scope="session")
def requests_at_work() -> RequestsAtWork:
    return RequestsAtWork()


@pytest.fixture
def page_for(browser: Browser, live_server: Any, requests_at_work: RequestsAtWork) -> Iterator[PageFor]:
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
    requests_at_work.changed_at = time.monotonic()
    requests_at_work.wait_for_quiet()
    assert not complaints
