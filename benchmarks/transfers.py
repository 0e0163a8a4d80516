"""Files in and out at corpus size, each as one process: seconds, and megabytes at its peak.

    python -m benchmarks.transfers tasks [--items 20000]
    python -m benchmarks.transfers large [--gigabytes 1]

`tasks` imports tasks of two 1,500-character texts, has each reviewed (five verdicts and a note), and exports
the reviews. `large` imports a file of JSON lines of that size, kills it half way, and starts it again.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from benchmarks import loads
from benchmarks.results import keep
from benchmarks.texts import text

REVIEWS = """
    INSERT INTO curation_review (reconstruction_id, reviewer_id, decision, automatic, adjudication, seconds,
        created_at, withdrawn_because)
    SELECT id, %s, 'accept', false, false, 60, now(), '' FROM curation_reconstruction ORDER BY id
"""
VERDICTS = """
    INSERT INTO curation_checkverdict (review_id, check_name, verdict, note)
    SELECT review.id, checks.name, 'pass',
        CASE WHEN checks.name = 'task_clarity' THEN 'clear, and new' ELSE '' END
    FROM curation_review AS review,
        unnest(ARRAY['task_clarity', 'constraint_consistency', 'contextual_coherence',
            'substantive_variation', 'usable_length']) AS checks(name)
"""


@dataclass(frozen=True)
class Measured:
    """A command's time in seconds and the most memory that it held, in megabytes."""

    seconds: float
    megabytes: float
    killed: bool


def measure(command: list[str], kill_when: Callable[[], bool] | None = None) -> Measured:
    """Runs a manage.py command; with `kill_when` it is killed (SIGKILL) as soon as that is so."""
    started = time.perf_counter()
    process = subprocess.Popen([sys.executable, "manage.py", *command], stdout=subprocess.DEVNULL)
    killed = threading.Event()
    peak = 0.0
    watched = psutil.Process(process.pid)
    while process.poll() is None:
        try:
            peak = max(peak, watched.memory_info().rss / 2**20)
        except psutil.NoSuchProcess:
            break
        if kill_when and not killed.is_set() and kill_when():
            process.send_signal(signal.SIGKILL)
            killed.set()
        time.sleep(0.05)
    code = process.wait()
    assert killed.is_set() or code == 0, f"{command} ended with {code}"
    return Measured(time.perf_counter() - started, peak, killed.is_set())


def start_megabytes() -> float:
    """What a command that does nothing holds."""
    return measure(["check"]).megabytes


def write_tasks(path: Path, items: int, characters: int) -> None:
    with path.open("w", encoding="utf-8") as file:
        for number in range(items):
            row = {
                "id": number,
                "prompt": text(number, characters),
                "reconstruction": text(items + number, characters),
            }
            file.write(json.dumps(row, ensure_ascii=False) + "\n")


def write_large(path: Path, size: int) -> int:
    """Lines of 3,000 characters until the file has so many bytes; how many lines."""
    number = written = 0
    with path.open("wb") as file:
        while written < size:
            line = json.dumps({"prompt": text(number, 3_000)}, ensure_ascii=False).encode() + b"\n"
            file.write(line)
            number, written = number + 1, written + len(line)
    return number


def tasks(folder: Path, items: int) -> dict[str, Any]:
    from django.contrib.auth.models import User
    from django.db import connection

    from curation.models import Reconstruction

    path = folder / "tasks.jsonl"
    write_tasks(path, items, 1_500)
    taken = measure(
        ["import_prompts", str(path), "--field", "prompt", "--reconstruction-field", "reconstruction"]
    )
    assert Reconstruction.objects.count() == items
    reviewer = User.objects.create(username="benchmark-reviewer")
    Reconstruction.objects.update(state="accepted", wanted_reviews=1)
    with connection.cursor() as cursor:
        cursor.execute(REVIEWS, [reviewer.pk])
        cursor.execute(VERDICTS)
        cursor.execute("ANALYZE")
    given = {
        form: measure(["export_curation", "reviews", "--format", form, "--here"]) for form in ("jsonl", "csv")
    }
    return {
        "tasks": items,
        "import_seconds": round(taken.seconds, 1),
        "import_megabytes": round(taken.megabytes),
        **{f"export_{form}_seconds": round(one.seconds, 1) for form, one in given.items()},
        **{f"export_{form}_megabytes": round(one.megabytes) for form, one in given.items()},
    }


def large(folder: Path, gigabytes: float) -> dict[str, Any]:
    from curation.models import SourcePrompt

    path = folder / "large.jsonl"
    lines = write_large(path, int(gigabytes * 2**30))
    start = start_megabytes()
    command = ["import_prompts", str(path), "--field", "prompt", "--name", "large"]
    first = measure(command, kill_when=lambda: SourcePrompt.objects.count() > lines / 2)
    after_kill = SourcePrompt.objects.count()
    second = measure(command)
    assert first.killed
    return {
        "bytes": path.stat().st_size,
        "lines": lines,
        "prompts_when_killed": after_kill,
        "prompts_in_the_end": SourcePrompt.objects.count(),
        "first_seconds": round(first.seconds, 1),
        "second_seconds": round(second.seconds, 1),
        "megabytes_over_the_start": round(max(first.megabytes, second.megabytes) - start),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=["tasks", "large"])
    parser.add_argument("--items", type=int, default=20_000)
    parser.add_argument("--gigabytes", type=float, default=1.0)
    options = parser.parse_args()
    loads.set_up_django()
    with tempfile.TemporaryDirectory(dir=os.environ.get("WORKBENCH_STATE")) as folder:
        if options.part == "tasks":
            figures = tasks(Path(folder), options.items)
            good = figures["import_seconds"] <= 10 and figures["export_jsonl_seconds"] <= 8
            good = good and max(figures["import_megabytes"], figures["export_jsonl_megabytes"]) < 300
        else:
            figures = large(Path(folder), options.gigabytes)
            good = figures["prompts_in_the_end"] == figures["lines"]
            good = good and figures["megabytes_over_the_start"] < 300
    keep(f"transfers-{options.part}", figures)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
