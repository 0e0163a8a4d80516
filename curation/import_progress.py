"""How far an import is: from its row and from its run."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils import timezone

from curation.models import ImportFile
from llm.models import Run


@dataclass(frozen=True, slots=True)
class ImportProgress:
    """`share` is that of the file's bytes, from 0 to 1; `rate` counts rows a second while it is at work.

    `checking` is the time after the last row, in which near duplicates are looked for.
    """

    share: float
    rate: float | None
    expected_end: datetime | None
    live: bool
    checking: bool


def import_progress(row: ImportFile) -> ImportProgress:
    run = row.run
    waiting = row.state == ImportFile.State.WAITING
    live = waiting and run is not None and run.state in (Run.State.RUNNING, Run.State.PAUSED)
    share = 1.0 if row.state == ImportFile.State.DONE else min(row.bytes / row.size, 1.0) if row.size else 0.0
    rate = expected = None
    if live and run is not None and run.state == Run.State.RUNNING and run.started_at and row.rows:
        now = timezone.now()
        seconds = (now - run.started_at).total_seconds()
        rate = row.rows / seconds if seconds > 0 else None
        if 0 < share < 1:
            expected = now + timedelta(seconds=seconds * (1 - share) / share)
    return ImportProgress(share, rate, expected, live, live and share == 1.0)
