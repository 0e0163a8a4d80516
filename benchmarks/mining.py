"""Rubrics for a whole corpus on a simulated server: every call made once, and flat memory.

    python -m benchmarks.mining [--prompts 19000] [--in-flight 512] [--latency 1.0]

One worker mines all prompts by IRG. Prints and keeps: calls, calls per second, and the worker's memory when
a tenth, a half and all of the items had ended. Ends with 1 unless every prompt has its rubric, no question
was asked twice, and memory grew by less than a tenth after the first tenth.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import threading
import time
import urllib.request
from pathlib import Path

from benchmarks import loads
from benchmarks.engine import simulator
from benchmarks.results import keep

ACCEPTED = """
    INSERT INTO curation_corpusprompt (reconstruction_id, text, language, excluded_because, created_at)
    SELECT id, text, language, '', now() FROM curation_reconstruction ORDER BY id
"""
GROWTH = 1.10


def megabytes() -> float:
    """Resident memory of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def watch(run_id: int, total: int, samples: dict[int, float], over: threading.Event) -> None:
    """Takes the memory whenever another tenth of the items has ended."""
    from django.db import connection

    from llm.models import RunItem

    ended = RunItem.objects.filter(run_id=run_id).exclude(state__in=["pending", "leased"])
    while not over.wait(2):
        tenth = 10 * ended.count() // total
        if tenth not in samples:
            samples[tenth] = megabytes()
            print(f"{10 * tenth}%: {samples[tenth]:.0f} MB", flush=True)
    connection.close()


def mine(address: str, prompts: int, in_flight: int) -> bool:
    from django.db import connection

    from llm.engine.worker import work_on_run
    from llm.models import Completion, Endpoint, Run
    from rubrics.models import Rubric
    from rubrics.services import start_mining

    loads.fill(prompts, 600)
    with connection.cursor() as cursor:
        cursor.execute(ACCEPTED)
    endpoint = Endpoint.objects.create(
        name="simulated",
        base_url=f"{address}/v1",
        model="simulated",
        max_in_flight=in_flight,
        constrained=True,
    )
    run = start_mining(endpoint=endpoint)
    samples: dict[int, float] = {}
    over = threading.Event()
    watching = threading.Thread(target=watch, args=(run.pk, prompts, samples, over))
    watching.start()
    started = time.perf_counter()
    asyncio.run(work_on_run(run.pk))
    seconds = time.perf_counter() - started
    over.set()
    watching.join()
    run.refresh_from_db()
    with urllib.request.urlopen(f"{address}/stats") as response:
        stats = json.load(response)
    at_first, at_half, at_end = samples.get(1, 0.0), samples.get(5, 0.0), megabytes()
    keep(
        "mining",
        {
            "prompts": prompts,
            "rubrics": Rubric.objects.count(),
            "calls": run.calls,
            "asked_twice": stats["calls"] - stats["distinct"],
            "seconds": round(seconds),
            "calls_per_second": round(run.calls / seconds, 1),
            "megabytes_at_a_tenth": round(at_first),
            "megabytes_at_a_half": round(at_half),
            "megabytes_at_the_end": round(at_end),
        },
    )
    return (
        run.state == Run.State.DONE
        and Rubric.objects.count() == prompts
        and Completion.objects.count() == run.calls == stats["calls"] == stats["distinct"]
        and at_end <= at_first * GROWTH
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--prompts", type=int, default=19_000)
    parser.add_argument("--in-flight", type=int, default=512)
    parser.add_argument("--latency", type=float, default=1.0)
    options = parser.parse_args()
    loads.set_up_django()
    with simulator(options.latency, spread=0.0) as address:
        return 0 if mine(address, options.prompts, options.in_flight) else 1


if __name__ == "__main__":
    sys.exit(main())
