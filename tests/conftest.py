from __future__ import annotations

import pytest


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Browser tests come last: Playwright holds an event loop in the main thread, so no other can run."""
    items.sort(key=lambda item: item.get_closest_marker("browser") is not None)
