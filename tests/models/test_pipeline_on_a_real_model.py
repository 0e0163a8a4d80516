"""From real writing requests to exported corpora, on a real model."""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from curation.models import CorpusPrompt, Reconstruction, SourcePrompt
from llm.models import Completion, Run, RunItem
from rubrics.rubric import Rubric
from tests.models.conftest import ModelServer
from training.models import Candidate, CorpusSnapshot
from training.snapshots import snapshot_folder

pytestmark = [pytest.mark.models, pytest.mark.django_db(transaction=True)]

LIMIT = int(os.environ.get("TEST_MODELS_REQUESTS", "8"))
"""How many of the requests; 40 take about half an hour on two cores."""


@pytest.fixture
def requests_file(tmp_path: Path, settings: Any) -> Path:
    """The 120 requests of LongBench-Write."""
    folder = os.environ.get("BENCHMARK_DATA")
    if not folder:
        pytest.skip("BENCHMARK_DATA names no folder with longbench_write/longbench_write.jsonl")
    settings.MEDIA_ROOT = tmp_path / "media"
    copy = tmp_path / "longbench_write.jsonl"
    shutil.copy(Path(folder) / "longbench_write" / "longbench_write.jsonl", copy)
    return copy


def test_real_requests_end_in_corpora_and_none_is_lost(
    model_server: ModelServer, requests_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model_server.endpoint()
    length_subset = Path(os.environ["BENCHMARK_DATA"]) / "writingbench" / "length_subset.jsonl"
    call_command(
        "import_benchmark",
        str(length_subset),
        "--name",
        "WritingBench",
        "--field",
        "query",
        "--id-field",
        "index",
    )
    call_command(
        *("pipeline", str(requests_file), "--field", "prompt", "--endpoint", "real", "--here"),
        *("--limit", str(LIMIT), "--review-automatically", "--leave-for-people", "1", "--name", "longbench"),
    )
    states = Counter(Reconstruction.objects.values_list("state", flat=True))
    assert SourcePrompt.objects.count() == 120
    assert sum(states.values()) == LIMIT
    assert states["planned"] == states["rewritten"] == 0
    undecided = Reconstruction.objects.exclude(state__in=["accepted", "in_review"])
    assert not undecided.filter(state_reason="").exists()
    assert states["in_review"] == 1

    corpus = CorpusPrompt.objects.all()
    excluded = corpus.exclude(excluded_because="")
    snapshot = CorpusSnapshot.objects.get()
    manifest = snapshot.manifest
    assert corpus.count() == states["accepted"]
    assert manifest["rows"]["rubricgen"] == corpus.count() - excluded.count()
    left_out_of_sft = sum(n for reason, n in manifest["left_out"].items() if reason.startswith("sft: "))
    assert manifest["rows"]["sft"] + manifest["rows"]["rl"] + left_out_of_sft == manifest["rows"]["rubricgen"]
    assert manifest["rows"]["sft"] > 0
    assert manifest["rows"]["rl"] > 0 or manifest["rows"]["rubricgen"] < 3
    assert RunItem.objects.filter(state__in=["pending", "leased"]).count() == 0
    assert set(Run.objects.values_list("state", flat=True)) == {Run.State.DONE}

    with (snapshot_folder(snapshot) / "sft.jsonl").open(encoding="utf-8") as file:
        for line in file:
            user, assistant = json.loads(line)["messages"]
            rubric_text = user["content"][user["content"].rindex("\n\n[") :]
            assert len(Rubric.from_json(rubric_text.strip()).dimensions) >= 3
            assert assistant["content"].strip()
    fallbacks = Candidate.objects.filter(assessment__fallback=True).count()
    with capsys.disabled():
        tokens = sum(Completion.objects.values_list("completion_tokens", flat=True))
        print(
            f"\n{LIMIT} requests: {dict(states)}; corpus {corpus.count()}, excluded {excluded.count()}; "
            f"rows {manifest['rows']}; {Completion.objects.count()} calls, {tokens} tokens written; "
            f"{fallbacks} assessments fell back"
        )
