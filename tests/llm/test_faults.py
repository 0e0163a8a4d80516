"""A run on a server that bears little, restarts, errs and hangs: it ends, and nothing is lost or doubled."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from llm.engine import worker
from llm.models import Completion, Endpoint, Run, RunWorker
from llm.processes import free_port
from llm.services import start_run
from tests.llm.test_engine import TwoCalls, in_background, states, until, work
from tests.simulated import SimulatedServer, simulated_server

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch, settings: object) -> None:
    TwoCalls.outcomes.clear()
    settings.ENGINE_LEASE_SECONDS = 3  # type: ignore[attr-defined]
    monkeypatch.setattr(worker, "WATCH_SECONDS", 0.2)


def finish(run: Run, thread: threading.Thread) -> None:
    until(lambda: not thread.is_alive(), seconds=90)
    run.refresh_from_db()


def whole(run: Run, items: int) -> None:
    """Every item is done, and each of its two calls is stored once."""
    assert (run.state, states(run)) == (Run.State.DONE, {"done": items}), run.notice
    assert set(TwoCalls.outcomes) == set(range(items))
    assert run.calls == Completion.objects.filter(run=run).count() == 2 * items


def held(run: Run, condition: Callable[[RunWorker], bool]) -> bool:
    return any(condition(each) for each in run.workers.all())


def test_calls_at_once_fall_to_what_a_server_bears_that_says_429() -> None:
    with simulated_server(0.1, bears=6) as server:
        run = start_run(
            kind="test-two-calls", subject_ids=range(60), endpoint=server.endpoint(max_in_flight=48)
        )
        thread = in_background(run)
        until(lambda: held(run, lambda each: each.allowed <= 12 and "429" in each.held_because), seconds=60)
        finish(run, thread)
        whole(run, 60)
        stats = server.stats()
        assert stats["calls"] - stats["refused"] == stats["distinct"] == 120


def test_calls_at_once_fall_to_a_short_queue_where_the_server_reports_it() -> None:
    with simulated_server(0.3, capacity=4) as server:
        run = start_run(
            kind="test-two-calls", subject_ids=range(60), endpoint=server.endpoint(max_in_flight=48)
        )
        thread = in_background(run)
        until(lambda: held(run, lambda each: each.allowed <= 8 and "queue" in each.held_because), seconds=60)
        until(lambda: server.stats()["in_flight"] <= 8)
        finish(run, thread)
        whole(run, 60)


def test_a_server_that_bears_everything_is_used_to_the_limit(server: SimulatedServer) -> None:
    endpoint = server.endpoint(max_in_flight=24)
    whole(work(start_run(kind="test-two-calls", subject_ids=range(100), endpoint=endpoint)), 100)
    assert server.stats()["most_in_flight"] == 24


def test_a_server_that_is_killed_and_started_again() -> None:
    port = free_port()
    with simulated_server(0.1, port=port) as server:
        run = start_run(kind="test-two-calls", subject_ids=range(60), endpoint=server.endpoint())
        thread = in_background(run)
        until(lambda: server.stats()["calls"] >= 40)
    until(lambda: "Trying again" in Run.objects.get(pk=run.pk).notice)
    with simulated_server(0.02, port=port):
        finish(run, thread)
    whole(run, 60)


def test_one_call_in_twenty_errs_and_one_in_fifty_hangs() -> None:
    with simulated_server(0.02, errors=0.05, hangs=0.02) as server:
        endpoint: Endpoint = server.endpoint(timeout_seconds=2, max_in_flight=32)
        whole(work(start_run(kind="test-two-calls", subject_ids=range(300), endpoint=endpoint)), 300)
        stats = server.stats()
        assert stats["distinct"] == 600
        assert 620 <= stats["calls"] <= 680
