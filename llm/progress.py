"""Following a run from the command line: a progress bar over what Postgres says, and what came of it."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from django.core.management.base import CommandError
from django.db import connection
from django.db.models import Count
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeRemainingColumn,
)

from llm.engine import queue
from llm.engine.steps import step_labels
from llm.engine.worker import work_on_run
from llm.models import Run, RunItem

NO_WORKER_SECONDS = 15.0
POLL_SECONDS = 0.5

console = Console()


class RunStoppedError(CommandError):
    """The run paused or was cancelled before it was done."""


def follow(run: Run, *, here: bool) -> Run:
    """Waits for the end of a run; with `here` this process does the work itself, else workers do.

    Raises RunStoppedError, with the reason and what to do, when it pauses; raises KeyboardInterrupt
    through, leaving the run to the workers.
    """
    if run.state == Run.State.DONE and run.total == 0:
        console.print(f"{_label(run)}: nothing waits")
        return run
    with _bar(run) as show, _work_here(run, here):
        run = _wait(run, show, here)
    _conclude(run)
    return run


def _wait(run: Run, show: Progress, here: bool) -> Run:
    task = show.tasks[0].id
    started = time.monotonic()
    while True:
        run = Run.objects.get(pk=run.pk)
        counts = dict(run.items.order_by().values_list("state").annotate(n=Count("pk")))
        ended = counts.get(RunItem.State.DONE, 0) + counts.get(RunItem.State.FAILED, 0)
        show.update(task, completed=ended, calls=run.calls, notice=run.notice)
        if run.state != Run.State.RUNNING:
            return run
        if not here and run.started_at is None and time.monotonic() - started > NO_WORKER_SECONDS:
            show.update(
                task, notice="no worker has taken it up: start one (celery -A config worker) or use --here"
            )
        time.sleep(POLL_SECONDS)


def _conclude(run: Run) -> None:
    if run.state != Run.State.DONE:
        raise RunStoppedError(
            f"{_label(run)} is {run.state}: {run.notice or 'no reason given'}. "
            f"Mend the cause, then: manage.py run {run.pk} --continue"
        )
    failures = run.items.filter(state=RunItem.State.FAILED).order_by()
    line = f"{_label(run)}: {run.total - failures.count()} of {run.total} done"
    if run.calls or run.replayed:
        line += f", {run.calls} calls, {run.replayed} replayed, {run.completion_tokens} tokens written"
    console.print(line)
    for kind, count in failures.values_list("error_kind").annotate(n=Count("pk")):
        example = failures.filter(error_kind=kind).values_list("error_message", flat=True).first()
        console.print(f"  {count} failed ({kind}), e.g. {example}", markup=False)


def _label(run: Run) -> str:
    return f"{step_labels().get(run.kind, run.kind)} (run {run.pk})"


@contextmanager
def _bar(run: Run) -> Iterator[Progress]:
    with Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[calls]} calls"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[notice]}", markup=False),
        console=console,
    ) as progress:
        progress.add_task(_label(run), total=run.total, calls=0, notice="")
        yield progress


@contextmanager
def _work_here(run: Run, here: bool) -> Iterator[None]:
    if not here:
        yield
        return
    stop = threading.Event()
    worker = threading.Thread(target=_work_until_done, args=(run.pk, stop), daemon=True)
    worker.start()
    try:
        yield
    finally:
        stop.set()
        worker.join()


def _work_until_done(run_id: int, stop: threading.Event) -> None:
    """Takes the run up again as long as it wants a worker (a lease left by a dead one has to run out)."""
    try:
        while not stop.is_set() and Run.objects.filter(pk=run_id, state=Run.State.RUNNING).exists():
            if run_id in queue.runs_wanting_workers():
                asyncio.run(work_on_run(run_id, stop))
            stop.wait(0.2)
    finally:
        connection.close()
