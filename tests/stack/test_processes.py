"""Children: found ready, stopped with all they started, and never left behind."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from config.stack.processes import Child, ServiceError
from llm.processes import free_port

TWO_PROCESSES = "trap '' TERM; sleep 300 & echo $!; wait; wait"
"""A shell that stays on TERM, with a child; prints the child's id."""


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def within(seconds: float, condition: Callable[[], bool]) -> bool:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if condition():
            return True
        time.sleep(0.05)
    return condition()


def test_stopping_ends_what_the_child_started(tmp_path: Path) -> None:
    child = Child("two", ["sh", "-c", "sleep 300 & echo $!; wait"], tmp_path / "log")
    child.start()
    assert within(5, lambda: bool((tmp_path / "log").read_text().strip()))
    grandchild = int((tmp_path / "log").read_text())
    child.stop()
    assert not child.running
    assert within(5, lambda: not is_running(grandchild))


def test_a_child_that_does_not_listen_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("config.stack.processes.STOP_SECONDS", 0.5)
    child = Child("stubborn", ["sh", "-c", TWO_PROCESSES], tmp_path / "log")
    child.start()
    assert within(5, lambda: bool((tmp_path / "log").read_text().strip()))
    grandchild = int((tmp_path / "log").read_text())
    child.stop()
    assert not child.running
    assert within(5, lambda: not is_running(grandchild))


def test_a_killed_parent_takes_its_children_along(tmp_path: Path) -> None:
    program = (
        "import sys, time; from pathlib import Path; from config.stack.processes import Child\n"
        "child = Child('c', ['sleep', '300'], Path(sys.argv[1])); child.start()\n"
        "print(child.process.pid, flush=True); time.sleep(300)"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path / "log")], stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    assert is_running(child)
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    assert within(5, lambda: not is_running(child))


def test_a_child_that_ends_while_it_is_waited_for_shows_its_log(tmp_path: Path) -> None:
    child = Child("broken", ["sh", "-c", "echo the port is taken; exit 3"], tmp_path / "log")
    child.start()
    with pytest.raises(ServiceError, match=r"broken ended by itself(.|\n)*the port is taken"):
        child.wait_until(lambda: False, seconds=10)


def test_a_child_that_is_never_ready_is_reported(tmp_path: Path) -> None:
    child = Child("slow", ["sleep", "300"], tmp_path / "log")
    child.start()
    try:
        with pytest.raises(ServiceError, match="slow is not ready after"):
            child.wait_until(lambda: False, seconds=0.3)
    finally:
        child.stop()


def test_a_taken_port_is_passed_over() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert free_port(preferred=port) not in (0, port)
    assert free_port(preferred=port) == port
