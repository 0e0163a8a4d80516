"""The audit trail misses no change of state, whoever or whatever makes it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from curation.export_services import start_export
from curation.models import CurationPolicy, ExportFile, ImportFile, Reconstruction, Source
from curation.services import (
    ImportOptions,
    begin_import,
    discard_import,
    receive_import,
    start_filtering,
    start_import,
    start_reconstruction,
)
from llm.audit import history_of, kind_of
from llm.engine.worker import work_on_run
from llm.models import AuditEntry, Run
from llm.services import retry_failed
from tests.reviewing import judged
from tests.samples import source_prompt
from tests.simulated import SimulatedServer, simulated_server

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def server() -> Iterator[SimulatedServer]:
    with simulated_server(latency=0.0) as running:
        yield running


@pytest.fixture(autouse=True)
def media(settings: Any, tmp_path: Path) -> None:
    settings.MEDIA_ROOT = tmp_path


def trail(subject: Any) -> list[tuple[str, str, str | None, str | None]]:
    """The entries of an object, the oldest first: what, by whom, the state before and after."""
    entries = reversed(history_of(subject))
    return [(e.action, e.actor_name, e.before.get("state"), e.after.get("state")) for e in entries]


def work(run: Run) -> str:
    asyncio.run(work_on_run(run.pk))
    return f"run {run.pk}"


def test_from_the_plan_to_the_decision(server: SimulatedServer, researcher: User) -> None:
    source_prompt()
    CurationPolicy(pk=1, second_review_share=0).save()
    server.fail_next("400")
    writing = start_reconstruction(endpoint=server.endpoint(), user=researcher)
    by_run = work(writing)
    item = Reconstruction.objects.get()
    assert item.state == "failed"
    assert history_of(item)[0].reason == item.state_reason
    retry_failed(run_id=writing.pk)
    work(writing)
    by_filter = work(start_filtering(user=researcher))
    judged(item, "ann")
    assert item.state == "accepted"
    found = trail(item)
    assert found == [
        ("planned", "rosa", None, "planned"),
        ("not reconstructed", by_run, "planned", "failed"),
        ("rewritten", by_run, "failed", "rewritten"),
        ("opened for review", by_filter, "rewritten", "in_review"),
        ("reviewed: accept", "ann", "in_review", "accepted"),
    ]
    assert [before for *_, before, _ in found[1:]] == [after for *_, after in found[:-1]], (
        "each begins where the last one ended"
    )


def test_a_text_that_came_too_late_changes_nothing(server: SimulatedServer, researcher: User) -> None:
    source_prompt()
    run = start_reconstruction(endpoint=server.endpoint(), user=researcher)
    Reconstruction.objects.update(state="accepted")
    work(run)
    assert [action for action, *_ in trail(Reconstruction.objects.get())] == ["planned"]


def test_imports_and_what_they_bring(research_client: Client, researcher: User) -> None:
    rows = [{"prompt": f"Write story {n}.", "better": f"Tell tale {n}."} for n in range(3)]
    content = "".join(json.dumps(row) + "\n" for row in [*rows, rows[0]]).encode()
    options = ImportOptions(text_field="prompt", reconstruction_field="better")
    row = start_import(chunks=[content], file_name="a.jsonl", name="tales", options=options, user=researcher)
    assert row.run is not None
    by_run = work(row.run)
    assert trail(row) == [
        ("received", "rosa", None, "draft"),
        ("begun", "rosa", "draft", "waiting"),
        ("finished", by_run, "waiting", "done"),
    ]
    after = history_of(row)[0].after
    assert (after["read"], after["added"], after["duplicates"]) == (4, 3, 1)
    assert history_of(Source.objects.get())[0].after["added"] == 3
    for item in Reconstruction.objects.all():
        assert trail(item) == [("imported", "rosa", None, "rewritten")]
    assert not AuditEntry.objects.filter(subject_kind="source prompt").exists()
    page = research_client.get(reverse("history")).text
    assert f'href="{reverse("import", args=[row.pk])}"' in page
    assert f'href="{reverse("source", args=[Source.objects.get().pk])}"' in page


def test_an_import_that_fails_is_begun_again_or_is_thrown_away(researcher: User, tmp_path: Path) -> None:
    row = start_import(chunks=[b'{"prompt": "a"}\n'], file_name="a.jsonl", name="a", user=researcher)
    assert row.run is not None
    (tmp_path / row.path).unlink()
    by_run = work(row.run)
    begin_import(import_file=row, user=researcher)
    assert trail(row)[2:] == [("failed", by_run, "waiting", "failed"), ("begun", "rosa", "failed", "waiting")]
    assert "no longer on this machine" in history_of(row)[1].reason
    draft = receive_import(
        chunks=[b'{"prompt": "b"}\n'], file_name="b.jsonl", name="b", kind="prompts", user=researcher
    )
    gone = draft.pk
    discard_import(import_file=draft, user=researcher)
    entries = AuditEntry.objects.filter(subject_kind=kind_of(ImportFile()), subject_id=gone).order_by("pk")
    assert [(entry.action, entry.actor) for entry in entries] == [
        ("received", researcher),
        ("discarded", researcher),
    ]


def test_exports(research_client: Client, researcher: User, settings: Any, tmp_path: Path) -> None:
    export = start_export(kind="reviews", format="csv", filters={}, user=researcher)
    blocked = tmp_path / "a file where the folder should be"
    blocked.write_text("")
    settings.MEDIA_ROOT = blocked
    assert export.run is not None
    by_run = work(export.run)
    export.refresh_from_db()
    assert export.state == "failed"
    settings.MEDIA_ROOT = tmp_path
    retry_failed(run_id=export.run.pk)
    work(export.run)
    assert trail(export) == [
        ("asked for", "rosa", None, "waiting"),
        ("failed", by_run, "waiting", "failed"),
        ("written", by_run, "failed", "done"),
    ]
    export.refresh_from_db()
    assert history_of(export)[0].after == {"state": "done", "rows": 0, "sha256": export.sha256}
    assert f'href="{reverse("export", args=[export.pk])}"' in research_client.get(reverse("history")).text


def test_a_step_whose_file_is_gone_leaves_no_entry(researcher: User) -> None:
    export = start_export(kind="reviews", format="csv", filters={}, user=researcher)
    run, gone = export.run, export.pk
    assert run is not None
    export.delete()
    work(run)
    assert run.items.get().error_kind == "missing"
    entries = AuditEntry.objects.filter(subject_kind=kind_of(ExportFile()), subject_id=gone)
    assert [entry.action for entry in entries] == ["asked for"]
