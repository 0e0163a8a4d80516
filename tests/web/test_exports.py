"""The page of exports: asked for, followed while a worker writes, downloaded."""

from __future__ import annotations

import asyncio
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from curation.export_files import export_path
from curation.export_services import start_export
from curation.models import ExportFile
from llm.access import Role
from llm.engine.worker import work_on_run
from llm.models import AuditEntry, Run
from tests.samples import corpus, person, reconstruction, review, source_prompt

PAGE = "/exports/"


@pytest.fixture(autouse=True)
def media(settings: Any, tmp_path: Path) -> Path:
    settings.MEDIA_ROOT = tmp_path
    return tmp_path


@pytest.mark.django_db(transaction=True)
def test_an_export_is_asked_for_written_and_downloaded(research_client: Client, annotator: User) -> None:
    review(reconstruction("accepted"), annotator)
    review(reconstruction("rejected"), annotator, "reject")
    assert "No export yet" in research_client.get(PAGE).text
    asked = {"kind": "reviews", "format": "jsonl", "decision": "reject", "texts": "on"}
    page = research_client.post(PAGE, asked, follow=True)
    export = ExportFile.objects.get()
    assert page.redirect_chain[-1][0] == reverse("export", args=[export.pk])
    assert "this page follows" in page.text
    assert 'hx-trigger="every' in page.text
    assert "Download" not in page.text
    assert research_client.get(reverse("export-file", args=[export.pk])).status_code == 404
    assert export.run is not None
    asyncio.run(work_on_run(export.run.pk))
    part = research_client.get(
        reverse("export", args=[export.pk]), headers={"HX-Request": "true", "HX-Target": "live"}
    ).text
    assert "<main" not in part
    assert "Download" in part
    assert "hx-trigger" not in part
    export.refresh_from_db()
    assert export.sha256 in part
    answer = research_client.get(reverse("export-file", args=[export.pk]))
    assert answer["Content-Disposition"] == f'attachment; filename="reviews-{export.pk}.jsonl"'
    assert answer["Content-Type"] == "application/x-ndjson"
    (row,) = map(json.loads, b"".join(answer.streaming_content).splitlines())  # type: ignore[attr-defined]
    assert (row["decision"], row["reviewer"]) == ("reject", "ann")
    listed = research_client.get(PAGE).text
    assert reverse("export-file", args=[export.pk]) in listed


def test_a_double_click_makes_one_export_and_another_request_another(research_client: Client) -> None:
    asked = {"kind": "reviews", "format": "jsonl", "decision": "reject", "texts": "on"}
    first = research_client.post(PAGE, asked, follow=True).redirect_chain[-1][0]
    assert research_client.post(PAGE, asked, follow=True).redirect_chain[-1][0] == first
    export = ExportFile.objects.get()
    assert AuditEntry.objects.filter(subject_kind="export file", subject_id=export.pk).count() == 1
    for other in ({"format": "csv"}, {"decision": "accept"}, {"texts": ""}):
        research_client.post(PAGE, {**asked, **other})
    assert ExportFile.objects.count() == 4
    other_person = Client()
    other_person.force_login(person("rick", Role.RESEARCHER))
    other_person.post(PAGE, asked)
    assert ExportFile.objects.count() == 5


@pytest.mark.parametrize(
    "changed",
    [{"state": "done"}, {"state": "failed"}, {"created_at": timezone.now() - timedelta(minutes=2)}],
)
def test_what_is_finished_or_older_is_not_asked_for_again_in_vain(
    research_client: Client, changed: dict[str, Any]
) -> None:
    asked = {"kind": "reviews", "format": "csv"}
    research_client.post(PAGE, asked)
    ExportFile.objects.update(**changed)
    research_client.post(PAGE, asked)
    assert ExportFile.objects.count() == 2


def test_a_cancelled_export_is_not_given_for_a_new_one(research_client: Client) -> None:
    asked = {"kind": "reviews", "format": "csv"}
    research_client.post(PAGE, asked)
    Run.objects.update(state=Run.State.CANCELLED)
    research_client.post(PAGE, asked)
    assert ExportFile.objects.count() == 2


@pytest.mark.django_db(transaction=True)
def test_eight_clicks_at_once_make_one_export() -> None:
    rosa, start = person("rosa", Role.RESEARCHER), threading.Barrier(8)

    def click(_: int) -> int:
        start.wait()
        try:
            return start_export(kind="reviews", format="csv", filters={}, user=rosa).pk
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        made = set(pool.map(click, range(8)))
    assert made == {ExportFile.objects.get().pk}
    assert Run.objects.count() == 1


def test_a_filter_that_does_not_fit_is_said_at_its_field(research_client: Client) -> None:
    answer = research_client.post(PAGE, {"kind": "source_prompts", "format": "csv", "decision": "reject"})
    assert answer.status_code == 422
    assert "There is no such filter" in answer.text
    assert 'value="reject" selected' in answer.text
    assert not ExportFile.objects.exists()


def test_a_file_that_is_gone_is_said_to_be(research_client: Client) -> None:
    export = ExportFile.objects.create(
        kind="reviews", format="csv", state="done", options={"filters": {}, "texts": True}
    )
    assert "no longer on this machine" in research_client.get(reverse("export", args=[export.pk])).text
    assert research_client.get(reverse("export-file", args=[export.pk])).status_code == 404


def test_a_failure_is_shown_with_its_reason(research_client: Client) -> None:
    research_client.post(PAGE, {"kind": "reviews", "format": "csv"})
    ExportFile.objects.update(state="failed", error="OSError: No space left on device")
    for address in (PAGE, reverse("export", args=[ExportFile.objects.get().pk])):
        assert "No space left on device" in research_client.get(address).text


def test_only_researchers_export(annotator_client: Client) -> None:
    export = ExportFile.objects.create(
        kind="reviews", format="csv", state="done", options={"filters": {}, "texts": True}
    )
    path = export_path(export)
    path.parent.mkdir(parents=True)
    path.write_bytes(b"secret")
    for address in (PAGE, reverse("export", args=[export.pk]), reverse("export-file", args=[export.pk])):
        assert annotator_client.get(address).status_code == 403
    assert annotator_client.post(PAGE, {"kind": "reviews", "format": "csv"}).status_code == 403


def test_the_list_costs_the_same_however_long(
    research_client: Client, django_assert_max_num_queries: Any
) -> None:
    corpus()
    source_prompt()
    for format in ("csv", "jsonl"):
        for kind in ExportFile.Kind.values:
            research_client.post(PAGE, {"kind": kind, "format": format})
    assert ExportFile.objects.count() == 8
    with django_assert_max_num_queries(14):
        research_client.get(PAGE)
