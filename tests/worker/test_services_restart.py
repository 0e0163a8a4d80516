"""Database and broker go away in the middle of a run and come back: the run ends, nothing lost or doubled.

The scenario has a database, a broker and a worker of its own, so that no other test is disturbed.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path

import psycopg
import pytest

from config.stack.postgres import embedded_postgres
from config.stack.services import embedded_broker
from llm.processes import free_port
from tests.simulated import SimulatedServer, simulated_server
from tests.worker.conftest import WorkerProcess
from tests.worker.test_killed_worker import until

pytestmark = pytest.mark.worker

BEGIN = """
import io, json
from curation.services import import_prompts, start_reconstruction
from llm.models import Endpoint
endpoint, _ = Endpoint.objects.get_or_create(
    name="simulated", base_url="{address}/v1", model="simulated", max_in_flight=8, constrained=True
)
lines = (json.dumps({{"prompt": f"Write a {kind} for neighbour number {{n}}."}}) for n in range({count}))
import_prompts(file=io.BytesIO("\\n".join(lines).encode()), file_name="r.jsonl", source_name="{kind}")
start_reconstruction(endpoint=endpoint)
"""


class Service:
    """Something that is started, stopped and started again at the same address."""

    def __init__(self, open_it: Callable[[], AbstractContextManager[str]]) -> None:
        self._open, self._stack = open_it, ExitStack()

    def start(self) -> str:
        return self._stack.enter_context(self._open())

    def stop(self) -> None:
        self._stack.close()


class Workbench:
    def __init__(self, folder: Path, server: SimulatedServer) -> None:
        port = free_port()
        self.database = Service(lambda: embedded_postgres(folder / "pg", folder / "pg.log"))
        self.broker = Service(lambda: embedded_broker(folder / "broker.log", port))
        self.server = server
        self.address = self.database.start()
        self.environment = {
            **os.environ,
            "DATABASE_URL": self.address,
            "CELERY_BROKER_URL": self.broker.start(),
            "WORKBENCH_STATE": str(folder / "state"),
            "ENGINE_LEASE_SECONDS": "3",
            "DJANGO_SETTINGS_MODULE": "config.settings",
        }
        self.worker = WorkerProcess(self.environment, folder / "worker.log")

    def manage(self, *arguments: str) -> None:
        subprocess.run([sys.executable, "manage.py", *arguments], env=self.environment, check=True)

    def begin(self, kind: str, count: int) -> None:
        self.manage("shell", "-c", BEGIN.format(address=self.server.address, kind=kind, count=count))

    def ask(self, query: str) -> list[tuple[object, ...]]:
        with psycopg.connect(self.address) as connection:
            return connection.execute(query).fetchall()

    def whole(self, runs: int, calls: int) -> None:
        """All runs are done, no item failed, and every question was asked and stored once."""
        assert self.ask("SELECT DISTINCT state FROM llm_runitem") == [("done",)]
        assert self.ask("SELECT state, count(*) FROM llm_run GROUP BY 1") == [("done", runs)]
        assert self.ask("SELECT count(*), count(DISTINCT key) FROM llm_completion") == [(calls, calls)]
        assert self.ask("SELECT sum(calls) FROM llm_run") == [(calls,)]
        assert self.ask("SELECT count(*) FROM curation_reconstruction") == [(calls,)]
        stats = self.server.stats()
        assert stats["calls"] == stats["distinct"] == calls

    def ended(self) -> bool:
        return self.ask("SELECT count(*) FROM llm_run WHERE state = 'running'") == [(0,)]


@pytest.fixture
def workbench() -> Iterator[Workbench]:
    # A short path, so that the database's socket stays where it is when it is started again.
    with tempfile.TemporaryDirectory(prefix="wb-") as name, simulated_server(0.15) as server:
        folder = Path(name)
        folder.chmod(0o755)
        made = Workbench(folder, server)
        with contextlib.ExitStack() as ending:
            ending.callback(made.database.stop)
            ending.callback(made.broker.stop)
            made.manage("migrate", "--verbosity", "0")
            made.worker.start()
            ending.callback(made.worker.kill)
            ending.callback(lambda: print(made.worker.log.read_text()[-4000:]))
            yield made


def test_database_and_broker_restart_in_the_middle_of_runs(workbench: Workbench) -> None:
    server = workbench.server
    workbench.begin("letter", 160)
    until(lambda: server.stats()["calls"] >= 40, "a quarter of the calls")
    workbench.database.stop()
    until(lambda: server.stats()["in_flight"] == 0, "the calls in flight to be answered")
    assert workbench.database.start() == workbench.address
    until(lambda: server.stats()["calls"] >= 100, "the run to go on")

    workbench.broker.stop()
    workbench.begin("speech", 24)  # nobody can be told of it
    until(workbench.ended, "both runs to end without a broker")
    workbench.whole(runs=2, calls=184)

    workbench.broker.start()
    workbench.begin("story", 8)
    until(workbench.ended, "a run after the broker is back")
    workbench.whole(runs=3, calls=192)


def test_a_stop_is_heeded_while_the_database_is_away(workbench: Workbench) -> None:
    workbench.begin("letter", 200)
    until(lambda: workbench.server.stats()["calls"] >= 20, "calls")
    workbench.database.stop()
    assert workbench.worker.stop() == 0
    workbench.database.start()
    workbench.worker.start()
    until(workbench.ended, "the run to end")
    assert workbench.ask("SELECT state, count(*) FROM llm_runitem GROUP BY 1") == [("done", 200)]
    assert workbench.ask("SELECT count(*) FROM llm_completion") == [(200,)]
