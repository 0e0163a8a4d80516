"""The durable engine against a bare aiohttp client on the same simulated server, in one run.

    python -m benchmarks.engine [--calls 10000] [--in-flight 512] [--latency 4.0]

Prints and keeps: calls per second of both, their ratio, the engine process's peak memory, the share of
the time in which it waited for the database, and the share with what it did around that. Both sides send
the same requests over the same client library; the engine also looks up, stores and marks every call.
Lengths are those of discovery: prompts of 4,000 characters, answers of 600 words in the median, with a
spread of a factor of three either way.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from benchmarks.results import keep

PROMPT_CHARACTERS = 4_000
WORDS, SPREAD = 600, 0.5
TARGET_RATIO, TARGET_MEGABYTES, TARGET_DATABASE_SHARE = 0.90, 400, 0.10


@contextmanager
def simulator(latency: float, spread: float = SPREAD) -> Iterator[str]:
    """A simulated server in a process of its own; its address."""
    manner = ("--latency", str(latency), "--words", str(WORDS), "--spread", str(spread))
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.simulator", *manner],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.wait()


def prompt(number: int) -> str:
    return f"Request {number}: " + "write about the harbour at dawn. " * (PROMPT_CHARACTERS // 33)


async def bare_client(address: str, calls: int, in_flight: int) -> float:
    """Calls per second of aiohttp alone, discarding the answers."""
    import aiohttp

    slots = asyncio.Semaphore(in_flight)
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=in_flight)) as session:

        async def one(number: int) -> None:
            body = {
                "model": "simulated",
                "seed": number,
                "messages": [{"role": "user", "content": prompt(number)}],
            }
            async with slots, session.post(f"{address}/v1/chat/completions", json=body) as response:
                await response.json()

        started = time.perf_counter()
        await asyncio.gather(*(one(number) for number in range(calls)))
        return calls / (time.perf_counter() - started)


def engine_worker(address: str, calls: int, in_flight: int) -> dict[str, float]:
    """Works one run off in this process: calls per second and peak megabytes."""
    import django
    import psycopg

    django.setup()
    from django.conf import settings

    from llm.engine.steps import Step, register
    from llm.engine.worker import DatabaseThread, work_on_run
    from llm.models import Completion, Endpoint, Run
    from llm.services import start_run
    from llm.types import Chat, ChatMessage, ChatRequest
    from llm.types import Completion as Answer

    @register
    class OneCall(Step[int, Answer]):
        kind = "benchmark"
        label = "Benchmark"

        def load(self, subject_ids: Sequence[int]) -> Mapping[int, int]:
            return {pk: pk for pk in subject_ids}

        async def execute(self, subject: int, chat: Chat) -> Answer:
            return await chat(ChatRequest((ChatMessage("user", prompt(subject)),), "benchmark@1"))

        def store(self, results: Sequence[tuple[int, Answer]]) -> None:
            assert all(answer.text for _, answer in results)

    assert settings.CELERY_BROKER_URL
    endpoint = Endpoint.objects.create(
        name=f"benchmark-{os.getpid()}",
        base_url=f"{address}/v1",
        model=f"simulated-{os.getpid()}",
        max_in_flight=in_flight,
    )
    run = start_run(kind="benchmark", subject_ids=range(1, calls + 1), endpoint=endpoint)
    database, thread = timed(psycopg.Connection, "wait"), timed(DatabaseThread, "_patiently")
    started = time.perf_counter()
    asyncio.run(work_on_run(run.pk))
    seconds = time.perf_counter() - started
    run.refresh_from_db()
    assert (run.state, run.calls) == (Run.State.DONE, calls), (run.state, run.calls)
    assert Completion.objects.filter(run=run).count() == calls
    return {
        "calls_per_second": calls / seconds,
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "cpu_seconds": time.process_time(),
        "database_share": database() / seconds,
        "database_thread_share": thread() / seconds,
    }


def timed(owner: type[Any], name: str) -> Callable[[], float]:
    """Counts the seconds spent in a method, which are read by calling what is returned."""
    spent = 0.0
    method = getattr(owner, name)

    def counted(*arguments: object) -> object:
        nonlocal spent
        started = time.perf_counter()
        try:
            return method(*arguments)
        finally:
            spent += time.perf_counter() - started

    setattr(owner, name, counted)
    return lambda: spent


def engine_in_own_process(address: str, calls: int, in_flight: int) -> dict[str, float]:
    output = subprocess.run(
        [
            *(sys.executable, "-m", "benchmarks.engine", "--worker", address),
            *("--calls", str(calls), "--in-flight", str(in_flight)),
        ],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    ).stdout
    answer: dict[str, float] = json.loads(output.splitlines()[-1])
    return answer


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=10_000)
    parser.add_argument("--in-flight", type=int, default=512)
    parser.add_argument("--latency", type=float, default=4.0)
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    options = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    if options.worker:
        print(json.dumps(engine_worker(options.worker, options.calls, options.in_flight)))
        return 0
    subprocess.run([sys.executable, "manage.py", "migrate", "--verbosity", "0"], check=True)
    with simulator(options.latency) as address:
        bare = asyncio.run(bare_client(address, options.calls, options.in_flight))
    with simulator(options.latency) as address:
        engine = engine_in_own_process(address, options.calls, options.in_flight)
    ratio = engine["calls_per_second"] / bare
    keep(
        "engine",
        {
            "calls": options.calls,
            "in_flight": options.in_flight,
            "median_latency_seconds": options.latency,
            "bare_calls_per_second": round(bare, 1),
            "engine_calls_per_second": round(engine["calls_per_second"], 1),
            "ratio": round(ratio, 3),
            "engine_megabytes": round(engine["megabytes"]),
            "engine_cpu_seconds": round(engine["cpu_seconds"], 1),
            "database_share": round(engine["database_share"], 3),
            "database_thread_share": round(engine["database_thread_share"], 3),
        },
    )
    met = (
        ratio >= TARGET_RATIO
        and engine["megabytes"] < TARGET_MEGABYTES
        and engine["database_share"] < TARGET_DATABASE_SHARE
    )
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
