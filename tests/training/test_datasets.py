"""A snapshot as Parquet with a card: the same rows, and a header that loaders read."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest
import yaml
from django.core.management import CommandError, call_command

from tests.samples import candidate, corpus_prompt, rubric
from training.datasets import SHAPES, write_dataset
from training.models import CorpusSnapshot
from training.snapshots import CORPORA, snapshot_folder, write_snapshot

pytestmark = pytest.mark.django_db
TRICKY = "Dear 2,\r\n\u2028\x85 亲爱的 👩‍🚀\u00a0—\tyours."


@pytest.fixture
def snapshot(tmp_path: Path, settings: Any) -> CorpusSnapshot:
    settings.MEDIA_ROOT = tmp_path / "media"
    for number in range(6):
        of = rubric(corpus_prompt(f"Write letter {number}. {TRICKY}"))
        candidate(of, 0, f"{number}: {TRICKY}", value=0.8, demonstration=True)
    made = CorpusSnapshot.objects.create(
        name="first: a\nname", parameters={"seed": 0, "sft_share": "1/2"}, state="done"
    )
    made.manifest = write_snapshot(made)
    made.save()
    return made


def test_the_rows_are_the_same_in_every_corpus(snapshot: CorpusSnapshot, tmp_path: Path) -> None:
    counts = write_dataset(snapshot_folder(snapshot), tmp_path / "set")
    assert counts == {"sft": 3, "sft_no_rubric": 3, "rl": 3, "rubricgen": 6}
    assert tuple(SHAPES) == CORPORA
    for name in counts:
        lines = (snapshot_folder(snapshot) / f"{name}.jsonl").read_bytes().split(b"\n")[:-1]
        assert pq.read_table(tmp_path / "set" / name / "train.parquet").to_pylist() == [
            json.loads(line) for line in lines
        ]
    assert json.loads((tmp_path / "set" / "manifest.json").read_text()) == snapshot.manifest


def test_the_card_says_where_each_corpus_is(snapshot: CorpusSnapshot, tmp_path: Path) -> None:
    write_dataset(snapshot_folder(snapshot), tmp_path / "set")
    _, header, body = (tmp_path / "set" / "README.md").read_text(encoding="utf-8").split("---\n", 2)
    configs = yaml.safe_load(header)["configs"]
    assert [each["config_name"] for each in configs] == list(CORPORA)
    assert [each.get("default", False) for each in configs] == [True, False, False, False]
    for each in configs:
        (file,) = each["data_files"]
        assert (tmp_path / "set" / file["path"]).is_file()
    assert body.lstrip().startswith("# first: a name\n")
    assert "- `rubricgen`: 6 rows" in body


def test_nothing_half_written_and_nothing_overwritten(snapshot: CorpusSnapshot, tmp_path: Path) -> None:
    folder = snapshot_folder(snapshot)
    (tmp_path / "there").mkdir()
    with pytest.raises(FileExistsError):
        write_dataset(folder, tmp_path / "there")
    (folder / "rl.jsonl").write_text('{"id": "not a number"}\n')
    with pytest.raises(ValueError, match="int"):
        write_dataset(folder, tmp_path / "set")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["media", "there"]


def test_the_command_names_the_corpora_there_are(snapshot: CorpusSnapshot, tmp_path: Path) -> None:
    out = StringIO()
    call_command("dataset", snapshot.name, "--output", str(tmp_path / "set"), stdout=out)
    assert "sft: 3 rows" in out.getvalue()
    with pytest.raises(CommandError, match="no finished corpus 'other'"):
        call_command("dataset", "other", "--output", str(tmp_path / "other"))
    with pytest.raises(CommandError, match="there already"):
        call_command("dataset", snapshot.name, "--output", str(tmp_path / "set"))
