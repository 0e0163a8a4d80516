"""Every write on trainings and checkpoints that a person or a command asks for."""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Mapping
from typing import Any

from celery import current_app
from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone
from kombu.exceptions import OperationalError as BrokerError

from llm.audit import record
from llm.models import Endpoint
from training.job_data import corpus_for
from training.jobs import storage
from training.models import Checkpoint, CorpusSnapshot, TrainingJob
from training.recipes.catalogue import RECIPES, with_changes
from training.recipes.settings import GspoRecipe, Rubrics, SftRecipe

logger = logging.getLogger(__name__)

JOB_TASK, SERVE_TASK = "training.work_on_job", "training.serve_checkpoint"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,59}")
State = TrainingJob.State


def start_job(
    *,
    name: str,
    recipe: str,
    snapshot: CorpusSnapshot,
    changes: Mapping[str, str] | None = None,
    judge: Endpoint | None = None,
    starts_from: Checkpoint | None = None,
    clone_of: TrainingJob | None = None,
    user: User | None = None,
) -> TrainingJob:
    """Queues a training of `recipe` (with `changes`) over a finished snapshot, for a worker on a GPU machine.

    Raises ValueError that says what does not fit: a name that is taken, an unknown recipe or setting, a
    snapshot with other rubrics or without rows, a judge that is missing, a checkpoint that is gone.
    """
    if not NAME.fullmatch(name):
        raise ValueError("a job's name has letters, digits, dots, dashes and underscores, at most 60")
    if TrainingJob.objects.filter(name=name).exists():
        raise ValueError(f"there is a job {name} already")
    if recipe not in RECIPES:
        raise ValueError(f"there is no recipe {recipe!r}; there are {', '.join(RECIPES)}")
    wanted = with_changes(RECIPES[recipe], changes or {})
    _refuse_misfits(wanted, snapshot, judge, starts_from)
    with transaction.atomic():
        job = TrainingJob.objects.create(
            name=name,
            recipe=wanted.model_dump(mode="json"),
            snapshot=snapshot,
            judge=judge if isinstance(wanted, GspoRecipe) else None,
            starts_from=starts_from,
            clone_of=clone_of,
            created_by=user,
        )
        after = {"recipe": recipe, "changes": dict(changes or {}), "snapshot": snapshot.name}
        record(job, "asked for", after=after, actor=user)
        transaction.on_commit(lambda: _tell(JOB_TASK, job.pk))
    return job


def _refuse_misfits(
    recipe: SftRecipe | GspoRecipe,
    snapshot: CorpusSnapshot,
    judge: Endpoint | None,
    starts_from: Checkpoint | None,
) -> None:
    if snapshot.state != CorpusSnapshot.State.DONE:
        raise ValueError(f"the corpus {snapshot.name} is not finished")
    method = snapshot.manifest["rubrics"]["method"]
    if recipe.rubrics not in (Rubrics.NONE, method):
        raise ValueError(f"{recipe.name} trains on {recipe.rubrics} rubrics, {snapshot.name} has {method}")
    corpus = corpus_for(recipe)
    rows = snapshot.manifest["rows"].get(corpus, 0)
    if rows < 2:
        raise ValueError(
            f"{snapshot.name} has {rows} {corpus} rows: one to learn and one to evaluate are needed"
        )
    if problem := storage.missing(snapshot, f"{corpus}.jsonl"):
        raise ValueError(problem)
    if isinstance(recipe, GspoRecipe) and judge is None:
        raise ValueError(f"{recipe.name} is rewarded by a judge: name its endpoint")
    if starts_from and starts_from.state != Checkpoint.State.KEPT:
        raise ValueError(f"{starts_from} is no longer on the disk")


def cancel_job(*, job_id: int, user: User | None = None) -> bool:
    """Ends a job: at once where nobody works on it, else its worker stops everything that it started.

    False when it had ended.
    """
    with transaction.atomic():
        job = TrainingJob.objects.select_for_update().get(pk=job_id)
        if job.state not in {State.WAITING, State.RUNNING}:
            return False
        job.cancel_wanted = True
        if job.state == State.WAITING:
            job.state, job.ending, job.finished_at = State.CANCELLED, "cancelled", timezone.now()
            job.notice = ""
        job.save()
        record(job, "cancelled", after={"state": job.state}, actor=user)
    return True


