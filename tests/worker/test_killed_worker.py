"""kill -9 in the middle of every stage: the next worker finishes, and only calls in flight are repeated."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest
from django.conf import settings

from curation.automatic import review_automatically
from curation.models import CorpusPrompt, Reconstruction, SourcePrompt
from curation.services import import_prompts, start_filtering, start_reconstruction
from llm.models import Run
from llm.services import start_run
from rubrics.models import Rubric
from rubrics.services import start_mining
from tests.simulated import SimulatedServer
from tests.worker.conftest import WorkerProcess
from training.models import Candidate, CorpusSnapshot
from training.services import request_snapshot, start_assessing, start_selecting, start_writing

pytestmark = [pytest.mark.worker, pytest.mark.django_db(transaction=True)]

IN_FLIGHT = 8
SOURCES = 16


def until(condition: Callable[[], bool], what: str, seconds: float = 90.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"waited {seconds:.0f} s for {what}"
        time.sleep(0.05)


def ended(run: Run) -> bool:
    run.refresh_from_db()
    return run.state != Run.State.RUNNING


def kill_in_the_middle(run: Run, worker: WorkerProcess, server: SimulatedServer) -> None:
    """Kills the worker when a third of the run's first round is through, and lets another one finish."""
    before = server.stats()
    if run.endpoint:
        until(lambda: server.stats()["calls"] - before["calls"] >= run.total // 3, f"calls of {run}")
    else:
        until(lambda: ended(run) or run.items.filter(state="done").exists(), f"the first item of {run}")
    worker.kill()
    assert not ended(run) or not run.endpoint
    worker.start()
    until(lambda: ended(run), f"the end of {run}")
    assert run.state == Run.State.DONE, run.notice
    failures = list(run.items.filter(state="failed").values_list("error_message", flat=True))
    assert failures == []
    after = server.stats()
    repeated = (after["calls"] - after["distinct"]) - (before["calls"] - before["distinct"])
    assert repeated <= IN_FLIGHT
    if run.endpoint:
        assert run.calls == after["distinct"] - before["distinct"]


def test_every_stage_survives_the_death_of_its_worker(worker: WorkerProcess, server: SimulatedServer) -> None:
    endpoint = server.endpoint(max_in_flight=IN_FLIGHT)
    requests = "\n".join(
        json.dumps({"prompt": f"Write a letter to neighbour number {n} about the shared garden."})
        for n in range(SOURCES)
    )
    import_prompts(file=io.BytesIO(requests.encode()), file_name="requests.jsonl", source_name="requests")

    kill_in_the_middle(start_reconstruction(endpoint=endpoint), worker, server)
    assert Reconstruction.objects.filter(state="rewritten").count() == SOURCES
    kill_in_the_middle(start_filtering(), worker, server)
    assert Reconstruction.objects.filter(state="in_review").count() == SOURCES
    assert review_automatically(leave_for_people=4) == SOURCES - 4
    kill_in_the_middle(start_mining(endpoint=endpoint), worker, server)
    assert Rubric.objects.count() == CorpusPrompt.objects.count() == SOURCES - 4
    kill_in_the_middle(start_writing(endpoint=endpoint), worker, server)
    kill_in_the_middle(start_assessing(endpoint=endpoint), worker, server)
    assert Candidate.objects.filter(assessment__fallback=False).count() == 5 * (SOURCES - 4)
    kill_in_the_middle(start_selecting(), worker, server)
    assert Candidate.objects.filter(demonstration=True).count() == SOURCES - 4

    snapshot = request_snapshot(name="after the kills", seed=0, sft_share=Fraction(15, 19))
    assert snapshot.run is not None
    kill_in_the_middle(snapshot.run, worker, server)
    snapshot.refresh_from_db()
    assert snapshot.state == CorpusSnapshot.State.DONE
    assert snapshot.manifest["rows"]["rubricgen"] == SOURCES - 4
    assert SourcePrompt.objects.count() == SOURCES


def test_an_operators_stop_lets_calls_in_flight_finish(
    worker: WorkerProcess, server: SimulatedServer
) -> None:
    endpoint = server.endpoint(max_in_flight=IN_FLIGHT)
    requests = "\n".join(
        json.dumps({"prompt": f"Write a speech for festival number {n}."}) for n in range(200)
    )
    import_prompts(file=io.BytesIO(requests.encode()), file_name="requests.jsonl", source_name="requests")
    run = start_reconstruction(endpoint=endpoint)
    until(lambda: server.stats()["calls"] >= 20, "calls")
    assert worker.stop() == 0
    run.refresh_from_db()
    assert run.state == Run.State.RUNNING
    assert not run.items.filter(state="leased").exists()
    assert server.stats()["calls"] == run.calls


def test_work_is_found_without_a_message(worker: WorkerProcess, server: SimulatedServer) -> None:
    """A run whose message was lost with the broker is found by a worker's next look."""
    worker.kill()
    run = Run.objects.create(kind="select", total=1)
    run.items.create(subject_id=1)
    worker.start()
    until(lambda: ended(run), "the run to be found")
    assert run.items.get().error_kind == "missing"
    assert start_run(kind="select", subject_ids=[]).state == Run.State.DONE
    assert Path(settings.MEDIA_ROOT).parent.exists()
