"""The page of exports: asked for, followed while a worker writes, downloaded."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from curation.export_files import export_path
from curation.models import ExportFile
from llm.engine.worker import work_on_run
from tests.samples import corpus, reconstruction, review, source_prompt

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
    for _ in range(5):
        research_client.post(PAGE, {"kind": "reviews", "format": "csv"})
    with django_assert_max_num_queries(14):
        research_client.get(PAGE)
