"""Who works on which job: every change of a job's state that a worker makes.

A job is claimed by one conditional update, so that a message which is delivered twice starts it once. From
then on it belongs to a host; a worker that has been silent for SILENT_SECONDS counts as dead there.
"""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.utils import timezone

from llm.audit import record
from training.jobs.diagnosis import GOES_ON_BY_ITSELF, MOST_INTERRUPTIONS, Diagnosis, Ending
from training.jobs.launchers import is_held
from training.jobs.launching import job_folder
from training.models import TrainingJob

SILENT_SECONDS = 30.0
QUEUED = "Queued in Slurm"
State = TrainingJob.State


def takeable() -> QuerySet[TrainingJob]:
    """Jobs that a worker on this host may take up now, the oldest first."""
    here = settings.TRAINING.host
    silent = timezone.now() - timedelta(seconds=SILENT_SECONDS)
    waiting = Q(state=State.WAITING) & (Q(host="") | Q(host=here))
    left_alone = Q(state=State.RUNNING, host=here) & (Q(last_seen_at=None) | Q(last_seen_at__lt=silent))
    return TrainingJob.objects.filter(waiting | left_alone).order_by("pk")


def may_take(job: TrainingJob) -> bool:
    """Whether this host may take a job up; a cancelled one that nobody works on is ended on the way."""
    if not takeable().filter(pk=job.pk).exists():
        return False
    if job.cancel_wanted:
        conclude(job, Diagnosis(Ending.CANCELLED, ""))
        return False
    # While its engine still lives under a guard, which ends it now, nothing is started.
    return settings.TRAINING.launcher == "slurm" or not is_held(job_folder(job))


def claim(job: TrainingJob) -> bool:
    """Makes the job this worker's; False when another was faster."""
    now = timezone.now()
    with transaction.atomic():
        row = takeable().select_for_update(skip_locked=True, of=("self",)).filter(pk=job.pk).first()
        if row is None:
            return False
        was_left = row.state == State.RUNNING
        if was_left and row.interruptions >= MOST_INTERRUPTIONS:
            conclude(job, Diagnosis(Ending.WORKER_LOST, "Its worker was lost again and again; look why."))
            return False
        row.state, row.host, row.notice = State.RUNNING, settings.TRAINING.host, "Preparing"
        row.attempts, row.ending, row.error, row.finished_at = row.attempts + 1, "", "", None
        row.interruptions += was_left
        row.started_at, row.last_seen_at, row.last_step_at = row.started_at or now, now, now
        row.save()
        if was_left:
            said = "The worker ended without a word (killed, or its machine restarted)"
            record(row, "interrupted", after={"ending": Ending.WORKER_LOST}, reason=said)
        record(row, "started", before={"attempts": row.attempts - 1}, after={"host": row.host})
    job.refresh_from_db()
    return True


def heartbeat(job: TrainingJob, *, waits: bool) -> bool:
    """Says that the job is being followed; whether a person wants it cancelled."""
    if waits != (job.notice == QUEUED):
        job.notice = QUEUED if waits else ""
    TrainingJob.objects.filter(pk=job.pk).update(last_seen_at=timezone.now(), notice=job.notice)
    return TrainingJob.objects.filter(pk=job.pk, cancel_wanted=True).exists()


def say_waiting(job: TrainingJob, notice: str) -> None:
    """Why a job waits; another machine may still take it."""
    changed = TrainingJob.objects.filter(pk=job.pk, state=State.WAITING).exclude(notice=notice)
    changed.update(notice=notice)


def give_back(job: TrainingJob, notice: str) -> None:
    """The start did not work out, for a reason outside the job: it waits again."""
    with transaction.atomic():
        TrainingJob.objects.filter(pk=job.pk, state=State.RUNNING).update(
            state=State.WAITING, notice=notice, attempts=F("attempts") - 1
        )
        record(job, "given back", after={"state": State.WAITING}, reason=notice)


def leave(job: TrainingJob) -> None:
    """The worker was stopped in an orderly way: the next one on this host goes on."""
    with transaction.atomic():
        moved = TrainingJob.objects.filter(pk=job.pk, state=State.RUNNING).update(
            state=State.WAITING, notice="Its worker was stopped; the next one on this machine goes on"
        )
        if moved:
            record(job, "left", after={"state": State.WAITING}, reason="The worker was stopped")


def conclude(job: TrainingJob, diagnosis: Diagnosis) -> None:
    """Ends a job, or lets it go on where what happened is over once it has happened."""
    ending = diagnosis.ending
    goes_on = ending in GOES_ON_BY_ITSELF and job.interruptions < MOST_INTERRUPTIONS and not job.cancel_wanted
    state = State.FAILED
    if goes_on:
        state = State.WAITING
    elif ending is Ending.FINISHED:
        state = State.DONE
    elif ending is Ending.CANCELLED:
        state = State.CANCELLED
    with transaction.atomic():
        row = TrainingJob.objects.select_for_update().get(pk=job.pk)
        row.state, row.ending, row.error = state, ending, diagnosis.message
        row.notice = "Interrupted; it goes on from the last checkpoint" if goes_on else ""
        row.interruptions += goes_on
        row.finished_at = None if goes_on else timezone.now()
        row.expected_end = None
        row.save()
        record(
            row, "interrupted" if goes_on else "ended", after={"state": state, "ending": ending},
            reason=diagnosis.message,
        )  # fmt: skip
    job.refresh_from_db()
