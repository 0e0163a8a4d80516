"""Work beside: in order, in another process, and never left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from llm.processes import beside
from tests.stack.test_processes import is_running, within

HANGS = """
import os, sys, time
from llm.processes import beside
from tests.llm.test_processes import where
if __name__ == "__main__":
    for process in beside(where, range(1_000_000)):
        print(process, flush=True)
        time.sleep(0.2)
"""


def where(_: int) -> int:
    return os.getpid()


def tenfold(number: int) -> int:
    if number == 3:
        raise ValueError("three")
    return 10 * number


def double(number: int) -> int:
    return 2 * number


def test_order_is_kept_and_another_process_does_the_work() -> None:
    assert list(beside(tenfold, [5, 1, 4, 0, 2])) == [50, 10, 40, 0, 20]
    processes = set(beside(where, range(5)))
    assert len(processes) == 1
    assert processes != {os.getpid()}
    assert list(beside(tenfold, [5, 1, 4, 0, 2], workers=3)) == [50, 10, 40, 0, 20]


def test_one_item_or_none_needs_no_process() -> None:
    assert list(beside(where, [7])) == [os.getpid()]
    assert list(beside(where, [])) == []


def test_items_are_taken_as_they_are_needed() -> None:
    taken: list[int] = []
    made = beside(tenfold, (taken.append(number) or number for number in range(100)))  # type: ignore[func-returns-value]
    next(made)
    assert len(taken) <= 4
    made.close()  # type: ignore[attr-defined]


def test_an_error_comes_in_the_place_of_its_item() -> None:
    made = beside(tenfold, [1, 2, 3, 4])
    assert [next(made), next(made)] == [10, 20]
    with pytest.raises(ValueError, match="three"):
        next(made)


@pytest.mark.parametrize("count", [0, 1, 5])
def test_what_came_before_a_fault_of_the_items_is_used(count: int) -> None:
    def items() -> Iterator[int]:
        yield from range(count)
        raise OSError("damaged")

    made = beside(double, items(), workers=2)
    assert [next(made) for _ in range(count)] == [2 * number for number in range(count)]
    with pytest.raises(OSError, match="damaged"):
        next(made)


def test_it_ends_with_a_process_that_is_killed(tmp_path: Path) -> None:
    script = tmp_path / "hangs.py"
    script.write_text(HANGS)
    root = Path(__file__).parents[2]
    with subprocess.Popen(
        [sys.executable, str(script)],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(root)},
        cwd=root,
    ) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        assert is_running(child)
        parent.send_signal(signal.SIGKILL)
    assert within(10, lambda: not is_running(child))
