"""Why a training ended, told from its exit status, what it printed, and the state of the machine. Pure."""

from __future__ import annotations

import re
import signal
from dataclasses import dataclass
from enum import StrEnum


class Ending(StrEnum):
    FINISHED = "finished"
    CANCELLED = "cancelled"
    OUT_OF_MEMORY = "out_of_memory"
    DISK_FULL = "disk_full"
    NODE_LOST = "node_lost"
    WORKER_LOST = "worker_lost"
    REWARD_STOPPED = "reward_stopped"
    REFUSED = "refused"
    FAILED = "failed"


GOES_ON_BY_ITSELF = frozenset({Ending.NODE_LOST, Ending.WORKER_LOST})
"""What is over once it has happened; the others would happen again until a person mends the cause."""

MOST_INTERRUPTIONS = 5
"""A training that is interrupted more often than this without getting anywhere waits for a person."""

DISK_LEFT_BYTES = 64 * 2**20
"""Less than this is called full: a checkpoint that did not fit leaves some space behind."""

_DISK = re.compile(r"No space left on device|\[Errno 28\]|disk quota exceeded|ENOSPC", re.IGNORECASE)
_MEMORY = re.compile(
    r"OutOfMemoryError|CUDA out of memory|HIP out of memory|NPU out of memory|\bMemoryError\b|"
    r"DefaultCPUAllocator: (?:can't|not enough)|Cannot allocate memory|oom[-_ ]kill",
    re.IGNORECASE,
)
_NODE = re.compile(
    r"RendezvousConnectionError|RendezvousTimeoutError|RendezvousClosedError|"
    r"ncclRemoteError|ncclSystemError|NCCL.{0,80}(?:timeout|timed out)|"
    r"Watchdog caught collective operation timeout|SignalException: .*Process \d+ got signal|"
    r"Connection (?:closed by remote peer|reset by peer)|unhandled system error",
    re.IGNORECASE,
)
_REWARD = re.compile(r"RewardStoppedError: (.+)")
_RAISED = re.compile(
    r"^(?:\[rank\d+\]: ?)?((?:[A-Za-z_][\w.]*\.)?[A-Z]\w*(?:Error|Exception|Interrupt)(?:: .*)?)$",
    re.MULTILINE,
)
_WRAPPERS = ("CalledProcessError", "ChildFailedError", "RuntimeError: DataLoader worker")
MESSAGE_CHARACTERS = 600


@dataclass(frozen=True, slots=True)
class Diagnosis:
    ending: Ending
    message: str


def diagnose(code: int | None, log: str, *, disk_free: int, word: str = "") -> Diagnosis:
    """What a training's end means.

    `code` is the exit status, negative for a signal, None when nobody saw it; `log` the end of what this
    attempt printed; `disk_free` bytes; `word` Slurm's word for the job's state, where Slurm ran it.
    """
    if code == 0:
        return Diagnosis(Ending.FINISHED, "")
    if stopped := _REWARD.findall(log):
        return Diagnosis(Ending.REWARD_STOPPED, f"The reward stopped the training: {_short(stopped[-1])}")
    if _DISK.search(log) or disk_free < DISK_LEFT_BYTES:
        return Diagnosis(
            Ending.DISK_FULL,
            f"The disk is full ({disk_free / 2**30:.1f} GiB free). Make room, then resume: it goes on from "
            "the last whole checkpoint.",
        )
    if _MEMORY.search(log) or word == "OUT_OF_MEMORY" or code in (-signal.SIGKILL, 128 + signal.SIGKILL):
        return Diagnosis(Ending.OUT_OF_MEMORY, _memory(log, code, word))
    if word in {"NODE_FAIL", "BOOT_FAIL", "PREEMPTED"} or _NODE.search(log) or code is None:
        seen = _last_raised(log) or word or "nothing was heard of it any more"
        return Diagnosis(Ending.NODE_LOST, f"A machine or process of the training was lost: {seen}")
    if word == "TIMEOUT":
        return Diagnosis(Ending.FAILED, "Slurm's time limit ended it; resume to go on.")
    said = _last_raised(log) or _last_line(log) or "it printed nothing"
    return Diagnosis(Ending.FAILED, f"The engine ended with status {code}: {said}")


def _memory(log: str, code: int | None, word: str) -> str:
    found = _MEMORY.search(log)
    if found:
        line = log[log.rfind("\n", 0, found.start()) + 1 :].splitlines()[0]
        return f"Out of memory: {_short(line)}. A smaller device batch or a shorter cutoff needs less."
    by = "Slurm" if word else "the kernel, as a rule for want of memory"
    return f"It was killed (status {code}) by {by}."


def _last_raised(log: str) -> str:
    raised = [text for text in _RAISED.findall(log) if not any(each in text for each in _WRAPPERS)]
    return _short(raised[-1]) if raised else ""


def _last_line(log: str) -> str:
    lines = [line for line in log.splitlines() if line.strip()]
    return _short(lines[-1]) if lines else ""


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= MESSAGE_CHARACTERS else text[: MESSAGE_CHARACTERS - 1] + "…"
