"""What an engine has written since the last look, into rows: metrics, assessed rollouts, the log's end."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from django.db import connection, transaction
from django.utils import timezone

from curation.models import CorpusPrompt
from training.jobs.engine_logs import Logged, read_line, speeds
from training.jobs.guard import LOG
from training.jobs.launching import ASSESSMENTS, OUTPUT, job_folder
from training.models import Rollout, TrainingJob

ENGINE_LOGS = ("trainer_log.jsonl", "logging.jsonl")
LOG_TAIL_BYTES = 16_000
LINES_AT_ONCE = 2_000

MERGE = """
    INSERT INTO training_trainingmetric (job_id, step, values) VALUES (%s, %s, %s::jsonb)
    ON CONFLICT (job_id, step) DO UPDATE
    SET values = training_trainingmetric.values || EXCLUDED.values
"""


@dataclass(frozen=True, slots=True)
class Line:
    """One whole line of a file; `place` and `end` are bytes from the file's beginning."""

    place: int
    end: int
    text: str


def read_new(job: TrainingJob) -> bool:
    """Stores what is new in the job's files, each line once; whether a further step was made.

    Lines and the place up to which they were read are stored in one transaction. A file that became shorter
    is read from its beginning. `job` is brought up to date.
    """
    folder, step = job_folder(job), job.step
    read_to = dict(job.read_to)
    with transaction.atomic():
        for name in ENGINE_LOGS:
            for line in _new_lines(folder / OUTPUT / name, name, read_to):
                if logged := read_line(line.text):
                    _store_metrics(job, logged)
        rows = [_rollout(job, line) for line in _new_lines(folder / ASSESSMENTS, ASSESSMENTS, read_to)]
        _store_rollouts([row for row in rows if row is not None])
        job.read_to = read_to
        job.log_tail = tail(folder / LOG)
        if job.step != step:
            job.last_step_at = timezone.now()
        job.save(update_fields=["read_to", "log_tail", "step", "total_steps", "expected_end", "last_step_at"])
    return job.step != step


def tail(path: Path, size: int = LOG_TAIL_BYTES, start: int = 0) -> str:
    """The end of a log as text, from `start` at the earliest; carriage returns begin lines of their own."""
    try:
        with path.open("rb") as file:
            file.seek(0, 2)
            file.seek(max(start, file.tell() - size))
            content = file.read(size)
    except FileNotFoundError:
        return ""
    text = content.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n").replace("\0", "�")
    return text if len(content) < size else text[text.find("\n") + 1 :]


def _new_lines(path: Path, name: str, read_to: dict[str, int]) -> Iterator[Line]:
    """Whole lines after the place noted in `read_to`, which is moved; a line still being written waits."""
    try:
        size = path.stat().st_size
    except FileNotFoundError:
        return
    place = read_to.get(name, 0)
    if place > size:
        place = 0
    with path.open("rb") as file:
        file.seek(place)
        for _ in range(LINES_AT_ONCE):
            content = file.readline()
            if not content.endswith(b"\n"):
                break
            yield Line(place, place + len(content), content.decode("utf-8", "replace"))
            place += len(content)
            read_to[name] = place


def _store_metrics(job: TrainingJob, logged: Logged) -> None:
    values = speeds(logged)
    if values:
        with connection.cursor() as cursor:
            cursor.execute(MERGE, [job.pk, logged.step, json.dumps(values)])
    job.step, job.total_steps = logged.step, logged.total or job.total_steps
    if logged.remaining is not None:
        job.expected_end = timezone.now() + timedelta(seconds=logged.remaining)


def _rollout(job: TrainingJob, line: Line) -> Rollout | None:
    """None for a line that a crash cut in two: the next attempt appends behind it."""
    try:
        entry: dict[str, Any] = json.loads(line.text)
        return Rollout(
            job=job,
            place=line.place,
            batch=entry["batch"],
            prompt_id=int(entry["id"]) if str(entry["id"]).isdigit() else None,
            rubric_digest=entry["rubric_digest"],
            reward=entry["reward"],
            fallback=entry["fallback"],
            failure=entry["failure"],
            items=entry["items"],
            text=entry["completion"].replace("\0", "�"),
            at=datetime.fromtimestamp(entry["at"], UTC),
        )
    except (ValueError, KeyError, TypeError):
        return None


def _store_rollouts(rows: list[Rollout]) -> None:
    wanted = {row.prompt_id for row in rows if row.prompt_id is not None}
    known = set(CorpusPrompt.objects.filter(pk__in=wanted).values_list("pk", flat=True))
    for row in rows:
        row.prompt_id = row.prompt_id if row.prompt_id in known else None
    Rollout.objects.bulk_create(rows, ignore_conflicts=True)
