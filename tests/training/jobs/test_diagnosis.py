"""Why a training ended: the words that the engines, the kernel, NCCL and Slurm leave behind."""

from __future__ import annotations

import pytest

from training.jobs.diagnosis import GOES_ON_BY_ITSELF, Ending, diagnose

ROOM = 2**36
TRACE = 'Traceback (most recent call last):\n  File "train.py", line 3, in <module>\n'
WRAPPED = "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n"


@pytest.mark.parametrize(
    ("log", "code", "ending", "said"),
    [
        (
            TRACE + "[rank0]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"
            + WRAPPED, 1, Ending.OUT_OF_MEMORY, "Tried to allocate 2.00 GiB",
        ),
        ("loading\n", -9, Ending.OUT_OF_MEMORY, "killed"),
        ("loading\n", 137, Ending.OUT_OF_MEMORY, "killed"),
        (TRACE + "OSError: [Errno 28] No space left on device\n", 1, Ending.DISK_FULL, "Make room"),
        (
            TRACE + "training.swift_plugin.rewards.RewardStoppedError: 40 of the latest 64 rewards are "
            "fallbacks\n", 1, Ending.REWARD_STOPPED, "40 of the latest 64",
        ),
        (
            "torch.distributed.elastic.rendezvous.api.RendezvousConnectionError: The connection to the C10d "
            "store has failed.\n",
            1, Ending.NODE_LOST, "RendezvousConnectionError",
        ),
        ("[rank1]: NCCL watchdog thread terminated: NCCL communicator timed out\n", 1, Ending.NODE_LOST, ""),
        ("step 3\n", None, Ending.NODE_LOST, "nothing was heard"),
        (
            TRACE + "ValueError: Cannot find valid samples, check `data/README.md`\n" + WRAPPED,
            1, Ending.FAILED, "ValueError: Cannot find valid samples",
        ),
        ("usage: swift rlhf\nswift: error: unrecognized arguments: --f\n", 2, Ending.FAILED, "unrecognized"),
        ("", 3, Ending.FAILED, "status 3: it printed nothing"),
        ("ValueError: an old one\n", 0, Ending.FINISHED, ""),
    ],
)  # fmt: skip
def test_endings(log: str, code: int | None, ending: Ending, said: str) -> None:
    found = diagnose(code, log, disk_free=ROOM)
    assert found.ending is ending
    assert said in found.message


def test_a_disk_without_room_is_named_whatever_the_engine_says() -> None:
    found = diagnose(1, "RuntimeError: [enforce fail at inline_container.cc:664]\n", disk_free=2**20)
    assert found.ending is Ending.DISK_FULL
    assert "0.0 GiB free" in found.message


@pytest.mark.parametrize(
    ("word", "ending"),
    [
        ("NODE_FAIL", Ending.NODE_LOST), ("PREEMPTED", Ending.NODE_LOST),
        ("OUT_OF_MEMORY", Ending.OUT_OF_MEMORY),
        ("TIMEOUT", Ending.FAILED),
    ],
)  # fmt: skip
def test_slurm_says_more_than_the_status(word: str, ending: Ending) -> None:
    assert diagnose(1, "step 3\n", disk_free=ROOM, word=word).ending is ending


def test_only_what_is_over_goes_on_by_itself() -> None:
    assert set(GOES_ON_BY_ITSELF) == {Ending.NODE_LOST, Ending.WORKER_LOST}


def test_a_long_message_is_cut() -> None:
    assert len(diagnose(1, f"ValueError: {'x' * 9_000}\n", disk_free=ROOM).message) < 700
