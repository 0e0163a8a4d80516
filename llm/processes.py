"""Work in a process of its own, which ends with the one that started it."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
import socket
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from typing import Generic, TypeVar

PR_SET_PDEATHSIG = 1
MOST_WORKERS = 4

Item = TypeVar("Item")
Made = TypeVar("Made")


def end_with_parent(stop_signal: signal.Signals = signal.SIGTERM) -> None:
    """In a new child: have the kernel stop it when the process that started it dies, however that dies."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, stop_signal)


def beside(work: Callable[[Item], Made], items: Iterable[Item], *, workers: int = 1) -> Iterator[Made]:
    """`work` on each item, in order, in other processes while the caller uses what came before.

    For work that takes a processor: Python's threads share one. `work` and what it takes and gives have to be
    picklable, and it finds no Django set up. A single item is worked on here, since a process takes half a
    second to start. What `work` raises is raised in the item's place, and what `items` raises after the last
    item that it gave.
    """
    coming = _Coming(items)
    first = coming.take(workers + 1)  # one at work for each, and one that waits
    if len(first) < 2:
        yield from map(work, first)
    else:
        spawn = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(workers, mp_context=spawn, initializer=end_with_parent) as pool:
            at_work: deque[Future[Made]] = deque(pool.submit(work, item) for item in first)
            while at_work:
                made = at_work.popleft().result()
                at_work.extend(pool.submit(work, item) for item in coming.take(1))
                yield made
    if coming.fault:
        raise coming.fault


class _Coming(Generic[Item]):
    """Items taken a few at a time; what ends them early is kept until those before it have been used."""

    def __init__(self, items: Iterable[Item]) -> None:
        self._items = iter(items)
        self.fault: Exception | None = None

    def take(self, count: int) -> list[Item]:
        taken: list[Item] = []
        while len(taken) < count and self.fault is None:
            try:
                taken.append(next(self._items))
            except StopIteration:
                break
            except Exception as error:  # noqa: BLE001 (raised again in its place)
                self.fault = error
        return taken


def processors() -> int:
    """How many workers a work deserves that waits for nothing but them."""
    return min(os.cpu_count() or 1, MOST_WORKERS)


def free_port(preferred: int = 0) -> int:
    """`preferred` when it is free on the loopback address, else some free port."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", preferred))
        except OSError:
            probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
