"""From a snapshot's file to the folder that an engine reads, and what is refused on the way."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from curation.tokenizer import qwen3_encoder
from rubrics.rubric import Rubric
from tests.samples import candidate, corpus_prompt, dimensions, rubric
from training.corpora import json_line, plain_sft_row, rl_row, sft_row
from training.job_data import PreflightError, corpus_for, tokens_of, write_job_data
from training.models import CorpusSnapshot
from training.recipes.catalogue import RECIPES, with_changes
from training.snapshots import write_snapshot

RUBRIC = Rubric.from_json(dimensions(("Voice", "Structure", "Facts")))
SFT, GSPO = RECIPES["writer-sft-4b"], RECIPES["writer-gspo-4b"]


def count(text: str) -> int:
    return len(qwen3_encoder().encode(text))


def file_of(folder: Path, rows: list[dict[str, Any]]) -> Path:
    path = folder / "rows.jsonl"
    path.write_bytes(b"".join(map(json_line, rows)))
    return path


def demonstrations(number: int) -> list[dict[str, Any]]:
    return [sft_row(n, f"A letter, number {n}.", RUBRIC, f"Dear {n},\u2028\r\nyours.") for n in range(number)]


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().split(b"\n")[:-1]]


def test_rows_go_to_two_files_unchanged_and_by_a_seed(tmp_path: Path) -> None:
    rows = demonstrations(250)
    source = file_of(tmp_path, rows)
    written = write_job_data(source, tmp_path / "one", SFT, count)
    assert (written.train, written.valid) == (247, 3)
    train, valid = lines(tmp_path / "one" / "train.jsonl"), lines(tmp_path / "one" / "valid.jsonl")
    assert sorted((*train, *valid), key=lambda row: row["id"]) == rows
    write_job_data(source, tmp_path / "two", SFT, count)
    for name in ("train.jsonl", "valid.jsonl", "dataset_info.json"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    write_job_data(source, tmp_path / "three", with_changes(SFT, {"seed": "7"}), count)
    assert lines(tmp_path / "three" / "valid.jsonl") != valid
    with pytest.raises(FileExistsError):
        write_job_data(source, tmp_path / "one", SFT, count)


def test_llama_factory_gets_its_description_and_swift_none(tmp_path: Path) -> None:
    write_job_data(file_of(tmp_path, demonstrations(3)), tmp_path / "sft", SFT, count)
    described = json.loads((tmp_path / "sft" / "dataset_info.json").read_text())
    assert set(described) == {"train", "valid"}
    assert described["train"]["file_name"] == "train.jsonl"
    assert described["train"]["columns"] == {"messages": "messages"}
    rows = [rl_row(n, f"Letter {n}", RUBRIC) for n in range(3)]
    write_job_data(file_of(tmp_path, rows), tmp_path / "rl", GSPO, count)
    assert not (tmp_path / "rl" / "dataset_info.json").exists()
    kept = [*lines(tmp_path / "rl" / "train.jsonl"), *lines(tmp_path / "rl" / "valid.jsonl")]
    assert sorted(kept, key=lambda row: row["id"]) == rows


def test_what_is_longer_than_the_cutoff_is_refused_with_a_list(tmp_path: Path) -> None:
    rows = demonstrations(4)
    size = tokens_of(rows[0], SFT.template, count)
    fits = with_changes(SFT, {"cutoff": str(size)})
    assert write_job_data(file_of(tmp_path, rows), tmp_path / "fits", fits, count).train == 3
    rows[2] = sft_row(2, "A letter, number 2.", RUBRIC, "Dear all, yours. And more. " * 9)
    rows.append({**rows[0], "id": 9})
    with pytest.raises(PreflightError) as refused:
        write_job_data(file_of(tmp_path, rows), tmp_path / "long", fits, count)
    assert f"row 2: {tokens_of(rows[2], SFT.template, count)} tokens, more than" in str(refused.value)
    assert "row 9: the same as row 0" in str(refused.value)
    assert "2 of 5 rows" in str(refused.value)
    assert not (tmp_path / "long").exists()
    with pytest.raises(PreflightError, match="has 0 rows"):
        write_job_data(file_of(tmp_path, []), tmp_path / "none", SFT, count)


def test_a_turn_counts_its_markers_as_one_token_each() -> None:
    row = plain_sft_row(1, "Hello", "Good day")
    assert tokens_of(row, "qwen3_nothink", len) == (3 + len("user\nHello")) + (3 + len("assistant\nGood day"))
    asked = {"id": 1, "messages": row["messages"][:1]}
    assert tokens_of(asked, "qwen3_nothink", len) == 3 + len("user\nHello") + 1 + len("assistant\n")


@pytest.mark.parametrize(
    ("name", "corpus"),
    [
        ("writer-sft-8b", "sft"),
        ("writer-sft-8b-drg", "sft"),
        ("writer-sft-8b-no-rubric", "sft_no_rubric"),
        ("writer-gspo-4b", "rl"),
        ("rubricgen-sft-4b", "rubricgen"),
    ],
)
def test_each_recipe_has_its_corpus(name: str, corpus: str) -> None:
    assert corpus_for(RECIPES[name]) == corpus


@pytest.mark.django_db
def test_the_command_writes_a_job_from_a_snapshot(tmp_path: Path, settings: Any) -> None:
    settings.MEDIA_ROOT = tmp_path / "media"
    for number in range(3):
        of = rubric(corpus_prompt(f"Write letter {number}."))
        candidate(of, 0, f"Dear {number}.", value=0.8, demonstration=True)
    snapshot = CorpusSnapshot.objects.create(name="first", parameters={"seed": 0, "sft_share": "1"})
    snapshot.manifest, snapshot.state = write_snapshot(snapshot), "done"
    snapshot.save()
    out = StringIO()
    for name, request in (("writer-sft-4b", "Write letter"), ("writer-sft-4b-no-rubric", "Write letter")):
        folder = tmp_path / name
        call_command("recipe", name, "--snapshot", "first", "--output", str(folder), stdout=out)
        (row, *_) = lines(folder / "data" / "train.jsonl")
        assert row["messages"][0]["content"].startswith(request)
        assert ("criteria_description" in row["messages"][0]["content"]) is (name == "writer-sft-4b")
    assert "2 rows to train on and 1 to evaluate on" in out.getvalue()
    for wrong, said in (
        (["writer-sft-4b", "--snapshot", "second"], "no finished corpus 'second'"),
        (["writer-sft-4b-drg", "--snapshot", "first"], "trains on drg rubrics, first has irg"),
        (["writer-gspo-4b", "--snapshot", "first"], "rl.jsonl has 0 rows"),
    ):
        with pytest.raises(CommandError, match=said):
            call_command("recipe", *wrong, "--output", str(tmp_path / "wrong"), stdout=StringIO())
