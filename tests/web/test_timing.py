"""Every answer says how long the application worked on it."""

from __future__ import annotations

import pytest
from django.test import Client


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["/healthz", "/sign-in/", "/no-such-page/"])
def test_an_answer_says_how_long_it_took(client: Client, path: str) -> None:
    name, _, duration = client.get(path)["Server-Timing"].partition(";dur=")
    assert name == "app"
    assert 0 <= float(duration) < 60_000
