"""The durable engine against a bare aiohttp client on the same simulated server, in one run.

    python -m benchmarks.engine [--calls 4000] [--in-flight 256] [--latency 1.0]

Prints and keeps: calls per second of both, their ratio, and the engine process's peak memory. Both sides
send the same requests over the same client library; the engine also looks up, stores and marks every call.
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
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from benchmarks.results import keep

PROMPT_CHARACTERS = 1_500
TARGET_RATIO, TARGET_MEGABYTES = 0.90, 350


@contextmanager
def simulator(latency: float) -> Iterator[str]:
    """A simulated server in a process of its own; its address."""
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.simulator", "--latency", str(latency)],
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

    django.setup()
    from django.conf import settings

    from llm.engine.steps import Step, register
    from llm.engine.worker import work_on_run
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
    }


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
    parser.add_argument("--calls", type=int, default=4_000)
    parser.add_argument("--in-flight", type=int, default=256)
    parser.add_argument("--latency", type=float, default=1.0)
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
            "latency_seconds": options.latency,
            "bare_calls_per_second": round(bare, 1),
            "engine_calls_per_second": round(engine["calls_per_second"], 1),
            "ratio": round(ratio, 3),
            "engine_megabytes": round(engine["megabytes"]),
            "engine_cpu_seconds": round(engine["cpu_seconds"], 1),
        },
    )
    return 0 if ratio >= TARGET_RATIO and engine["megabytes"] < TARGET_MEGABYTES else 1


if __name__ == "__main__":
    sys.exit(main())
