"""A simulated model server in a process of its own, and what it has seen."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from llm.models import Endpoint


@dataclass(frozen=True)
class SimulatedServer:
    address: str

    def stats(self) -> dict[str, int]:
        """`calls` received, `distinct` requests among them, `in_flight`, `most_in_flight`; 429s."""
        with urllib.request.urlopen(f"{self.address}/stats") as response:
            answer: dict[str, int] = json.load(response)
        return answer

    def fail_next(self, *faults: str) -> None:
        """The next calls get these instead of an answer: a status, 'html' or 'hang'."""
        request = urllib.request.Request(
            f"{self.address}/faults",
            data=json.dumps(faults).encode(),
            headers={"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request) as response:
            response.read()

    def endpoint(self, **settings: Any) -> Endpoint:
        return Endpoint.objects.create(
            **{
                "name": "simulated",
                "base_url": f"{self.address}/v1",
                "model": "simulated",
                "max_in_flight": 16,
                "constrained": True,
                **settings,
            }
        )


@contextmanager
def simulated_server(latency: float, **manner: float) -> Iterator[SimulatedServer]:
    """A server with this `benchmarks.simulator.Manner`, on a free port or on `port`."""
    options = [word for name, value in manner.items() for word in (f"--{name}", str(value))]
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.simulator", "--latency", str(latency), *options],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        yield SimulatedServer(process.stdout.readline().strip())
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
