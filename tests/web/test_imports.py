"""Imports as pages: upload, preview, choice of fields, progress and report; hostile files and wrong roles."""

from __future__ import annotations

import asyncio
import io
import json
import re
import zipfile
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from django.utils.html import escape

import curation.import_step  # noqa: F401 - registers the step
from curation.models import ImportFile, Reconstruction, ScreeningSample, SourcePrompt
from curation.services import begin_import, start_import
from llm.engine.worker import work_on_run
from llm.models import Run

pytestmark = pytest.mark.django_db(transaction=True)

CHOICES = {
    "text_field": "prompt",
    "length_policy": "paper",
    "near_duplicates": "report",
    "threshold": "0.8",
}


@pytest.fixture(autouse=True)
def media(settings: object, tmp_path: Path) -> Path:
    settings.MEDIA_ROOT = tmp_path / "media"  # type: ignore[attr-defined]
    return tmp_path / "media"


def lines(*rows: dict[str, object]) -> bytes:
    return b"".join(json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in rows)


ROWS = lines(
    {
        "id": 7,
        "prompt": "Write a letter to the mayor about the bridge.",
        "better": "Write a letter to a king.",
    },
    {"id": 8, "prompt": "Write a speech for the harvest festival.", "better": ""},
    {"id": 9, "text": "no prompt here"},
)


def upload(client: Client, content: bytes, name: str = "requests.jsonl", **fields: str) -> object:
    file = SimpleUploadedFile(name, content)
    return client.post(reverse("import-new"), {"file": file, "kind": "prompts", **fields})


def stored(media: Path) -> list[Path]:
    return [path for path in media.rglob("*") if path.is_file()]


def work() -> None:
    for run in Run.objects.filter(state="running"):
        asyncio.run(work_on_run(run.pk))


def test_from_the_upload_to_the_report(research_client: Client) -> None:
    answer = upload(research_client, ROWS, name="requests.jsonl")
    row = ImportFile.objects.get()
    assert answer["Location"] == reverse("import", args=[row.pk])  # type: ignore[index]
    assert (row.state, row.format, row.name, row.size) == ("draft", "jsonl", "requests", len(ROWS))
    page = research_client.get(reverse("import", args=[row.pk])).text
    assert "looks like the text" in page
    assert "Write a letter to the mayor about the bridge." in page
    assert not SourcePrompt.objects.exists()
    answer = research_client.post(
        reverse("import-start", args=[row.pk]), {**CHOICES, "reconstruction_field": "better"}
    )
    assert answer["Location"] == reverse("import", args=[row.pk])
    waiting = research_client.get(reverse("import", args=[row.pk])).text
    assert "every 2s" in waiting
    assert "No worker is on it yet" in waiting
    work()
    page = research_client.get(reverse("import", args=[row.pk])).text
    assert "every 2s" not in page
    assert "100%" in page
    assert escape("the line has no field 'prompt'; its fields: 'id', 'text'") in page
    row.refresh_from_db()
    assert (row.state, row.rows, row.bytes) == ("done", 3, len(ROWS))
    assert (row.report["added"], row.report["refused"], row.report["reconstructions"]) == (2, 1, 1)
    assert Reconstruction.objects.get().text == "Write a letter to a king."
    listed = research_client.get(reverse("imports")).text
    assert "requests.jsonl" in listed
    source = SourcePrompt.objects.all()[0].source
    assert reverse("import-new") in research_client.get(reverse("sources")).text
    assert "With a reconstruction" in research_client.get(reverse("source", args=[source.pk])).text


def test_the_preview_is_the_same_page_for_a_part_and_without_scripts(research_client: Client) -> None:
    upload(research_client, ROWS)
    row = ImportFile.objects.get()
    begin_import(import_file=row)
    part = research_client.get(
        reverse("import", args=[row.pk]), headers={"HX-Request": "true", "HX-Target": "live"}
    ).text
    assert part.lstrip().startswith('<div id="live"')
    assert "<html" not in part
    assert 'http-equiv="refresh"' in research_client.get(reverse("import", args=[row.pk])).text


