"""Runs through the API: what a plan would add, starting, and the buttons of a run's page."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from rest_framework.test import APIClient

from curation.models import Reconstruction, SourcePrompt
from llm.models import Run
from tests.api.conftest import send
from tests.samples import endpoint, reconstruction, run_with_items, source, source_prompt


def test_a_plan_is_looked_at_then_started_and_topped_up(as_rosa: APIClient, rosa: User) -> None:
    wanted = source("wanted").pk
    prompts = [source_prompt(source=source("wanted")) for _ in range(2)]
    source_prompt(source=source("other"))
    reconstruction("accepted", of=prompts[0])
    plan = send(as_rosa, "get", f"runs/plan/?per_source=2&source={wanted}").json()
    assert plan == {"prompts": 2, "existing": 1, "planned": 0, "new": 3}
    assert not Run.objects.exists()
    body = {"stage": "reconstruct", "endpoint": endpoint().name, "per_source": 2, "source": wanted, "seed": 7}
    answer = send(as_rosa, "post", "runs/", body)
    assert (answer.status_code, answer.json()["total"], answer.json()["created_by"]) == (201, 3, "rosa")
    run = Run.objects.get()
    assert run.parameters == {"per_source": 2, "seed": 7, "limit": None, "source": "wanted"}
    again = send(as_rosa, "post", "runs/", body).json()
    assert (again["total"], again["state"]) == (0, "done")
    assert Reconstruction.objects.count() == 4
    assert send(as_rosa, "get", f"runs/plan/?per_source=2&source={wanted}").json()["new"] == 0
    assert send(as_rosa, "get", "runs/plan/").json() == {
        "prompts": 3,
        "existing": 4,
        "planned": 3,
        "new": 1,
    }


def test_filtering_and_indexing_are_started(as_rosa: APIClient) -> None:
    for _ in range(3):
        reconstruction("rewritten")
    answer = send(as_rosa, "post", "runs/", {"stage": "filter", "limit": 2})
    assert (answer.status_code, answer.json()["kind"], answer.json()["total"]) == (201, "filter", 2)
    indexed = send(as_rosa, "post", "runs/", {"stage": "index"})
    assert (indexed.status_code, indexed.json()["kind"]) == (201, "index")
    Reconstruction.objects.all().delete()
    SourcePrompt.objects.all().delete()
    nothing = send(as_rosa, "post", "runs/", {"stage": "index"})
    assert (nothing.status_code, nothing.json()["code"]) == (409, "nothing_waits")


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ({}, {"stage"}),
        ({"stage": "mine"}, {"stage"}),
        ({"stage": "reconstruct"}, {"endpoint"}),
        ({"stage": "reconstruct", "endpoint": "nobody"}, {"endpoint"}),
        ({"stage": "reconstruct", "endpoint": "writer", "per_source": 0}, {"per_source"}),
        ({"stage": "reconstruct", "endpoint": "writer", "per_source": 101}, {"per_source"}),
        ({"stage": "reconstruct", "endpoint": "writer", "source": 10**9}, {"source"}),
        ({"stage": "reconstruct", "endpoint": "writer", "seed": -1}, {"seed"}),
        ({"stage": "filter", "endpoint": "writer", "per_source": 1}, {"endpoint", "per_source"}),
        ({"stage": "index", "limit": 1}, {"limit"}),
    ],
)
def test_a_wrong_start_is_refused_and_starts_nothing(as_rosa: APIClient, body: Any, fields: set[str]) -> None:
    endpoint()
    source_prompt()
    answer = send(as_rosa, "post", "runs/", body)
    assert (answer.status_code, set(answer.json()["errors"])) == (400, fields)
    assert not Run.objects.exists()
    assert not Reconstruction.objects.exists()


def test_a_wrong_plan_is_refused(as_rosa: APIClient) -> None:
    for query, field in (("per_source=0", "per_source"), ("source=x", "source"), ("limit=-1", "limit")):
        answer = send(as_rosa, "get", f"runs/plan/?{query}")
        assert (answer.status_code, set(answer.json()["errors"])) == (400, {field})


def test_pause_go_on_retry_cancel(as_rosa: APIClient) -> None:
    run = run_with_items(failed=2, pending=3)
    run.items.filter(subject_id=1).update(error_kind="refused")

    def press(action: str) -> Any:
        return send(as_rosa, "post", f"runs/{run.pk}/{action}/")

    paused = press("pause")
    assert (paused.status_code, paused.json()["state"], paused.json()["progress"]["failed"]) == (
        200,
        "paused",
        2,
    )
    assert press("pause").json()["code"] == "not_running"
    assert press("continue").json()["state"] == "running"
    assert press("continue").json()["code"] == "not_paused"
    assert send(as_rosa, "post", f"runs/{run.pk}/retry/", {"kind": "refused"}).json() == {"count": 1}
    assert list(run.items.filter(state="failed").values_list("error_kind", flat=True)) == ["timeout"]
    assert press("retry").json() == {"count": 1}
    assert press("cancel").json()["state"] == "cancelled"
    assert press("cancel").json()["code"] == "ended"
    assert send(as_rosa, "post", f"runs/{10**9}/pause/").status_code == 404
