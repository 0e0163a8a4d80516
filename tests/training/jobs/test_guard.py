"""The guard with real processes: what a training starts ends with it, in whatever session it hides."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from training.jobs.launchers import Guarded, LaunchError, exit_code, is_held

ENVIRONMENT = {"PATH": os.environ["PATH"]}
FAMILY = """
import os, signal, subprocess, sys, time
stubborn = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
code = stubborn if "stubborn" in sys.argv else "import time; time.sleep(600)"
hidden = subprocess.Popen([sys.executable, "-c", code], start_new_session=True)
print(hidden.pid, flush=True)
time.sleep(0.3 if "short" in sys.argv else 600)
"""


def until(true: Callable[[], bool], seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)


def python(code: str, *arguments: str) -> list[str]:
    return [sys.executable, "-c", code, *arguments]


def alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def hidden_child(folder: Path) -> int:
    until(lambda: (folder / "log.txt").exists() and (folder / "log.txt").read_text().endswith("\n"))
    return int((folder / "log.txt").read_text())


def test_status_and_output_are_kept(tmp_path: Path) -> None:
    running = Guarded(tmp_path, python("import sys; print('said'); sys.exit(3)"), ENVIRONMENT)
    until(lambda: not running.poll().running)
    assert running.poll().code == exit_code(tmp_path) == 3
    assert (tmp_path / "log.txt").read_text() == "said\n"
    assert not is_held(tmp_path)


def test_a_signal_is_told_as_one(tmp_path: Path) -> None:
    running = Guarded(tmp_path, python("import os; os.kill(os.getpid(), 9)"), ENVIRONMENT)
    until(lambda: not running.poll().running)
    assert running.poll().code == -signal.SIGKILL


@pytest.mark.parametrize("kind", ["polite", "stubborn"])
def test_stopping_ends_children_in_sessions_of_their_own(tmp_path: Path, kind: str) -> None:
    running = Guarded(tmp_path, python(FAMILY, kind), ENVIRONMENT)
    child = hidden_child(tmp_path)
    assert is_held(tmp_path)
    running.stop()
    assert not alive(child)
    assert not running.poll().running
    assert not is_held(tmp_path)


def test_what_the_command_left_behind_ends_with_it(tmp_path: Path) -> None:
    running = Guarded(tmp_path, python(FAMILY, "short"), ENVIRONMENT)
    child = hidden_child(tmp_path)
    until(lambda: not running.poll().running)
    assert running.poll().code == 0
    assert not alive(child)


def test_a_killed_worker_takes_everything_along(tmp_path: Path) -> None:
    worker = f"""
import time
from pathlib import Path
from training.jobs.launchers import Guarded
Guarded(Path({str(tmp_path)!r}), {python(FAMILY)!r}, {ENVIRONMENT!r})
time.sleep(600)
"""
    process = subprocess.Popen(python(worker))
    child = hidden_child(tmp_path)
    process.kill()
    process.wait()
    until(lambda: not is_held(tmp_path))
    assert not alive(child)
    assert json.loads((tmp_path / "exit.json").read_text())["code"] == -signal.SIGTERM


def test_nothing_is_started_twice_in_a_folder(tmp_path: Path) -> None:
    running = Guarded(tmp_path, python(FAMILY), ENVIRONMENT)
    hidden_child(tmp_path)
    with pytest.raises(LaunchError, match="still runs in"):
        Guarded(tmp_path, python("print('twice')"), ENVIRONMENT)
    # Even one that does not look first is turned away by the lock.
    guard = Path("training/jobs/guard.py").resolve()
    second = subprocess.run(
        [sys.executable, str(guard), str(tmp_path), "--", *python("print('twice')")],
        stdin=subprocess.DEVNULL, check=False,
    )  # fmt: skip
    assert second.returncode == 75
    running.stop()
    assert "twice" not in (tmp_path / "log.txt").read_text()


def test_a_guard_that_is_asked_to_end_ends_its_command(tmp_path: Path) -> None:
    running = Guarded(tmp_path, python(FAMILY), ENVIRONMENT)
    child = hidden_child(tmp_path)
    os.kill(int(running.handle), signal.SIGTERM)
    os.kill(int(running.handle), signal.SIGTERM)
    until(lambda: not running.poll().running)
    assert not alive(child)


def test_a_program_that_is_not_there_is_a_status(tmp_path: Path) -> None:
    running = Guarded(tmp_path, ["/nowhere/swift"], ENVIRONMENT)
    until(lambda: not running.poll().running)
    assert running.poll().code not in (0, None)
    assert "/nowhere/swift" in (tmp_path / "log.txt").read_text()
