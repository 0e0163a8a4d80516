"""The examples of docs/api.md do what the page says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User

from curation.api.tokens import make_token
from curation.api.urls import urlpatterns
from curation.models import Review
from tests.samples import reconstruction

PAGE = Path("docs/api.md").read_text(encoding="utf-8")


def test_the_page_names_every_noun() -> None:
    for route in urlpatterns:
        noun = str(route.pattern).split("/")[0]
        if "<" not in noun:
            assert f"{noun}/" in PAGE, noun


@pytest.mark.django_db(transaction=True)
def test_the_review_loop_in_python_runs_as_it_stands(live_server: Any, ann: User) -> None:
    items = [reconstruction("in_review"), reconstruction("in_review")]
    lines = PAGE.split("## The review loop")[1].split("\n## ")[0].splitlines()
    program = "\n".join(line[4:] for line in lines if line.startswith("    ") or not line)
    _, token = make_token(user=ann, name="example", days=1)
    ran = subprocess.run(
        [sys.executable, "-c", program],
        input="pass\n" * 5 + "pass\n" * 4 + "fail\n",
        env={**os.environ, "WORKBENCH": f"{live_server.url}/api/v1", "TOKEN": token},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    decided = Review.objects.order_by("pk").values_list("reconstruction", "decision")
    assert list(decided) == [(items[0].pk, "accept"), (items[1].pk, "reject")]


@pytest.mark.parametrize("route", [str(each.pattern) for each in urlpatterns])
def test_the_page_names_every_last_step(route: str) -> None:
    """The verbs of single things, like `pause`, stand there too."""
    step = route.rstrip("/").rsplit("/", 1)[-1]
    if "<" not in step:
        assert re.search(rf"\b{step}\b", PAGE), route
