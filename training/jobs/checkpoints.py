"""Checkpoints on this machine: found, hashed, registered, pruned by the rule, marked when they are gone."""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from django.conf import settings
from django.db import transaction

from llm.audit import record
from training.jobs.checks import WEIGHTS
from training.jobs.keeping import Held, to_prune
from training.jobs.launching import OUTPUT, job_folder
from training.models import Checkpoint, TrainingJob, TrainingMetric
from training.recipes.catalogue import recipe_from

FOLDER = re.compile(r"checkpoint-(\d+)")
WRITTEN_LAST = "trainer_state.json"
"""The trainer writes this after weights and optimizer: with it a checkpoint is whole."""


def on_disk(job: TrainingJob) -> Iterator[tuple[int, Path]]:
    """The whole checkpoints in a job's folder, by step."""
    found = []
    for folder in (job_folder(job) / OUTPUT).glob("checkpoint-*"):
        match = FOLDER.fullmatch(folder.name)
        if match and (folder / WRITTEN_LAST).is_file() and any(_weights(folder)):
            found.append((int(match[1]), folder))
    yield from sorted(found)


def latest(job: TrainingJob) -> Path | None:
    """The last whole checkpoint, from which a job goes on."""
    return max(on_disk(job), default=(0, None), key=lambda each: each[0])[1]


def remove_halves(job: TrainingJob) -> None:
    """Deletes what a crash left of a checkpoint being written; engines would write into it, or stumble."""
    whole = {folder for _, folder in on_disk(job)}
    for folder in (job_folder(job) / OUTPUT).glob("checkpoint-*"):
        if FOLDER.fullmatch(folder.name) and folder not in whole:
            shutil.rmtree(folder)


def register_new(job: TrainingJob) -> list[Checkpoint]:
    """Rows for checkpoints that have none yet; those whose folder is gone are marked as missing."""
    known = {each.step: each for each in job.checkpoints.all()}
    present = dict(on_disk(job))
    made = []
    for step, folder in present.items():
        row = known.get(step)
        if row is not None and row.state == Checkpoint.State.KEPT:
            continue
        measured = TrainingMetric.objects.filter(job=job, step=step).first()
        values = {
            "state": Checkpoint.State.KEPT,
            "host": settings.TRAINING.host,
            "folder": str(folder),
            "metrics": measured.values if measured else {},
            "digest": digest_of(folder),
            "bytes": sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()),
        }
        with transaction.atomic():
            row, _ = Checkpoint.objects.update_or_create(job=job, step=step, defaults=values)
            record(row, "registered", after={"step": step, "digest": row.digest})
        made.append(row)
    for step, row in known.items():
        if row.state == Checkpoint.State.KEPT and step not in present:
            row.state = Checkpoint.State.MISSING
            row.save(update_fields=["state"])
    return made


def add_measures(job: TrainingJob) -> None:
    """An evaluation's values may be logged after the checkpoint of its step was found."""
    for row in job.checkpoints.filter(state=Checkpoint.State.KEPT):
        measured = TrainingMetric.objects.filter(job=job, step=row.step).first()
        if measured and measured.values != row.metrics:
            row.metrics = measured.values
            row.save(update_fields=["metrics"])


def prune(job: TrainingJob) -> list[int]:
    """Deletes what the recipe's rule does not keep; the steps. Rows stay, marked as pruned."""
    rows = {each.step: each for each in job.checkpoints.filter(state=Checkpoint.State.KEPT)}
    held = [Held(step, row.metrics, _needed(row)) for step, row in rows.items()]
    steps = to_prune(held, last=recipe_from(job.recipe).keep_checkpoints)
    for step in steps:
        row, folder = rows[step], Path(rows[step].folder)
        if not folder.resolve().is_relative_to(job_folder(job).resolve()):
            raise ValueError(f"checkpoint {row.pk} is outside its job's folder: {folder}")
        with transaction.atomic():
            row.state = Checkpoint.State.PRUNED
            row.save(update_fields=["state"])
            record(row, "pruned", before={"state": "kept"}, after={"state": "pruned"})
        shutil.rmtree(folder, ignore_errors=True)
    return steps


def digest_of(folder: Path) -> str:
    """SHA-256 over names and contents of the weight files, in the order of their names."""
    digest = hashlib.sha256()
    for file in sorted(_weights(folder), key=lambda each: each.name):
        with file.open("rb") as content:
            digest.update(file.name.encode() + hashlib.file_digest(content, "sha256").digest())
    return digest.hexdigest()


def _weights(folder: Path) -> Iterator[Path]:
    """Those of the model; DeepSpeed's and the optimizer's own files are others."""
    for pattern in WEIGHTS:
        yield from (file for file in folder.glob(pattern) if file.name != "training_args.bin")


def _needed(row: Checkpoint) -> bool:
    served = row.serving not in {Checkpoint.Serving.NO, Checkpoint.Serving.FAILED}
    return row.pinned or served or row.continued_by.exists()
