"""Working on one training: a worker's whole way with a job.

    waiting ─► nothing in the way? ─► claimed ─► rows fetched and checked ─► engine started ─► followed ─┐
       ▲                                                                                                 │
       └── interrupted, goes on by itself ◄── why it ended ◄─────────────────────────────────────────────┘
                                                   └─► done, failed, cancelled

The engine's folder stays on the machine that claimed the job, and only that machine goes on with it.
"""

from __future__ import annotations

import logging
import shutil
import threading
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.db import DatabaseError, close_old_connections, connection

from curation.tokenizer import TokenizerError, load_encoder
from training.job_data import PreflightError, corpus_for, write_job_data
from training.jobs import checkpoints, queue, storage
from training.jobs.checks import problems, versions
from training.jobs.diagnosis import Diagnosis, Ending, diagnose
from training.jobs.guard import LOG
from training.jobs.launchers import Guarded, Launched, LaunchError, Slurm, Status
from training.jobs.launching import DATA, command_of, job_folder, model_folder
from training.jobs.reading import read_new, tail
from training.models import TrainingJob
from training.recipes.catalogue import recipe_from
from training.recipes.settings import GspoRecipe, SftRecipe

logger = logging.getLogger(__name__)

LOOK_SECONDS = 2.0
DIAGNOSED_BYTES = 200_000


class RefusedError(Exception):
    """The job cannot be done as it was asked for; trying again would end the same way."""


@dataclass
class Attempt:
    """One start of an engine; `log_start` is where its part of the log begins."""

    job: TrainingJob
    launched: Launched
    log_start: int


def work_on_job(job_id: int, stop: threading.Event) -> None:
    """Takes a job up if it may, and follows it to its end or until `stop`. Safe to call twice for one job."""
    job = TrainingJob.objects.select_related("snapshot", "judge", "starts_from").get(pk=job_id)
    if not queue.may_take(job):
        return
    in_the_way = problems(job)
    if in_the_way:
        queue.say_waiting(job, "; ".join(in_the_way))
        return
    if not queue.claim(job):
        return
    try:
        attempt = _start(job)
    except RefusedError as error:
        queue.conclude(job, Diagnosis(Ending.REFUSED, str(error)))
    except (storage.StorageError, LaunchError) as error:
        queue.give_back(job, str(error))
    else:
        _follow(attempt, stop)


def _start(job: TrainingJob) -> Attempt:
    folder = job_folder(job)
    folder.mkdir(parents=True, exist_ok=True)
    recipe = recipe_from(job.recipe)
    _write_rows(job, recipe)
    checkpoints.remove_halves(job)
    resume = checkpoints.latest(job)
    if resume is None and (folder / "output").exists():
        # Nothing whole is left of the attempts before: the engines would stumble over their remains.
        shutil.rmtree(folder / "output")
        job.read_to = {name: place for name, place in job.read_to.items() if name == "assessments.jsonl"}
    job.versions = versions(recipe)
    log = folder / LOG
    log_start = log.stat().st_size if log.exists() else 0
    launched = _launch(job, recipe, resume)
    job.handle = launched.handle
    job.notice = f"Goes on from {resume.name}" if resume else ""
    job.save(update_fields=["versions", "handle", "notice", "read_to", "rows"])
    return Attempt(job, launched, log_start)


def _write_rows(job: TrainingJob, recipe: SftRecipe | GspoRecipe) -> None:
    """The rows of the snapshot, checked against the recipe with the model's own tokenizer; once for a job."""
    folder = job_folder(job)
    if (folder / DATA).exists():
        return
    fetched = storage.fetch(job.snapshot, f"{corpus_for(recipe)}.jsonl", folder)
    try:
        encode = load_encoder(str(model_folder(job) / "tokenizer.json")).encode
        written = write_job_data(fetched, folder / DATA, recipe, lambda text: len(encode(text)))
    except (TokenizerError, PreflightError) as error:
        raise RefusedError(str(error)) from error
    fetched.unlink()
    job.rows = {"train": written.train, "valid": written.valid}


def _launch(job: TrainingJob, recipe: SftRecipe | GspoRecipe, resume: Path | None) -> Launched:
    command = command_of(job, resume)
    if settings.TRAINING.launcher == "slurm":
        return Slurm.submit(
            command.folder,
            f"workbench-{job.pk}-{job.attempts}",
            command.environment,
            nodes=recipe.nodes,
            gpus=0 if recipe.on_cpu else recipe.processes,
            port=recipe.master_port,
            options=settings.TRAINING.slurm_options,
        )
    return Guarded(command.folder, command.arguments, command.environment)


def _follow(attempt: Attempt, stop: threading.Event) -> None:
    """Until the end. Without the database the training goes on; what it writes is read when it is back."""
    while True:
        status = attempt.launched.poll()
        try:
            close_old_connections()
            if status.running and queue.heartbeat(attempt.job, waits=status.word == "PENDING"):
                attempt.launched.stop()
                _read(attempt.job)
                return queue.conclude(attempt.job, Diagnosis(Ending.CANCELLED, ""))
            _read(attempt.job)
            if not status.running:
                return queue.conclude(attempt.job, _diagnosis(attempt, status))
        except DatabaseError as error:
            logger.warning("job %s: the database does not answer, looking again soon: %s", attempt.job, error)
            connection.close()
        if stop.wait(LOOK_SECONDS):
            return _leave(attempt)


def _leave(attempt: Attempt) -> None:
    """The worker ends. A guarded engine ends with it and is taken up again; Slurm's goes on."""
    if isinstance(attempt.launched, Guarded):
        attempt.launched.stop()
    try:
        queue.leave(attempt.job)
    except DatabaseError as error:
        logger.warning("job %s: left without the database: %s", attempt.job, error)


def _read(job: TrainingJob) -> None:
    """Everything new in the job's folder; a file that cannot be read does not end the training."""
    try:
        read_new(job)
        made = checkpoints.register_new(job)
        checkpoints.add_measures(job)
        if made:
            checkpoints.prune(job)
    except OSError as error:
        logger.warning("job %s: reading its folder failed, trying again soon: %s", job, error)


def _diagnosis(attempt: Attempt, status: Status) -> Diagnosis:
    folder = job_folder(attempt.job)
    said = tail(folder / LOG, DIAGNOSED_BYTES, attempt.log_start)
    return diagnose(status.code, said, disk_free=shutil.disk_usage(folder).free, word=status.word)
