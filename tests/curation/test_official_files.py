"""The benchmarks' official files are taken as they are: on small files of their form, with our texts."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from curation.models import Reconstruction, ScreeningSample
from curation.services import begin_import, receive_import, run_import
from tests.samples import reconstruction

OFFICIAL = Path(__file__).parent.parent / "fixtures" / "official"
WRITINGBENCH = OFFICIAL / "writingbench.jsonl"
HELLOBENCH = sorted(OFFICIAL.glob("hellobench_*.jsonl"))


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").rstrip("\n").split("\n")]


@pytest.mark.django_db
def test_the_commands_need_no_further_word(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("import_benchmark", str(WRITINGBENCH))
    call_command("import_benchmark", *map(str, HELLOBENCH))
    out = capsys.readouterr().out
    assert "writingbench.jsonl: 3 samples of WritingBench, text in 'query', id in 'index'" in out
    assert "hellobench_chat.jsonl: 2 samples of HelloBench, text in 'instruction', id in 'id'" in out
    assert "HelloBench: 3 samples, 3 new or changed" in out
    stored = {(each.benchmark, each.external_id): each.text for each in ScreeningSample.objects.all()}
    expected = {("WritingBench", str(row["index"])): row["query"] for row in rows(WRITINGBENCH)}
    for path in HELLOBENCH:
        expected |= {("HelloBench", row["id"]): row["instruction"] for row in rows(path)}
    assert stored == expected


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("path", "benchmark", "count"),
    [(WRITINGBENCH, "WritingBench", 3), (HELLOBENCH[0], "HelloBench", 2)],
)
def test_an_upload_needs_no_further_word(
    path: Path, benchmark: str, count: int, settings: Any, tmp_path: Path
) -> None:
    settings.MEDIA_ROOT = tmp_path
    received = receive_import(
        chunks=[path.read_bytes()], file_name=path.name, name="", kind="samples", user=None
    )
    assert received.name == benchmark
    begin_import(import_file=received, options=None, user=None)
    run_import(import_file=received)
    assert ScreeningSample.objects.filter(benchmark=benchmark).count() == count


@pytest.mark.django_db(transaction=True)
def test_a_candidate_that_repeats_one_is_discarded() -> None:
    call_command("import_benchmark", str(WRITINGBENCH))
    copied = reconstruction("rewritten", f"Here it is again: {rows(WRITINGBENCH)[1]['query']}", "zh")
    other = reconstruction("rewritten", "Plan a picnic for the choir.")
    call_command("filter", here=True)
    states = dict(Reconstruction.objects.values_list("pk", "state"))
    assert states == {copied.pk: "contaminated", other.pk: "in_review"}


def test_the_files_have_the_official_form() -> None:
    folder = os.environ.get("BENCHMARK_DATA")
    if not folder:
        pytest.skip("BENCHMARK_DATA does not name a folder with the public benchmarks")
    pairs = [(WRITINGBENCH, "writingbench/length_subset.jsonl")]
    pairs += [(path, f"hellobench/{path.name.removeprefix('hellobench_')}") for path in HELLOBENCH]
    for path, name in pairs:
        official = rows(Path(folder) / name)
        texts = {row.get("query") or row.get("instruction") for row in official}
        for row in rows(path):
            assert list(row) == list(official[0])
            types = {key: {type(one[key]) for one in official} for key in row}
            assert all(type(value) in types[key] for key, value in row.items())
            assert (row.get("query") or row.get("instruction")) not in texts
