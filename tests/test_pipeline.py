"""The whole way in one process, on real Postgres, against a server that answers in the right forms."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from curation.models import (
    CheckVerdict,
    CorpusPrompt,
    Reconstruction,
    ReconstructionDraft,
    Review,
    SourcePrompt,
)
from llm.models import Completion, Run
from rubrics.models import Assessment, MiningTrace
from rubrics.models import Rubric as RubricRow
from rubrics.rubric import Rubric, writer_input
from tests.simulated import SimulatedServer, simulated_server
from training.models import Candidate, CorpusSnapshot
from training.snapshots import snapshot_folder

pytestmark = pytest.mark.django_db(transaction=True)

REQUESTS = 20


@pytest.fixture
def server() -> Iterator[SimulatedServer]:
    with simulated_server(latency=0.0) as running:
        yield running


@pytest.fixture
def requests_file(tmp_path: Path, settings: Any) -> Path:
    settings.MEDIA_ROOT = tmp_path / "media"
    path = tmp_path / "requests.jsonl"
    rows = [
        {"prompt": f"Write a report on harbour {n} for the council, in about {200 + n} words."}
        for n in range(REQUESTS)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def run_pipeline(path: Path, *options: str) -> None:
    call_command("pipeline", str(path), "--endpoint", "simulated", "--here", "--name", "trial", *options)


def rows_of(snapshot: CorpusSnapshot, corpus: str) -> list[dict[str, Any]]:
    with (snapshot_folder(snapshot) / f"{corpus}.jsonl").open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def test_from_requests_to_corpora(server: SimulatedServer, requests_file: Path) -> None:
    server.endpoint()
    run_pipeline(requests_file, "--review-automatically", "--leave-for-people", "2")

    strategies = Counter(Reconstruction.objects.values_list("strategy", flat=True))
    assert strategies == {"length_aware": REQUESTS // 2, "length_recovery": REQUESTS // 2}
    assert Reconstruction.objects.filter(drafts=None).count() == 0
    assert all(draft.completion.text.strip() == draft.text for draft in ReconstructionDraft.objects.all())
    states = Counter(Reconstruction.objects.values_list("state", flat=True))
    assert states == {"accepted": REQUESTS - 2, "in_review": 2}

    assert set(Review.objects.values_list("reviewer__username", "automatic")) == {
        ("automatic-reviewer", True)
    }
    assert CheckVerdict.objects.count() == 5 * (REQUESTS - 2)
    assert CorpusPrompt.objects.count() == RubricRow.objects.count() == REQUESTS - 2
    trace = MiningTrace.objects.first()
    assert trace is not None
    assert len(trace.discovered) >= 2
    assert trace.completions.count() == 2 + len(trace.consolidated)
    assert Candidate.objects.count() == Assessment.objects.count() == 5 * (REQUESTS - 2)
    for rubric in RubricRow.objects.all():
        chosen = rubric.candidates.get(demonstration=True)
        assert chosen.assessment is not None
        best = max(
            candidate.assessment.value for candidate in rubric.candidates.all() if candidate.assessment
        )
        assert chosen.assessment.value == best

    snapshot = CorpusSnapshot.objects.get()
    sft, rl, rubricgen = (rows_of(snapshot, corpus) for corpus in ("sft", "rl", "rubricgen"))
    plain = rows_of(snapshot, "sft_no_rubric")
    rows = {"sft": len(sft), "sft_no_rubric": len(plain), "rl": len(rl), "rubricgen": len(rubricgen)}
    assert snapshot.manifest["rows"] == rows
    assert [(row["id"], row["messages"][1]) for row in plain] == [
        (row["id"], row["messages"][1]) for row in sft
    ]
    assert all(
        full["messages"][0]["content"].startswith(row["messages"][0]["content"])
        for row, full in zip(plain, sft, strict=True)
    )
    assert len(sft) == round((REQUESTS - 2) * 15 / 19)
    assert {row["id"] for row in sft}.isdisjoint(row["id"] for row in rl)
    assert {row["id"] for row in sft} | {row["id"] for row in rl} == {row["id"] for row in rubricgen}
    for row in sft:
        rubric = RubricRow.objects.select_related("prompt").get(prompt_id=row["id"])
        user, assistant = row["messages"]
        assert user["content"] == writer_input(rubric.prompt.text, Rubric.from_json(rubric.dimensions))
        assert assistant["content"] == rubric.candidates.get(demonstration=True).text
    for row in rl:
        assert Rubric.from_json(row["rubric"]).digest == RubricRow.objects.get(prompt_id=row["id"]).digest
    for file in snapshot.manifest["files"]:
        content = (snapshot_folder(snapshot) / file["name"]).read_bytes()
        assert file["sha256"] == hashlib.sha256(content).hexdigest()


def test_again_it_does_only_what_is_missing(server: SimulatedServer, requests_file: Path) -> None:
    server.endpoint()
    run_pipeline(requests_file, "--limit", "8", "--review-automatically", "--leave-for-people", "2")
    calls = server.stats()["calls"]
    run_pipeline(requests_file, "--limit", "8", "--review-automatically", "--leave-for-people", "2")
    assert server.stats()["calls"] == calls
    assert CorpusSnapshot.objects.count() == 1
    assert Reconstruction.objects.count() == 8

    run_pipeline(requests_file, "--review-automatically")
    assert Reconstruction.objects.count() == REQUESTS
    assert CorpusPrompt.objects.count() == REQUESTS
    assert CorpusSnapshot.objects.count() == 2
    assert server.stats()["calls"] == server.stats()["distinct"] == Completion.objects.count()


def test_every_source_prompt_is_accounted_for(server: SimulatedServer, requests_file: Path) -> None:
    server.endpoint()
    call_command(
        "import_benchmark", str(requests_file), "--name", "own", "--field", "prompt", "--id-field", "prompt"
    )
    with requests_file.open("a") as file:
        file.write(json.dumps({"prompt": "long " * 9_000}) + "\n")
    server.fail_next(*["400"] * 3)
    run_pipeline(requests_file, "--limit", "12", "--review-automatically", "--leave-for-people", "1")
    upstream = CorpusSnapshot.objects.get().manifest["upstream"]
    assert upstream["source_prompts"] == SourcePrompt.objects.count() == REQUESTS + 1
    assert upstream["source_prompts_excluded"] == 1
    assert upstream["source_prompts_not_reconstructed"] == REQUESTS - 12
    assert upstream["reconstructions"] == sum(upstream["reconstructions_by_state"].values()) == 12
    assert upstream["reconstructions_by_state"]["failed"] == 3
    for failed in Reconstruction.objects.filter(state="failed"):
        assert failed.state_reason.startswith("refused: ")
    manifest = CorpusSnapshot.objects.get().manifest
    exported = manifest["rows"]["rubricgen"] + sum(
        count for reason, count in manifest["left_out"].items() if reason.startswith("all: ")
    )
    assert exported == upstream["corpus_prompts"] == upstream["reconstructions_by_state"]["accepted"]


def test_a_stage_that_stops_says_what_to_do_and_goes_on(server: SimulatedServer, requests_file: Path) -> None:
    server.endpoint()
    server.fail_next(*["401"] * 100)
    with pytest.raises(CommandError, match=r"paused: .*401.* manage.py run \d+ --continue"):
        run_pipeline(requests_file, "--limit", "4")
    server.fail_next()
    run = Run.objects.get(state=Run.State.PAUSED)
    for _ in range(30):
        try:
            call_command("run", str(run.pk), "--continue", "--here")
            break
        except CommandError:
            continue
    assert Reconstruction.objects.filter(state="rewritten").count() == 4


def test_an_unknown_endpoint_is_named_with_those_there_are(
    server: SimulatedServer, requests_file: Path
) -> None:
    server.endpoint()
    with pytest.raises(CommandError, match=r"no endpoint 'gpt' \(there are: simulated\)"):
        call_command("mine", "--endpoint", "gpt")


def test_a_prompt_without_a_usable_rubric_is_excluded_with_the_reason(
    server: SimulatedServer, requests_file: Path
) -> None:
    """Without constrained decoding the simulated server answers in plain words, which no parser takes."""
    endpoint = server.endpoint()
    call_command("import_prompts", str(requests_file))
    call_command("reconstruct", "--endpoint", "simulated", "--limit", "3", "--here")
    call_command("filter", "--here")
    call_command("review_automatically")
    endpoint.constrained = False
    endpoint.save()
    call_command("mine", "--endpoint", "simulated", "--here")
    prompts = CorpusPrompt.objects.all()
    assert all(prompt.excluded_because.startswith("no rubric: irg-discovery@1") for prompt in prompts)
    trace = MiningTrace.objects.first()
    assert trace is not None
    assert trace.failure
    assert trace.completions.count() == 3
    call_command("export", "nothing", "--here")
    left_out = CorpusSnapshot.objects.get().manifest["left_out"]
    assert sum(left_out.values()) == 3


def test_a_trial_leaves_other_peoples_work_alone(server: SimulatedServer, requests_file: Path) -> None:
    server.endpoint()
    other = requests_file.with_name("other.jsonl")
    other.write_text(
        "".join(json.dumps({"prompt": f"Write a toast for wedding number {n}."}) + "\n" for n in range(4))
    )
    call_command("import_prompts", str(other))
    call_command("reconstruct", "--endpoint", "simulated", "--here")
    call_command("filter", "--here")
    run_pipeline(requests_file, "--limit", "3", "--review-automatically")
    assert Reconstruction.objects.filter(source_prompt__source__name="other", state="in_review").count() == 4
    assert CorpusPrompt.objects.count() == RubricRow.objects.count() == 3


def test_the_baseline_goes_all_the_way_by_one_call_for_each_rubric(
    server: SimulatedServer, requests_file: Path
) -> None:
    server.endpoint()
    run_pipeline(requests_file, "--limit", "4", "--review-automatically", "--method", "drg")
    assert set(RubricRow.objects.values_list("method", "constructor")) == {("drg", "simulated")}
    assert Completion.objects.filter(template="drg@1").count() == RubricRow.objects.count() == 4
    assert Candidate.objects.filter(demonstration=True).count() == 4