def resume_job(*, job_id: int, user: User | None = None) -> bool:
    """Lets a failed or cancelled job go on from its last checkpoint; False when it has not ended so."""
    with transaction.atomic():
        job = TrainingJob.objects.select_for_update().get(pk=job_id)
        if job.state not in {State.FAILED, State.CANCELLED}:
            return False
        before = {"state": job.state, "ending": job.ending}
        job.state, job.ending, job.error, job.notice = State.WAITING, "", "", ""
        job.cancel_wanted, job.interruptions, job.finished_at = False, 0, None
        job.save()
        record(job, "resumed", before=before, after={"state": job.state}, actor=user)
        transaction.on_commit(lambda: _tell(JOB_TASK, job.pk))
    return True


def clone_job(
    *, job: TrainingJob, name: str, changes: Mapping[str, str] | None = None, user: User | None = None
) -> TrainingJob:
    """A new job with the settings of another, some of them changed. Raises ValueError as `start_job` does."""
    base = RECIPES[job.recipe["name"]]
    return start_job(
        name=name,
        recipe=base.name,
        snapshot=job.snapshot,
        changes={**changes_of(job), **(changes or {})},
        judge=job.judge,
        starts_from=job.starts_from,
        clone_of=job,
        user=user,
    )


def changes_of(job: TrainingJob) -> dict[str, str]:
    """The settings in which a job differs from the recipe of its name, as text."""
    base = RECIPES[job.recipe["name"]].model_dump(mode="json")
    return {
        name: "" if value is None else str(value)
        for name, value in job.recipe.items()
        if base.get(name) != value
    }


def pin_checkpoint(*, checkpoint_id: int, pinned: bool, user: User | None = None) -> Checkpoint:
    """Keeps a checkpoint whatever the rule says, or leaves it to the rule again."""
    with transaction.atomic():
        row = Checkpoint.objects.select_for_update().get(pk=checkpoint_id)
        if row.pinned != pinned:
            row.pinned = pinned
            row.save(update_fields=["pinned"])
            record(row, "pinned" if pinned else "unpinned", after={"pinned": pinned}, actor=user)
    return row


def serve_checkpoint(*, checkpoint_id: int, user: User | None = None) -> bool:
    """Asks the worker on the checkpoint's machine for a model server; False when it is gone or served."""
    with transaction.atomic():
        row = Checkpoint.objects.select_for_update().get(pk=checkpoint_id)
        idle = row.serving in {Checkpoint.Serving.NO, Checkpoint.Serving.FAILED}
        if row.state != Checkpoint.State.KEPT or not idle:
            return False
        row.serving, row.serving_notice, row.serving_seen_at = Checkpoint.Serving.WANTED, "", None
        row.save(update_fields=["serving", "serving_notice", "serving_seen_at"])
        record(row, "to be served", after={"serving": row.serving}, actor=user)
        transaction.on_commit(lambda: _tell(SERVE_TASK, row.pk))
    return True


def stop_serving(*, checkpoint_id: int, user: User | None = None) -> bool:
    """Ends a checkpoint's server; its endpoint stays, as the provenance of what it answered."""
    with transaction.atomic():
        row = Checkpoint.objects.select_for_update().get(pk=checkpoint_id)
        if row.serving in {Checkpoint.Serving.NO, Checkpoint.Serving.FAILED}:
            return False
        row.serving, row.serving_notice = Checkpoint.Serving.NO, ""
        row.save(update_fields=["serving", "serving_notice"])
        record(row, "no longer served", after={"serving": row.serving}, actor=user)
    return True


def _tell(task: str, subject: int) -> None:
    """Sends 'there is work', on a thread of its own; without a broker workers look for it themselves."""
    threading.Thread(target=send, args=(task, subject), name="tell-gpu-workers").start()


def send(task: str, subject: int) -> bool:
    """Sends one message to the workers on GPU machines; whether the broker took it."""
    try:
        current_app.send_task(task, [subject], retry=False)
    except BrokerError as error:
        logger.warning(
            "the broker cannot be reached, %s %s waits for a worker's next look: %s", task, subject, error
        )
        return False
    return True


def job_values(job: TrainingJob) -> dict[str, Any]:
    """What a program is told of a job."""
    return {
        "id": job.pk,
        "name": job.name,
        "state": job.state,
        "ending": job.ending,
        "error": job.error,
        "notice": job.notice,
        "step": job.step,
        "total_steps": job.total_steps,
        "attempts": job.attempts,
        "host": job.host,
    }
