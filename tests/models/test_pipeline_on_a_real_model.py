"""From real writing requests to exported corpora, on a real model."""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from config.stack.paths import EXAMPLES
from curation.models import CorpusPrompt, Reconstruction, SourcePrompt
from llm.models import Completion, Run, RunItem
from rubrics.rubric import Rubric
from tests.models.conftest import ModelServer
from training.models import Candidate, CorpusSnapshot
from training.snapshots import snapshot_folder

pytestmark = [pytest.mark.models, pytest.mark.django_db(transaction=True)]

LIMIT = int(os.environ.get("TEST_MODELS_REQUESTS", "8"))
"""How many of the requests; 40 take about half an hour on two cores."""


@dataclass(frozen=True)
class Inputs:
    """A file of requests and one of held-out samples, with the fields that hold text and id."""

    requests: Path
    held_out: Path
    held_out_fields: tuple[str, str]
    count: int


@pytest.fixture
def inputs(tmp_path: Path, settings: Any) -> Inputs:
    """The 120 requests of LongBench-Write and WritingBench's samples; without them, our own examples."""
    settings.MEDIA_ROOT = tmp_path / "media"
    requests = tmp_path / "requests.jsonl"
    folder = os.environ.get("BENCHMARK_DATA")
    if folder:
        shutil.copy(Path(folder) / "longbench_write" / "longbench_write.jsonl", requests)
        held_out = Path(folder) / "writingbench" / "length_subset.jsonl"
        return Inputs(requests, held_out, ("query", "index"), 120)
    shutil.copy(EXAMPLES / "requests.jsonl", requests)
    return Inputs(requests, EXAMPLES / "held_out.jsonl", ("prompt", "id"), 12)


def test_real_requests_end_in_corpora_and_none_is_lost(
    model_server: ModelServer, inputs: Inputs, capsys: pytest.CaptureFixture[str]
) -> None:
    model_server.endpoint()
    field, id_field = inputs.held_out_fields
    call_command(
        *("import_benchmark", str(inputs.held_out), "--name", "held-out"),
        *("--field", field, "--id-field", id_field),
    )
    call_command(
        *("pipeline", str(inputs.requests), "--field", "prompt", "--endpoint", "real", "--here"),
        *("--limit", str(LIMIT), "--review-automatically", "--leave-for-people", "1", "--name", "requests"),
    )
    states = Counter(Reconstruction.objects.values_list("state", flat=True))
    assert SourcePrompt.objects.count() == inputs.count
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
    left_out = Counter[str]()
    for reason, count in manifest["left_out"].items():
        left_out[reason.split(": ")[0]] += count
    # A prompt whose mining met a server that did not answer in time is not excluded: it has no rubric yet.
    assert manifest["rows"]["rubricgen"] == corpus.count() - left_out["all"]
    without_rubric = corpus.filter(excluded_because="", rubrics=None)
    assert left_out["all"] == excluded.count() + without_rubric.count()
    left_out_of_sft = left_out["sft"]
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
