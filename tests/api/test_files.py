"""Files through the API: an export that is imported again gives the same bytes of text."""

from __future__ import annotations

import asyncio
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from rest_framework.test import APIClient

from curation.api import imports
from curation.models import ExportFile, ImportFile, Reconstruction, SourcePrompt
from llm.engine.worker import work_on_run
from tests.api.conftest import ROOT, send
from tests.curation.test_exporting import TEXTS
from tests.samples import reconstruction, review, source_prompt

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("media")]


def finish(run: int) -> None:
    asyncio.run(work_on_run(run))


def upload(client: APIClient, content: bytes, file_name: str, **fields: str) -> Any:
    file = SimpleUploadedFile(file_name, content)
    return client.post(f"{ROOT}imports/", {"file": file, **fields}, format="multipart")


def exported(client: APIClient, **asked: Any) -> bytes:
    answer = send(client, "post", "exports/", asked)
    assert (answer.status_code, answer.json()["state"]) == (202, "waiting"), answer.json()
    assert answer.json()["download"] is None
    assert client.get(f"{ROOT}exports/{answer.json()['id']}/file/").status_code == 404
    finish(answer.json()["run"])
    done = send(client, "get", f"exports/{answer.json()['id']}/").json()
    assert done["state"] == "done"
    file = client.get(done["download"])
    content = b"".join(file.streaming_content)
    assert hashlib.sha256(content).hexdigest() == done["sha256"]
    assert file["Content-Disposition"].startswith("attachment; filename=")
    assert len(content) == done["bytes"]
    return content


@pytest.mark.parametrize("format", ["jsonl", "csv"])
def test_texts_come_back_with_the_same_bytes(as_rosa: APIClient, format: str) -> None:
    for text in TEXTS:
        source_prompt(text, external_id="an id")
    content = exported(as_rosa, kind="source_prompts", format=format)
    SourcePrompt.objects.all().delete()
    received = upload(as_rosa, content, f"prompts.{format}", name="again")
    assert (received.status_code, received.json()["state"]) == (201, "draft"), received.json()
    begun = send(as_rosa, "post", f"imports/{received.json()['id']}/start/", {})
    assert (begun.status_code, begun.json()["state"]) == (202, "waiting")
    finish(begun.json()["run"])
    done = send(as_rosa, "get", f"imports/{received.json()['id']}/").json()
    assert (done["state"], done["report"]["added"], done["report"]["refused"]) == ("done", len(TEXTS), 0)
    assert list(SourcePrompt.objects.order_by("pk").values_list("text", flat=True)) == list(TEXTS)
    assert set(SourcePrompt.objects.values_list("external_id", flat=True)) == {"an id"}
    again = send(as_rosa, "post", f"imports/{received.json()['id']}/start/", {})
    assert (again.status_code, again.json()["code"]) == (409, "begun_already")


@pytest.mark.parametrize("format", ["jsonl", "csv"])
def test_reconstructions_come_back_with_their_sources(as_rosa: APIClient, format: str) -> None:
    for text in TEXTS:
        reconstruction("accepted", f"{text} rewritten", of=source_prompt(text))
    content = exported(as_rosa, kind="reconstructions", format=format, filters={"state": "accepted"})
    Reconstruction.objects.all().delete()
    SourcePrompt.objects.all().delete()
    received = upload(as_rosa, content, f"pairs.{format}", name="again").json()
    assert received["options"]["reconstruction_field"] == "reconstruction"
    body = {"near_duplicates": "off"}
    finish(send(as_rosa, "post", f"imports/{received['id']}/start/", body).json()["run"])
    pairs = Reconstruction.objects.order_by("pk").values_list("source_prompt__text", "text")
    assert list(pairs) == [(text, f"{text} rewritten") for text in TEXTS]


def test_reviews_are_exported_without_texts_when_asked(as_rosa: APIClient, ann: Any) -> None:
    review(reconstruction("accepted"), ann)
    content = exported(as_rosa, kind="reviews", format="jsonl", texts=False, filters={"decision": "accept"})
    (row,) = map(json.loads, content.splitlines())
    assert row["reviewer"] == "ann"
    assert "prompt" not in row


@pytest.mark.parametrize(
    ("asked", "fields"),
    [
        ({}, {"kind", "format"}),
        ({"kind": "people", "format": "csv"}, {"kind"}),
        ({"kind": "reviews", "format": "xml"}, {"format"}),
        ({"kind": "reviews", "format": "csv", "filters": {"state": "accepted"}}, {"state"}),
        ({"kind": "reviews", "format": "csv", "filters": {"decision": "maybe"}}, {"decision"}),
        ({"kind": "reviews", "format": "csv", "filters": []}, {"filters"}),
    ],
)
def test_a_wrong_export_is_refused_before_it_starts(as_rosa: APIClient, asked: Any, fields: set[str]) -> None:
    answer = send(as_rosa, "post", "exports/", asked)
    assert (answer.status_code, set(answer.json()["errors"])) == (400, fields)
    assert not ExportFile.objects.exists()


def test_an_upload_that_cannot_be_imported_leaves_nothing_behind(as_rosa: APIClient, media: Path) -> None:
    for content, name in ((b"\x89PNG\r\n\x1a\n\0\0", "picture.png"), (b"", "nothing.jsonl")):
        answer = upload(as_rosa, content, name, name="x")
        assert answer.status_code == 415, answer.json()
        assert answer.json()["detail"]
    assert as_rosa.post(f"{ROOT}imports/", b"x", content_type="text/csv").status_code == 415
    assert set(as_rosa.post(f"{ROOT}imports/", {"name": "x"}, format="multipart").json()["errors"]) == {
        "file"
    }
    assert not ImportFile.objects.exists()
    assert not list(media.rglob("upload*"))


def test_an_upload_that_is_too_large_is_refused_before_it_is_read(
    as_rosa: APIClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(imports, "MAX_UPLOAD_BYTES", 1_000)
    answer = upload(as_rosa, b'{"prompt": "x"}\n' * 100, "large.jsonl", name="x")
    assert (answer.status_code, answer.json()["code"]) == (413, "too_large")


def test_a_draft_can_be_discarded(as_rosa: APIClient) -> None:
    received = upload(as_rosa, b'{"prompt": "x"}\n', "one.jsonl", name="x").json()
    assert send(as_rosa, "delete", f"imports/{received['id']}/").status_code == 204
    assert send(as_rosa, "get", f"imports/{received['id']}/").status_code == 404


def test_a_choice_of_fields_is_taken(as_rosa: APIClient) -> None:
    rows = b'{"prompt": "not this", "wish": "this one", "nr": 7}\n'
    received = upload(as_rosa, rows, "../../etc/wishes.jsonl").json()
    assert (received["name"], received["file_name"]) == ("wishes", "wishes.jsonl")
    wrong = send(as_rosa, "post", f"imports/{received['id']}/start/", {"near_duplicates": "maybe"})
    assert set(wrong.json()["errors"]) == {"near_duplicates"}
    body = {"text_field": "wish", "id_field": "nr", "near_duplicates": "off"}
    finish(send(as_rosa, "post", f"imports/{received['id']}/start/", body).json()["run"])
    prompt = SourcePrompt.objects.get()
    assert (prompt.text, prompt.external_id, prompt.source.name) == ("this one", "7", "wishes")
