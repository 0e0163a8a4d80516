"""An import is a job: killed at any point and started again it ends with every prompt in once."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

import curation.import_step  # noqa: F401 - registers the step
from curation.models import ImportFile, Reconstruction, Source, SourcePrompt
from curation.services import (
    ImportHeldError,
    ImportOptions,
    ImportStateError,
    begin_import,
    discard_import,
    files,
    receive_import,
    run_import,
    start_import,
)
from llm.engine.worker import work_on_run
from llm.models import Run, RunItem
from llm.services import cancel_run, continue_run, pause_run
from tests.worker.conftest import database_url

pytestmark = pytest.mark.django_db(transaction=True)

COUNT = 2_300
CONTENT = b"".join(
    json.dumps({"id": n, "prompt": f"Write story number {n}.", "better": f"Tell tale {n}."}).encode() + b"\n"
    for n in range(COUNT)
)
OPTIONS = ImportOptions(text_field="prompt", id_field="id", reconstruction_field="better")


@pytest.fixture(autouse=True)
def media(settings: object, tmp_path: Path) -> Path:
    settings.MEDIA_ROOT = tmp_path / "media"  # type: ignore[attr-defined]
    return tmp_path / "media"


def start() -> ImportFile:
    return start_import(chunks=[CONTENT], file_name="a.jsonl", name="a", options=OPTIONS)


def work(row: ImportFile) -> None:
    row.refresh_from_db()
    assert row.run_id is not None
    asyncio.run(work_on_run(row.run_id))
    row.refresh_from_db()


def all_in_once(row: ImportFile) -> None:
    assert (row.state, row.error) == ("done", "")
    assert (row.report["read"], row.report["added"], row.report["duplicates"]) == (COUNT, COUNT, 0)
    assert row.report["reconstructions"] == COUNT
    assert SourcePrompt.objects.count() == Reconstruction.objects.count() == COUNT
    assert SourcePrompt.objects.values("line").distinct().count() == COUNT
    assert Source.objects.get().report["added"] == COUNT


def test_a_run_does_it_and_starts_the_indexing() -> None:
    row = start()
    assert (row.state, row.rows) == ("waiting", 0)
    work(row)
    all_in_once(row)
    assert (row.rows, row.bytes) == (COUNT, len(CONTENT))
    assert row.finished_at is not None
    assert Run.objects.exclude(pk=row.run_id).exists(), "the new texts are to be indexed"
    reconstruction = Reconstruction.objects.order_by("pk")[0]
    assert (reconstruction.state, reconstruction.strategy) == ("rewritten", "length_aware")
    assert (reconstruction.index, reconstruction.imported, reconstruction.segments) == (0, True, 3)


def test_broken_off_half_way_it_goes_on_where_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    row = start()
    stop_after(monkeypatch, batches=1)
    with pytest.raises(RuntimeError, match="power cut"):
        run_import(import_file=row)
    assert 0 < SourcePrompt.objects.count() < COUNT
    monkeypatch.undo()
    work(row)
    all_in_once(row)


def stop_after(monkeypatch: pytest.MonkeyPatch, batches: int) -> None:
    """Cuts the power inside the transaction of the batch after these."""
    real = files._say_how_far
    seen = []

    def cut(*arguments: object) -> None:
        seen.append(arguments)
        if len(seen) > batches:
            raise RuntimeError("power cut")
        real(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(files, "_say_how_far", cut)


KILLED = """
import os, sys, django
django.setup()
import curation.services.importing as importing
from curation.models import ImportFile
from curation.services import run_import
importing.BATCH = 50
run_import(import_file=ImportFile.objects.get(pk=int(sys.argv[1])))
"""


def test_killed_with_kill_9_and_started_again(media: Path, tmp_path: Path) -> None:
    row = start()
    environment = {
        **os.environ,
        "DATABASE_URL": database_url(),
        "WORKBENCH_STATE": str(media.parent),
        "DJANGO_SETTINGS_MODULE": "config.settings",
    }
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen([sys.executable, "-c", KILLED, str(row.pk)], env=environment, stderr=log)
    deadline = time.monotonic() + 90
    while SourcePrompt.objects.count() < 100 and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert SourcePrompt.objects.count() >= 100, (tmp_path / "log").read_text()
    assert SourcePrompt.objects.count() == Reconstruction.objects.count(), "a batch goes in whole"
    work(row)
    all_in_once(row)


def test_done_twice_it_adds_nothing_twice() -> None:
    row = start()
    work(row)
    Run.objects.filter(pk=row.run_id).update(state=Run.State.RUNNING)
    report = run_import(import_file=row)
    assert (report["added"], report["duplicates"]) == (COUNT, 0), "they are its own"
    assert SourcePrompt.objects.count() == Reconstruction.objects.count() == COUNT
    again = start()
    work(again)
    assert (again.report["added"], again.report["duplicates"]) == (0, COUNT)
    assert again.report["duplicate_lines"][0]["reason"] == (
        "already imported (source a); its reconstruction was left out"
    )


def test_several_at_the_same_prompts_at_once_add_each_once() -> None:
    reverse = b"".join(reversed(CONTENT.splitlines(keepends=True)))
    rows = [
        start_import(chunks=[content], file_name="a.jsonl", name=name, options=OPTIONS)
        for name, content in (("a", CONTENT), ("b", reverse), ("c", CONTENT))
    ]

    def do(row: ImportFile) -> Mapping[str, Any]:
        try:
            return run_import(import_file=row)
        finally:
            connection.close()

    with ThreadPoolExecutor(3) as pool:
        reports = list(pool.map(do, rows))
    assert SourcePrompt.objects.count() == Reconstruction.objects.count() == COUNT
    assert sum(report["added"] for report in reports) == COUNT
    assert all(report["added"] + report["duplicates"] == COUNT for report in reports)


def test_paused_it_stops_between_two_batches_and_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    row = start()
    assert row.run_id is not None
    pause_run(run_id=row.run_id)
    with pytest.raises(ImportHeldError):
        run_import(import_file=ImportFile.objects.get(pk=row.pk))
    assert not SourcePrompt.objects.exists()
    continue_run(run_id=row.run_id)
    real = files._say_how_far

    def pause(*arguments: object) -> None:
        real(*arguments)  # type: ignore[arg-type]
        pause_run(run_id=row.run_id)  # type: ignore[arg-type]

    monkeypatch.setattr(files, "_say_how_far", pause)
    work(row)
    assert 0 < SourcePrompt.objects.count() < COUNT
    item = RunItem.objects.get(run=row.run_id)
    assert (row.state, item.state) == ("waiting", "pending")
    monkeypatch.undo()
    continue_run(run_id=row.run_id)
    work(row)
    all_in_once(row)


def test_cancelled_it_can_be_begun_again() -> None:
    row = start()
    assert row.run_id is not None
    with pytest.raises(ImportStateError, match="at work"):
        begin_import(import_file=row)
    cancel_run(run_id=row.run_id)
    begin_import(import_file=row)
    work(row)
    all_in_once(row)
    with pytest.raises(ImportStateError, match="done"):
        begin_import(import_file=row)
    with pytest.raises(ImportStateError, match="discarded"):
        discard_import(import_file=row)


def test_a_file_that_turns_out_damaged_fails_and_keeps_what_was_before_it(media: Path) -> None:
    import pyarrow as pa  # type: ignore[import-untyped]
    import pyarrow.parquet as pq  # type: ignore[import-untyped]

    path = media.parent / "a.parquet"
    texts = [f"Write story number {n}, {os.urandom(40).hex()}." for n in range(6_000)]
    pq.write_table(pa.table({"prompt": texts}), path, row_group_size=1_000, compression="zstd")
    content = bytearray(path.read_bytes())
    middle = len(content) * 2 // 3
    content[middle : middle + 20_000] = os.urandom(20_000)
    row = start_import(chunks=[bytes(content)], file_name="a.parquet", name="a")
    work(row)
    assert row.state == "failed"
    assert row.error.startswith("The file is damaged after row ")
    assert 0 < SourcePrompt.objects.count() < 6_000
    assert RunItem.objects.get(run=row.run_id).error_kind == "file"


def test_near_duplicates_are_reported_or_excluded_or_left_alone() -> None:
    first = "Write a letter to the mayor about the old bridge and why it has to stay where it is now"
    content = b"".join(
        json.dumps({"prompt": text}).encode() + b"\n" for text in (first, first + ", please", "Write a poem.")
    )
    for choice, near, excluded in (("report", 1, 0), ("off", 0, 0), ("exclude", 1, 1)):
        SourcePrompt.objects.all().delete()
        options = ImportOptions.from_json({"text_field": "prompt", "near_duplicates": choice})
        row = start_import(chunks=[content], file_name="a.jsonl", name="a", options=options)
        work(row)
        assert (row.report["added"], row.report["near"]) == (3, near), choice
        assert SourcePrompt.objects.filter(duplicate_of__isnull=False).count() == near
        assert SourcePrompt.objects.exclude(excluded_because="").count() == excluded
        assert [entry["line"] for entry in row.report["near_lines"]] == [2][:near]


def test_a_draft_knows_its_likely_fields_and_nothing_is_left_of_a_bad_file(media: Path) -> None:
    row = receive_import(chunks=[CONTENT], file_name="/x/y/a.jsonl", name="")
    assert (row.state, row.name, row.file_name) == ("draft", "a", "a.jsonl")
    assert row.options["text_field"] == "prompt"
    discard_import(import_file=row)
    assert not ImportFile.objects.exists()
    assert list((media / "imports").iterdir()) == []
