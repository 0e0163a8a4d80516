"""The commands that import: every format, the official benchmark files, and faults called by name."""

from __future__ import annotations

import csv
import json
import os
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from curation.models import Reconstruction, ScreeningSample, Source, SourcePrompt
from tests.curation.test_import_formats import AWKWARD, dataset, dataset_dict, parquet, zipped

pytestmark = pytest.mark.django_db

PROMPTS = {
    "key": ["a", "b"],
    "request": ["Write a letter to the mayor.", AWKWARD],
    "better": ["Write a letter to a king.", "Write a letter to a queen."],
}
CHOICE = ("--field", "request", "--id-field", "key", "--reconstruction-field", "better", "--name", "r")


def make(folder: Path, kind: str) -> Path:
    rows = [dict(zip(PROMPTS, values, strict=True)) for values in zip(*PROMPTS.values(), strict=True)]
    if kind == "parquet":
        return parquet(folder / "a.parquet", PROMPTS)
    if kind == "dataset":
        return dataset(folder / "d", PROMPTS)
    if kind == "zip":
        return zipped(folder / "d.zip", dataset_dict(folder / "d", train=PROMPTS), "d/")
    path = folder / f"a.{kind}"
    if kind == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    else:
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(PROMPTS))
            writer.writeheader()
            writer.writerows(rows)
    return path


@pytest.mark.parametrize("kind", ["jsonl", "csv", "parquet", "dataset", "zip"])
def test_every_format_gives_the_same_prompts(tmp_path: Path, kind: str) -> None:
    path = str(make(tmp_path, kind))
    call_command("import_prompts", path, *CHOICE)
    found = SourcePrompt.objects.order_by("line").values_list("external_id", "text")
    assert list(found) == list(zip(PROMPTS["key"], PROMPTS["request"], strict=True))
    assert list(Reconstruction.objects.order_by("pk").values_list("text", flat=True)) == PROMPTS["better"]
    assert Source.objects.get().name == "r"
    call_command("import_prompts", path, *CHOICE)
    assert SourcePrompt.objects.count() == Reconstruction.objects.count() == 2


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="cannot be read: No such file"):
        call_command("import_prompts", str(tmp_path / "gone.jsonl"))
    (tmp_path / "empty.csv").write_bytes(b"")
    with pytest.raises(CommandError, match=r"empty\.csv: The file is empty"):
        call_command("import_prompts", str(tmp_path / "empty.csv"))
    with pytest.raises(CommandError, match="no saved dataset"):
        call_command("import_prompts", str(tmp_path))
    with pytest.raises(CommandError, match="--threshold"):
        call_command("import_prompts", str(tmp_path), "--threshold", "7")
    assert not Source.objects.exists()


# Benchmarks


def lines(path: Path, *rows: dict[str, object]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def test_official_shapes_are_known(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    writing = lines(tmp_path / "w.jsonl", {"index": 1, "domain1": "x", "query": "Write.", "checklist": []})
    hello = lines(tmp_path / "chat.jsonl", {"id": "chat_001", "category": "x", "instruction": "Write."})
    more = lines(tmp_path / "qa.jsonl", {"id": "qa_001", "category": "x", "instruction": "Say."})
    call_command("import_benchmark", writing)
    out = capsys.readouterr().out
    assert "w.jsonl: 1 samples of WritingBench, text in 'query', id in 'index'" in out
    call_command("import_benchmark", hello, more)
    assert "HelloBench: 2 samples, 2 new or changed" in capsys.readouterr().out
    call_command("import_benchmark", hello, more)
    assert "HelloBench: 2 samples, 0 new or changed" in capsys.readouterr().out
    with pytest.raises(CommandError, match=r"chat\.jsonl is of HelloBench, not of WritingBench"):
        call_command("import_benchmark", writing, hello)
    assert ScreeningSample.objects.count() == 3


def test_other_shapes_are_described_by_options(tmp_path: Path) -> None:
    path = lines(tmp_path / "a.jsonl", {"id": 7, "prompt": "Write a poem."})
    with pytest.raises(CommandError, match=r"line 1: not a benchmark's samples; .* fields: 'id', 'prompt'"):
        call_command("import_benchmark", path)
    with pytest.raises(CommandError, match="give its name"):
        call_command("import_benchmark", path, "--field", "prompt")
    call_command("import_benchmark", path, "--field", "prompt", "--name", "Mine")
    assert list(ScreeningSample.objects.values_list("benchmark", "external_id")) == [("Mine", "7")]


@pytest.mark.parametrize(
    ("row", "answer"),
    [
        ({"id": 2}, "line 2: no field 'instruction'"),
        ({"id": 2, "instruction": " "}, "line 2: the field 'instruction' holds no text"),
        ({"id": 2, "instruction": None}, "line 2: the field 'instruction' holds no text"),
        ({"id": None, "instruction": "a"}, "line 2: the field 'id' is null, not an id"),
        ({"id": "x" * 201, "instruction": "a"}, "line 2: the field 'id' is too long"),
        ({"id": 1, "instruction": "b"}, "line 2: the id '1' is there twice with different texts"),
        ([], "line 2: the line is a list, not a JSON object"),
    ],
)
def test_no_sample_is_missed_unseen(tmp_path: Path, row: dict[str, object], answer: str) -> None:
    path = lines(tmp_path / "a.jsonl", {"id": 1, "instruction": "a"}, row)
    with pytest.raises(CommandError, match=answer):
        call_command("import_benchmark", path)
    assert not ScreeningSample.objects.exists()


def test_the_same_id_in_two_files(tmp_path: Path) -> None:
    one = lines(tmp_path / "a.jsonl", {"id": 1, "instruction": "a"})
    same = lines(tmp_path / "b.jsonl", {"id": 1, "instruction": "a"})
    other = lines(tmp_path / "c.jsonl", {"id": 1, "instruction": "c"})
    call_command("import_benchmark", one, same)
    assert ScreeningSample.objects.count() == 1
    with pytest.raises(CommandError, match=r"c\.jsonl: the id '1' has another text in an earlier file"):
        call_command("import_benchmark", one, other)


def test_real_benchmark_files(capsys: pytest.CaptureFixture[str]) -> None:
    folder = os.environ.get("BENCHMARK_DATA")
    if not folder:
        pytest.skip("BENCHMARK_DATA does not name a folder with the public benchmarks")
    call_command("import_benchmark", *map(str, sorted(Path(folder, "writingbench").glob("*.jsonl"))))
    call_command("import_benchmark", *map(str, sorted(Path(folder, "hellobench").glob("*.jsonl"))))
    out = capsys.readouterr().out
    assert "WritingBench: 222 samples, 222 new or changed" in out
    assert "HelloBench: 547 samples, 547 new or changed" in out
    for wrong in ("hellobench/weighted_scores.txt", "hellobench/checklists/chat_checklist.json"):
        with pytest.raises(CommandError, match="line 1"):
            call_command("import_benchmark", str(Path(folder, wrong)))
    prompts = Path(folder, "longbench_write/longbench_write.jsonl")
    call_command("import_prompts", str(prompts), "--name", "longbench")
    assert SourcePrompt.objects.count() == 120