@pytest.mark.parametrize(
    "name",
    [
        "<script>document.title='pwned'</script>.jsonl",
        "\u202egnp.jsonl",
        "../../etc/passwd",
        "..\\..\\boot.jsonl",
        "a" * 400 + ".jsonl",
        "写作 请求.jsonl",
        'x" onload="alert(1).jsonl',
        "{{ 7 }}{% url %}.jsonl",
    ],
)
def test_a_hostile_file_name_is_only_a_name(research_client: Client, media: Path, name: str) -> None:
    assert upload(research_client, ROWS, name=name).status_code == 302  # type: ignore[attr-defined]
    row = ImportFile.objects.get()
    assert len(row.file_name) <= 300
    assert not re.search(r"[/\\\x00-\x1f]", row.file_name)
    (file,) = stored(media)
    assert re.fullmatch(r"imports/[0-9a-f]{32}/upload", str(file.relative_to(media)))
    for address in (reverse("imports"), reverse("import", args=[row.pk])):
        page = research_client.get(address).text
        assert f'<bdi class="import-name">{escape(row.file_name)}</bdi>' in page
        assert "<script>document" not in page
        assert page.count("</main>") == 1


def test_hostile_rows_and_columns_are_shown_as_text(research_client: Client) -> None:
    hostile = "</textarea><script>document.title='pwned'</script><style>body{display:none}</style>"
    upload(research_client, lines({hostile: hostile, "prompt": hostile + "\0"}))
    page = research_client.get(reverse("import", args=[ImportFile.objects.get().pk])).text
    assert "<script>document" not in page
    assert "<style>body" not in page
    assert escape(hostile)[:60] in page


@pytest.mark.parametrize(
    ("name", "content", "answer"),
    [
        ("a.jsonl", b"", "empty"),
        ("a.jsonl", b"\n\n", "The file is empty"),
        ("a.csv", b"\x89PNG\r\n\x1a\n\0\0", "The file is named .csv but is a PNG image."),
        ("a.parquet", b"prompt\nWrite.\n", "The file is named .parquet but is text."),
        ("a.parquet", b"PAR1" + b"\0" * 100, "not a whole Parquet file"),
        ("a.zip", b"PK\x03\x04" + b"\0" * 100, "The archive is damaged"),
        ("a.csv", "prompt\nWrite.\n".encode("utf-16"), "UTF-16"),
        ("a.json", b'[{"prompt": "a"}]', "one JSON list"),
        ("a.jsonl", b"<!doctype html><html>", "a web page"),
        ("a", b"%PDF-1.7", "a PDF document"),
    ],
)
def test_a_file_that_cannot_be_imported_is_answered_and_leaves_nothing(
    research_client: Client, media: Path, name: str, content: bytes, answer: str
) -> None:
    page = upload(research_client, content, name=name)
    assert page.status_code == 422  # type: ignore[attr-defined]
    assert escape(answer) in page.text  # type: ignore[attr-defined]
    assert not ImportFile.objects.exists()
    assert stored(media) == []


def test_a_zip_without_a_dataset_leaves_nothing(research_client: Client, media: Path) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("notes.txt", "hello")
    page = upload(research_client, packed.getvalue(), name="a.zip")
    assert "holds no saved dataset" in page.text  # type: ignore[attr-defined]
    assert stored(media) == []


def test_a_wrong_name_is_said_and_the_content_counts(research_client: Client) -> None:
    upload(research_client, ROWS, name="requests.csv")
    row = ImportFile.objects.get()
    assert row.format == "jsonl"
    page = research_client.get(reverse("import", args=[row.pk])).text
    assert "The name says CSV; it is read as what it holds, JSON lines." in page


def test_a_choice_that_is_none_is_refused_and_nothing_begins(research_client: Client) -> None:
    upload(research_client, ROWS)
    row = ImportFile.objects.get()
    for wrong in (
        {"text_field": "nothing"},
        {"id_field": "prompt"},
        {"threshold": "0.2"},
        {"threshold": "nan"},
        {"length_policy": "words"},
        {"near_duplicates": ""},
    ):
        answer = research_client.post(reverse("import-start", args=[row.pk]), CHOICES | wrong)
        assert answer.status_code == 422, wrong
        assert 'class="problem"' in answer.text
    row.refresh_from_db()
    assert row.state == "draft"
    assert not Run.objects.exists()


