"""Runs one command, and ends everything that it started: python -m training.jobs.guard FOLDER -- COMMAND…

    standard input closed (its worker died, or wants it to end) ─┐
    the command ended ───────────────────────────────────────────┴─► every descendant is stopped, then killed

The folder's lock is held as long as anything of the command lives, so that nothing is started twice in it; at
the end exit.json has the exit status. Knows no Django: it has to outlive every fault of the worker.
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import selectors
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import BinaryIO

import psutil

LOCK, LOG, EXIT = "lock", "log.txt", "exit.json"
STOP_SECONDS = 15.0
ALREADY_RUNNING, CANNOT_START = 75, 127
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36

_told_to_end: list[bool] = []


def main() -> int:
    folder, command = Path(sys.argv[1]), sys.argv[3:]
    with (folder / LOCK).open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return ALREADY_RUNNING
        # torchrun puts its workers into sessions of their own: as their reaper we still find them.
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda *_: _told_to_end.append(True))
        code = _run(folder, command)
        part = folder / f"{EXIT}.part"
        part.write_text(json.dumps({"code": code, "at": time.time()}))
        part.rename(folder / EXIT)
    return code if code >= 0 else 128 - code


def _run(folder: Path, command: list[str]) -> int:
    with (folder / LOG).open("ab") as log:
        try:
            process = _started(folder, command, log)
        except OSError as error:
            log.write(f"{command[0]} cannot be started: {error}\n".encode())
            return CANNOT_START
    _wait_for_end_or_order(process)
    _end_all(process)
    return process.wait()


def _started(folder: Path, command: list[str], log: BinaryIO) -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # noqa: S603 (what the worker was told to run)
        command,
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=subprocess.STDOUT,
        cwd=folder,
        start_new_session=True,
        preexec_fn=lambda: ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL),  # noqa: PLW1509
    )


def _wait_for_end_or_order(process: subprocess.Popen[bytes]) -> None:
    ended = os.pidfd_open(process.pid)
    with selectors.DefaultSelector() as either:
        either.register(ended, selectors.EVENT_READ)
        either.register(sys.stdin.fileno(), selectors.EVENT_READ)
        while process.poll() is None and not _told_to_end:
            ready = [key.fd for key, _ in either.select(1.0)]
            if sys.stdin.fileno() in ready and not os.read(sys.stdin.fileno(), 1024):
                return


def _end_all(process: subprocess.Popen[bytes]) -> None:
    """Asks everything below this process to end, then kills what is left, until nothing is."""
    me = psutil.Process()
    for each in me.children(recursive=True):
        _send(each, signal.SIGTERM)
    until = time.monotonic() + STOP_SECONDS
    while left := me.children(recursive=True):
        _reap(process)
        alive = [each for each in left if _status(each) not in {psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD}]
        if not alive:
            return
        if time.monotonic() > until:
            for each in alive:
                _send(each, signal.SIGKILL)
        time.sleep(0.1)


def _send(process: psutil.Process, number: signal.Signals) -> None:
    try:
        process.send_signal(number)
    except psutil.NoSuchProcess:
        return  # it ended meanwhile


def _status(process: psutil.Process) -> str:
    try:
        return str(process.status())
    except psutil.NoSuchProcess:
        return str(psutil.STATUS_DEAD)


def _reap(process: subprocess.Popen[bytes]) -> None:
    """Takes the status of orphans that came to us; the command's own is left to `process`."""
    process.poll()
    for each in psutil.Process().children():
        if each.pid != process.pid and _status(each) == psutil.STATUS_ZOMBIE:
            os.waitpid(each.pid, os.WNOHANG)


if __name__ == "__main__":
    sys.exit(main())
