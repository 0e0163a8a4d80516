"""Starting a command and following it: under a guard on this machine, or by Slurm.

                       start ─► poll ─► poll ─► … ─► ended, with a status
                                  └───► stop (everything that the command started)

A Slurm job outlives the worker and is found again by its name; a guarded one ends with it.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import shlex
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from training.jobs.guard import EXIT, LOCK, LOG, STOP_SECONDS

SLURM_SCRIPT = "slurm.sh"
SLURM_SECONDS = 60
GONE_SECONDS = 60.0
"""Slurm forgets a job that ended; through a network disk its status may be seen this much later."""

SLURM_ENDED = {
    "BOOT_FAIL",
    "CANCELLED",
    "DEADLINE",
    "FAILED",
    "NODE_FAIL",
    "OUT_OF_MEMORY",
    "PREEMPTED",
    "TIMEOUT",
}


class LaunchError(Exception):
    """The command could not be started; the message is for a person."""


@dataclass(frozen=True, slots=True)
class Status:
    """`word` is Slurm's own for the state; `code` the exit status, None where nobody saw it."""

    running: bool
    code: int | None = None
    word: str = ""


class Launched(Protocol):
    handle: str

    def poll(self) -> Status: ...

    def stop(self) -> None: ...


def is_held(folder: Path) -> bool:
    """Whether something that was started in a folder under a guard still lives."""
    if not (folder / LOCK).exists():
        return False
    with (folder / LOCK).open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return True
    return False


def exit_code(folder: Path) -> int | None:
    """The status that the guard, or Slurm's script, wrote down."""
    try:
        return int(json.loads((folder / EXIT).read_text())["code"])
    except (FileNotFoundError, ValueError, KeyError):
        return None


class Guarded:
    """A command under `training.jobs.guard`. The pipe to the guard is the order to go on: closed, it ends."""

    def __init__(self, folder: Path, arguments: Sequence[str], environment: Mapping[str, str]) -> None:
        """Raises LaunchError when something is alive in the folder already."""
        if is_held(folder):
            raise LaunchError(f"something that was started before still runs in {folder}")
        (folder / EXIT).unlink(missing_ok=True)
        guard = Path(__file__).resolve().parent / "guard.py"
        self._folder = folder
        self._process = subprocess.Popen(  # noqa: S603 (arguments of validated recipes, no shell)
            [sys.executable, str(guard), str(folder), "--", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=dict(environment),
            start_new_session=True,
        )
        self.handle = str(self._process.pid)

    def poll(self) -> Status:
        code = self._process.poll()
        if code is None:
            return Status(running=True)
        written = exit_code(self._folder)
        return Status(running=False, code=code if written is None else written)

    def stop(self) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        try:
            self._process.wait(STOP_SECONDS * 2)
        except subprocess.TimeoutExpired:
            # Killed itself, it takes the command's first process along.
            self._process.kill()
            self._process.wait()


class Slurm:
    """A job of a cluster, by sbatch, squeue and scancel; one task on each node meets the others."""

    def __init__(self, folder: Path, handle: str) -> None:
        self.handle = handle
        self._folder, self._word, self._gone_since = folder, "", 0.0

    @classmethod
    def submit(
        cls,
        folder: Path,
        name: str,
        environment: Mapping[str, str],
        *,
        nodes: int,
        gpus: int,
        port: int,
        options: Sequence[str] = (),
    ) -> Slurm:
        """Queues the folder's run.sh; a job of this name that is queued or runs is taken instead.

        `options` are the operator's (partition, account, time). Raises LaunchError with Slurm's own words.
        """
        if found := _slurm("squeue", "--noheader", "--name", name, "--format", "%A").split():
            return cls(folder, found[0])
        (folder / EXIT).unlink(missing_ok=True)
        (folder / SLURM_SCRIPT).write_text(_script(folder, nodes, port), encoding="utf-8")
        wanted = [f"--job-name={name}", f"--nodes={nodes}", "--ntasks-per-node=1", f"--chdir={folder}"]
        wanted += [f"--output={folder / LOG}", "--open-mode=append", "--export=ALL"]
        wanted += [f"--gpus-per-node={gpus}"] if gpus else []
        answer = _slurm(
            "sbatch", "--parsable", *options, *wanted, str(folder / SLURM_SCRIPT), env=environment
        )
        return cls(folder, answer.strip().split(";")[0])

    def poll(self) -> Status:
        code = exit_code(self._folder)
        if code is not None:
            return Status(running=False, code=code, word=self._word)
        word = _state(self.handle)
        if word:
            self._word, self._gone_since = word, 0.0
            return Status(running=word not in SLURM_ENDED, word=word)
        self._gone_since = self._gone_since or time.monotonic()
        if time.monotonic() - self._gone_since < GONE_SECONDS:
            return Status(running=True, word=self._word)
        return Status(running=False, word=self._word)

    def stop(self) -> None:
        _slurm("scancel", self.handle)
        until = time.monotonic() + SLURM_SECONDS
        while (word := _state(self.handle)) and word not in SLURM_ENDED and time.monotonic() < until:
            time.sleep(0.5)


def _state(handle: str) -> str:
    """Slurm's word for a job's state; empty text when Slurm no longer knows the job."""
    shown = subprocess.run(  # noqa: S603 (a number that Slurm gave)
        ["squeue", "--noheader", "--jobs", handle, "--format", "%T"],  # noqa: S607
        check=False,
        capture_output=True,
        text=True,
        timeout=SLURM_SECONDS,
    )
    if shown.returncode and "Invalid job id" not in shown.stderr:
        # Slurm's controller is away for a moment: nothing is known, so nothing is concluded.
        return "UNKNOWN"
    return shown.stdout.strip().split("\n")[0].strip()


def _script(folder: Path, nodes: int, port: int) -> str:
    place, written = shlex.quote(str(folder)), shlex.quote(str(folder / EXIT))
    lines = ["#!/bin/bash", f"cd -- {place}"]
    if nodes > 1:
        lines += [
            'MASTER_ADDR="$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)"',
            f"export MASTER_ADDR MASTER_PORT={port}",
            "srun --kill-on-bad-exit=1 bash -c 'export NODE_RANK=$SLURM_PROCID; exec bash run.sh'",
        ]
    else:
        lines += ["srun bash run.sh"]
    lines += ["code=$?", f'echo "{{\\"code\\": $code}}" >{written}.part && mv {written}.part {written}']
    return "\n".join([*lines, "exit $code", ""])


def _slurm(*command: str, env: Mapping[str, str] | None = None) -> str:
    try:
        shown = subprocess.run(  # noqa: S603 (Slurm's own programs, no shell)
            command,
            check=False,
            capture_output=True,
            text=True,
            timeout=SLURM_SECONDS,
            env=dict(env) if env is not None else None,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise LaunchError(f"{command[0]}: {error}") from error
    if shown.returncode:
        raise LaunchError(f"{command[0]} refused: {(shown.stderr or shown.stdout).strip()}")
    return shown.stdout
