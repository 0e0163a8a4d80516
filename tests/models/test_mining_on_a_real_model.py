"""Rubrics of real writing requests by two methods, on a real model."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path

import pytest
from django.core.management import call_command

from config.stack.paths import EXAMPLES
from curation.languages import detect_language
from curation.models import CorpusPrompt
from llm.models import Run, RunItem
from rubrics.models import MiningTrace
from rubrics.models import Rubric as RubricRow
from rubrics.rubric import MIN_DIMENSIONS, Rubric
from tests.models.conftest import ModelServer
from tests.samples import corpus_prompt

pytestmark = [pytest.mark.models, pytest.mark.django_db(transaction=True)]

LIMITS = {
    method: int(os.environ.get("TEST_MODELS_MINED", default)) for method, default in (("irg", 6), ("drg", 2))
}
"""How many requests get a rubric by each method; 20 take half an hour on two cores, and a whole rubric in one
call takes the small model minutes."""

LONGEST = 600
"""Characters of a request: a small model on two cores has to read each about seven times."""


def requests(count: int) -> list[str]:
    """English and Chinese requests in turns: LongBench-Write's, or without them our own examples."""
    folder = os.environ.get("BENCHMARK_DATA")
    file = (
        Path(folder) / "longbench_write" / "longbench_write.jsonl" if folder else EXAMPLES / "requests.jsonl"
    )
    texts = [json.loads(line)["prompt"] for line in file.read_text(encoding="utf-8").split("\n") if line]
    by_language = [
        [text for text in texts if detect_language(text).code == code and len(text) <= LONGEST]
        for code in ("en", "zh")
    ]
    pairs = [text for pair in zip(*by_language, strict=False) for text in pair]
    return pairs[:count]


@pytest.mark.parametrize("method", ["irg", "drg"])
def test_every_request_gets_a_rubric_or_a_reason(
    model_server: ModelServer, method: str, capsys: pytest.CaptureFixture[str]
) -> None:
    model_server.endpoint()
    texts = requests(LIMITS[method])
    prompts = [corpus_prompt(text=text, language=detect_language(text).code) for text in texts]
    call_command("mine", "--endpoint", "real", "--method", method, "--here")
    run = Run.objects.get()
    states = Counter(run.items.values_list("state", flat=True))
    rubrics = RubricRow.objects.filter(method=method)
    failed = {trace.prompt_id: trace.failure for trace in MiningTrace.objects.exclude(failure="")}
    with capsys.disabled():
        print(
            f"\n{method}: {len(prompts)} requests, {rubrics.count()} rubrics of "
            f"{sorted(len(row.dimensions) for row in rubrics)} dimensions, {run.calls} calls, "
            f"{run.completion_tokens} tokens written; failed: {sorted(failed.values())}"
        )
    assert run.state == Run.State.DONE
    assert sum(states.values()) == len(prompts)
    assert states[RunItem.State.DONE] == rubrics.count()
    unserved = RunItem.objects.filter(state=RunItem.State.FAILED, error_kind="timeout").count()
    assert len(failed) + unserved == states[RunItem.State.FAILED]
    assert rubrics.count() >= len(prompts) / 2
    for row in rubrics.select_related("prompt"):
        rubric = Rubric.from_json(row.dimensions)
        assert len(rubric.dimensions) >= MIN_DIMENSIONS
        assert rubric.digest == row.digest
        chinese = row.prompt.language == "zh"
        assert row.templates
        assert all((".zh@" in name) == chinese for name in row.templates)
    assert CorpusPrompt.objects.exclude(excluded_because="").count() == len(failed)