def test_an_import_is_begun_once(research_client: Client) -> None:
    upload(research_client, ROWS)
    row = ImportFile.objects.get()
    for _ in range(2):
        research_client.post(reverse("import-start", args=[row.pk]), CHOICES)
    assert Run.objects.count() == 1
    page = research_client.get(reverse("import", args=[row.pk])).text
    assert "This import is at work already." in page
    research_client.post(reverse("import-discard", args=[row.pk]))
    assert ImportFile.objects.count() == 1


def test_a_draft_can_be_discarded_with_its_file(research_client: Client, media: Path) -> None:
    upload(research_client, ROWS)
    answer = research_client.post(reverse("import-discard", args=[ImportFile.objects.get().pk]), follow=True)
    assert "was not imported, and its file is deleted" in answer.text
    assert not ImportFile.objects.exists()
    assert list((media / "imports").iterdir()) == []


def test_a_file_that_is_gone_fails_with_its_reason_and_can_be_tried_again(
    research_client: Client, media: Path
) -> None:
    row = start_import(chunks=[ROWS], file_name="requests.jsonl", name="requests")
    (file,) = stored(media)
    hidden = file.rename(media / "hidden")
    work()
    address = reverse("import", args=[row.pk])
    page = research_client.get(address).text
    assert "The file is no longer on this machine" in page
    assert "Try again" in page
    hidden.rename(file)
    research_client.post(reverse("import-start", args=[row.pk]))
    work()
    row.refresh_from_db()
    assert (row.state, row.error, row.report["added"]) == ("done", "", 2)


def test_a_benchmark_is_uploaded_too(research_client: Client) -> None:
    content = lines(
        {"index": 1, "domain1": "Finance", "query": "Write a report.", "checklist": []},
        {"index": 2, "domain1": "Law", "query": "Write a contract.", "checklist": []},
    )
    upload(research_client, content, name="benchmark_all.jsonl", kind="samples")
    row = ImportFile.objects.get()
    assert (row.kind, row.name) == ("samples", "WritingBench")
    assert "the shape of WritingBench" in research_client.get(reverse("import", args=[row.pk])).text
    research_client.post(reverse("import-start", args=[row.pk]))
    work()
    assert set(ScreeningSample.objects.values_list("benchmark", "external_id")) == {
        ("WritingBench", "1"),
        ("WritingBench", "2"),
    }
    assert "new or changed" in research_client.get(reverse("import", args=[row.pk])).text
    page = upload(research_client, ROWS, kind="samples")
    assert "not a benchmark" in page.text  # type: ignore[attr-defined]


def test_only_researchers_import(annotator_client: Client, client: Client) -> None:
    row = start_import(chunks=[ROWS], file_name="a.jsonl", name="a")
    places = [reverse("imports"), reverse("import-new")]
    places += [reverse(name, args=[row.pk]) for name in ("import", "import-start", "import-discard")]
    for place in places:
        for method in ("get", "post"):
            assert getattr(annotator_client, method)(place).status_code == 403, place
            assert getattr(client, method)(place).status_code == 302, place


def test_a_form_without_its_token_imports_nothing(research_client: Client, researcher: object) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(researcher)  # type: ignore[arg-type]
    assert upload(strict, ROWS).status_code == 403  # type: ignore[attr-defined]
    assert not ImportFile.objects.exists()
    page = strict.get(reverse("import-new"))
    fields = {"csrfmiddlewaretoken": str(page.context["csrf_token"])}
    assert upload(strict, ROWS, **fields).status_code == 302  # type: ignore[attr-defined]
    row = ImportFile.objects.get()
    for name in ("import-start", "import-discard"):
        assert strict.post(reverse(name, args=[row.pk]), CHOICES).status_code == 403
    row.refresh_from_db()
    assert row.state == "draft"
