"""The web server as it is started everywhere: it answers, lets requests finish, and leaves nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import psutil  # type: ignore[import-untyped]
import pytest

from llm.processes import free_port
from tests.stack.test_processes import is_running, within


@pytest.fixture
def server() -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, "-m", "config.server", "--port", str(port), "--workers", "2"],
        cwd=Path(__file__).parents[2],
        env={**os.environ, "WORKBENCH_MODE": "test"},
    )
    address = f"http://127.0.0.1:{port}/healthz"
    try:
        assert within(60, lambda: _answers(address))
        yield process, address
    finally:
        process.kill()
        process.wait()


def _answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(address, timeout=2) as answer:
            return bool(answer.read() == b"ok")
    except OSError:
        return False


def _workers(process: subprocess.Popen[bytes]) -> list[int]:
    return [child.pid for child in psutil.Process(process.pid).children(recursive=True)]


@pytest.mark.parametrize("death", [signal.SIGTERM, signal.SIGKILL])
def test_it_leaves_no_worker_behind(
    server: tuple[subprocess.Popen[bytes], str], death: signal.Signals
) -> None:
    process, address = server
    workers = _workers(process)
    assert len(workers) >= 2
    process.send_signal(death)
    assert within(40, lambda: not any(map(is_running, workers)))
    assert not _answers(address)


def test_a_worker_that_dies_is_replaced(server: tuple[subprocess.Popen[bytes], str]) -> None:
    process, address = server
    for worker in _workers(process):
        os.kill(worker, signal.SIGKILL)
    assert within(30, lambda: _answers(address))
