"""A worker's way with a training: real processes, real rows, and everything that goes wrong on the way."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from llm.audit import history_of
from tests.training.jobs.engine import finished_snapshot, training_machine
from training.job_services import cancel_job, clone_job, pin_checkpoint, resume_job, start_job
from training.jobs import runner
from training.jobs.launching import job_folder
from training.jobs.runner import work_on_job
from training.models import Checkpoint, CorpusSnapshot, TrainingJob

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def machine(tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Path:
    settings.MEDIA_ROOT = tmp_path / "media"
    settings.TRAINING = training_machine(tmp_path)
    monkeypatch.setattr(runner, "LOOK_SECONDS", 0.1)
    return tmp_path


@pytest.fixture
def snapshot(machine: Path) -> CorpusSnapshot:
    return finished_snapshot()


def asked(snapshot: CorpusSnapshot, name: str = "run-1", **changes: str) -> TrainingJob:
    return start_job(name=name, recipe="tiny-sft", snapshot=snapshot, changes={"max_steps": "4", **changes})


def behave(machine: Path, how: str) -> None:
    (machine / "behaviour.txt").write_text(how)


def work(job: TrainingJob) -> TrainingJob:
    work_on_job(job.pk, threading.Event())
    job.refresh_from_db()
    return job


def starts(job: TrainingJob) -> list[int]:
    """The first step of each start of the engine."""
    return [int(line.split()[0]) for line in (job_folder(job) / "starts.txt").read_text().splitlines()]


class Worker:
    """Works on a job beside the test, and can be told to end."""

    def __init__(self, job: TrainingJob) -> None:
        self.stop = threading.Event()
        self.thread = threading.Thread(target=work_on_job, args=(job.pk, self.stop))
        self.thread.start()

    def end(self) -> None:
        self.stop.set()
        self.thread.join(60)
        assert not self.thread.is_alive()


@pytest.fixture
def workers() -> Iterator[list[Worker]]:
    started: list[Worker] = []
    yield started
    for each in started:
        each.end()


def until_step(job: TrainingJob, step: int) -> None:
    end = time.monotonic() + 30
    while job.step < step:
        assert time.monotonic() < end, f"{job.state}: {job.notice} {job.error} {job.log_tail[-500:]}"
        time.sleep(0.05)
        job.refresh_from_db()


def test_a_training_from_the_asking_to_its_checkpoints(snapshot: CorpusSnapshot) -> None:
    job = work(asked(snapshot, keep_checkpoints="1"))
    assert (job.state, job.ending, job.error) == ("done", "finished", "")
    assert (job.step, job.total_steps, job.attempts, job.host) == (4, 4, 1, "trainer-1")
    assert job.rows == {"train": 3, "valid": 1}
    assert job.versions == {"llamafactory": "1.2", "torch": "1.2", "transformers": "1.2"}
    values = {row.step: row.values for row in job.metrics.all()}
    assert values[3] == {"loss": 2.7, "learning_rate": 1e-5, "tokens_per_second": 103.0, "eval_loss": 3.0}
    assert job.log_tail.endswith("done\n")
    kept = {row.step: row.state for row in job.checkpoints.all()}
    # The last one, and step 2: its eval_loss is the lowest.
    assert kept == {1: "pruned", 2: "kept", 3: "pruned", 4: "kept"}
    folders = sorted(each.name for each in (job_folder(job) / "output").glob("checkpoint-*"))
    assert folders == ["checkpoint-2", "checkpoint-4"]
    digests = set(job.checkpoints.values_list("digest", flat=True))
    assert len(digests) == 4
    said = history_of(job).order_by("pk")
    assert list(said.values_list("action", flat=True)) == ["asked for", "started", "ended"]


def test_the_engine_sees_neither_database_nor_key(
    snapshot: CorpusSnapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("DATABASE_URL", "DJANGO_SECRET_KEY", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "secret")
    monkeypatch.setenv("NCCL_DEBUG", "INFO")
    job = work(asked(snapshot))
    (line,) = [line for line in job.log_tail.splitlines() if line.startswith("environment")]
    assert "NCCL_DEBUG" in line
    assert not any(name in line for name in ("DATABASE", "DJANGO", "AWS", "CELERY"))


@pytest.mark.parametrize(
    ("behaviour", "ending", "said"),
    [("memory 3", "out_of_memory", "2.00 GiB"), ("disk 3", "disk_full", "Make room")],
)
def test_a_fault_is_named_and_the_job_goes_on_from_its_last_whole_checkpoint(
    snapshot: CorpusSnapshot, machine: Path, behaviour: str, ending: str, said: str
) -> None:
    behave(machine, behaviour)
    job = work(asked(snapshot))
    assert (job.state, job.ending) == ("failed", ending)
    assert said in job.error
    assert [row.step for row in job.checkpoints.all()] == [1, 2]
    behave(machine, "")
    assert resume_job(job_id=job.pk)
    job = work(job)
    assert (job.state, job.step, job.attempts) == ("done", 4, 2)
    assert starts(job) == [1, 3]
    assert not resume_job(job_id=job.pk)


def test_a_lost_node_goes_on_by_itself_but_not_for_ever(snapshot: CorpusSnapshot, machine: Path) -> None:
    behave(machine, "node 2")
    job = work(asked(snapshot))
    assert (job.state, job.ending, job.interruptions) == ("waiting", "node_lost", 1)
    for _ in range(5):
        job = work(job)
    assert (job.state, job.ending, job.attempts) == ("failed", "node_lost", 6)
    assert "Connection reset by peer" in job.error
    assert starts(job) == [1, 2, 2, 2, 2, 2]


def test_a_message_that_comes_twice_starts_once(
    snapshot: CorpusSnapshot, machine: Path, workers: list[Worker]
) -> None:
    behave(machine, "hang 2")
    job = asked(snapshot)
    workers += [Worker(job), Worker(job), Worker(job)]
    until_step(job, 1)
    assert starts(job) == [1]
    # However long its worker is silent: what lives in its folder keeps others away.
    TrainingJob.objects.filter(pk=job.pk).update(last_seen_at=timezone.now() - timedelta(hours=1))
    work_on_job(job.pk, threading.Event())
    assert starts(job) == [1]


def test_cancelling_ends_the_engine_and_a_clone_starts_over(
    snapshot: CorpusSnapshot, machine: Path, workers: list[Worker]
) -> None:
    behave(machine, "hang 3")
    job = asked(snapshot, learning_rate="3e-5")
    workers.append(Worker(job))
    until_step(job, 2)
    assert cancel_job(job_id=job.pk)
    workers[0].thread.join(60)
    job.refresh_from_db()
    assert (job.state, job.ending) == ("cancelled", "cancelled")
    assert [row.step for row in job.checkpoints.all()] == [1, 2]
    assert not cancel_job(job_id=job.pk)
    behave(machine, "")
    again = work(clone_job(job=job, name="run-2", changes={"seed": "7"}))
    assert (again.state, again.clone_of, again.step) == ("done", job, 4)
    assert {**job.recipe, "seed": 7} == again.recipe
    assert job.recipe["learning_rate"] == 3e-5


def test_a_job_that_waits_is_cancelled_at_once(snapshot: CorpusSnapshot) -> None:
    job = asked(snapshot)
    assert cancel_job(job_id=job.pk)
    assert work(job).state == "cancelled"
    assert not job_folder(job).exists()
    assert resume_job(job_id=job.pk)
    assert work(job).state == "done"


def test_a_worker_that_is_stopped_hands_the_job_to_the_next_one(
    snapshot: CorpusSnapshot, machine: Path, workers: list[Worker]
) -> None:
    behave(machine, "hang 3")
    job = asked(snapshot)
    workers.append(Worker(job))
    until_step(job, 2)
    workers[0].end()
    job.refresh_from_db()
    assert (job.state, job.interruptions) == ("waiting", 0)
    assert "the next one on this machine goes on" in job.notice
    behave(machine, "")
    assert work(job).state == "done"
    assert starts(job) == [1, 3]


def test_only_its_own_machine_goes_on_with_a_job(
    snapshot: CorpusSnapshot, machine: Path, settings: Any
) -> None:
    behave(machine, "node 2")
    job = work(asked(snapshot))
    here = settings.TRAINING
    settings.TRAINING = training_machine(machine / "other", host="trainer-2")
    assert work(job).attempts == 1
    settings.TRAINING = here
    behave(machine, "")
    assert work(job).state == "done"


def test_what_is_in_the_way_is_said_and_the_job_waits(snapshot: CorpusSnapshot, machine: Path) -> None:
    job = asked(snapshot)
    weights, engine = machine / "models" / "smollm2" / "model.safetensors", machine / "engine"
    weights.rename(machine / "away")
    engine.rename(machine / "gone")
    job = work(job)
    assert (job.state, job.attempts) == ("waiting", 0)
    assert "LLaMA-Factory has no environment at" in job.notice
    assert "TRAINING_LLAMAFACTORY" in job.notice
    assert "has no weights" in job.notice
    (machine / "gone").rename(engine)
    (machine / "away").rename(weights)
    assert work(job).state == "done"


def test_rows_that_do_not_fit_refuse_the_job(snapshot: CorpusSnapshot) -> None:
    job = work(asked(snapshot, cutoff="64"))
    assert (job.state, job.ending) == ("failed", "refused")
    assert "tokens, more than" in job.error
    assert not (job_folder(job) / "starts.txt").exists()


def test_a_pinned_checkpoint_stays(snapshot: CorpusSnapshot, machine: Path) -> None:
    behave(machine, "memory 2")
    job = work(asked(snapshot, keep_checkpoints="1", evaluate_every="9"))
    first = job.checkpoints.get()
    pin_checkpoint(checkpoint_id=first.pk, pinned=True)
    behave(machine, "")
    resume_job(job_id=job.pk)
    job = work(job)
    assert set(job.checkpoints.filter(state="kept").values_list("step", flat=True)) == {1, 4}


def test_a_job_may_start_from_a_checkpoint(snapshot: CorpusSnapshot, machine: Path) -> None:
    behave(machine, "")
    checkpoint = work(asked(snapshot)).checkpoints.get(step=4)
    for name in ("config.json", "tokenizer.json"):
        (Path(checkpoint.folder) / name).write_bytes((machine / "models" / "smollm2" / name).read_bytes())
    second = start_job(
        name="second",
        recipe="tiny-sft",
        snapshot=snapshot,
        changes={"max_steps": "1"},
        starts_from=checkpoint,
    )
    assert work(second).state == "done"
    assert f"model_name_or_path: {checkpoint.folder}\n" in (job_folder(second) / "sft.yaml").read_text()
    Checkpoint.objects.filter(pk=checkpoint.pk).update(state="pruned")
    checkpoint.refresh_from_db()
    with pytest.raises(ValueError, match="no longer on the disk"):
        start_job(name="third", recipe="tiny-sft", snapshot=snapshot, starts_from=checkpoint)
