"""A real Celery worker in a process group of its own, on the test database, that can be killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest
from django.conf import settings
from django.db import connection

from tests.simulated import SimulatedServer, simulated_server


class WorkerProcess:
    """Starts, kills -9 and restarts `celery -A config worker`, as the README runs it."""

    def __init__(self, environment: dict[str, str], log: Path) -> None:
        self.environment, self.log = environment, log
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "celery", "-A", "config", "worker", "--pool", "threads", "-c", "4"],
                env=self.environment,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def kill(self) -> None:
        assert self.process is not None
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def stop(self) -> int:
        """Ends it as an operator would; its exit status."""
        assert self.process is not None
        self.process.terminate()
        return self.process.wait(timeout=30)


def database_url() -> str:
    """The address of the database that the tests use, for another process."""
    parts = connection.settings_dict
    query = {"host": parts["HOST"], "dbname": parts["NAME"], "user": parts["USER"]}
    if parts["PORT"]:
        query["port"] = str(parts["PORT"])
    if parts["PASSWORD"]:
        query["password"] = parts["PASSWORD"]
    return f"postgresql://?{urlencode(query)}"


@pytest.fixture
def worker(transactional_db: None, tmp_path: Path) -> Iterator[WorkerProcess]:
    environment = {
        **os.environ,
        "DATABASE_URL": database_url(),
        "ENGINE_LEASE_SECONDS": "3",
        "WORKBENCH_STATE": str(settings.MEDIA_ROOT.parent),
        "DJANGO_SETTINGS_MODULE": "config.settings",
    }
    running = WorkerProcess(environment, tmp_path / "worker.log")
    running.start()
    yield running
    if running.process and running.process.poll() is None:
        running.kill()


@pytest.fixture
def server() -> Iterator[SimulatedServer]:
    with simulated_server(latency=0.15) as running:
        yield running


@pytest.fixture(autouse=True)
def _own_state(settings: object) -> Iterator[None]:
    with tempfile.TemporaryDirectory() as folder:
        settings.MEDIA_ROOT = Path(folder) / "media"  # type: ignore[attr-defined]
        yield
