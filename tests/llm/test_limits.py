"""What a run may cost: it pauses there, says so, and goes on when somebody raises the limit."""

from __future__ import annotations

import pytest

from llm.engine.limits import Limits, Spent, reached
from llm.models import Completion, Run, RunItem
from llm.selectors import run_estimate, run_progress
from llm.services import clone_run, continue_run, limit_run, start_run
from tests.llm.test_engine import in_background, states, work
from tests.simulated import SimulatedServer

pytestmark = pytest.mark.django_db(transaction=True)


def limited(server: SimulatedServer, items: int = 100, parallelism: int = 1, **limits: int) -> Run:
    endpoint = server.endpoint(max_in_flight=4)
    run = start_run(
        kind="test-two-calls", subject_ids=range(items), endpoint=endpoint, parallelism=parallelism
    )
    limit_run(run_id=run.pk, **{"max_calls": None, "max_tokens": None, **limits})
    run.refresh_from_db()
    return run


@pytest.mark.parametrize(
    ("limits", "spent", "said"),
    [
        (Limits(), Spent(10**9, 10**9), ""),
        (Limits(calls=10), Spent(9, 10**9), ""),
        (Limits(calls=10), Spent(10, 0), "10 calls"),
        (Limits(tokens=1_000), Spent(5, 1_200), "1,000 tokens is reached (1,200 spent)"),
    ],
)
def test_a_limit_is_reached_by_what_it_counts(limits: Limits, spent: Spent, said: str) -> None:
    assert said in reached(limits, spent)
    assert bool(reached(limits, spent)) == bool(said)


def test_a_run_pauses_at_its_limit_of_calls_and_goes_on_when_it_is_raised(server: SimulatedServer) -> None:
    run = work(limited(server, max_calls=50))
    assert run.state == Run.State.PAUSED
    assert "The limit of 50 calls is reached" in run.notice
    assert 50 <= run.calls <= 54
    assert not run.items.filter(state__in=["failed", "leased"]).exists()
    assert continue_run(run_id=run.pk)
    assert work(run).calls <= 58  # what was in flight, and no more
    limit_run(run_id=run.pk, max_calls=10_000, max_tokens=None)
    assert continue_run(run_id=run.pk)
    run = work(run)
    assert (run.state, states(run)) == (Run.State.DONE, {"done": 100})
    assert run.calls == server.stats()["calls"] == Completion.objects.count() == 200


def test_tokens_read_and_written_count(server: SimulatedServer) -> None:
    run = work(limited(server, max_tokens=600))
    assert run.state == Run.State.PAUSED
    assert "The limit of 600 tokens is reached" in run.notice
    per_call = (run.prompt_tokens + run.completion_tokens) / run.calls
    assert 600 <= run.prompt_tokens + run.completion_tokens <= 600 + 5 * per_call


def test_two_workers_spend_one_limit(server: SimulatedServer) -> None:
    run = limited(server, parallelism=2, max_calls=60)
    workers = [in_background(run), in_background(run)]
    for worker in workers:
        worker.join()
    run.refresh_from_db()
    assert run.state == Run.State.PAUSED
    assert 60 <= run.calls <= 68
    assert run.calls == server.stats()["calls"]


def test_a_pilot_stops_after_its_items_and_gives_an_estimate(server: SimulatedServer) -> None:
    run = work(limited(server, pilot_items=10))
    assert run.state == Run.State.PAUSED
    assert "The first 10 items are done" in run.notice
    assert states(run) == {"done": 10, "pending": 90}
    assert run.calls == 20
    estimate = run_estimate(run, run_progress(run))
    assert estimate is not None
    assert (estimate.left, estimate.ended, estimate.calls) == (90, 10, 180)
    assert estimate.tokens == 9 * (run.prompt_tokens + run.completion_tokens)
    assert estimate.seconds is not None
    assert estimate.seconds > 0
    assert continue_run(run_id=run.pk)
    run = work(run)
    assert (run.state, states(run)) == (Run.State.DONE, {"done": 100})
    assert run_estimate(run, run_progress(run)) is None


def test_a_clone_does_the_same_again_and_pays_for_what_is_missing(server: SimulatedServer) -> None:
    run = work(limited(server, items=8, max_calls=10_000))
    again = clone_run(run_id=run.pk, failed_only=False)
    assert (again.total, again.max_calls, again.parameters) == (8, 10_000, {"cloned_from": run.pk})
    again = work(again)
    assert (again.state, again.calls, again.replayed) == (Run.State.DONE, 0, 16)
    RunItem.objects.filter(run=run, subject_id__lt=3).update(state="failed", error_kind="server")
    assert clone_run(run_id=run.pk, failed_only=True).total == 3


def test_what_still_waits_in_the_old_run_is_left_to_it(server: SimulatedServer) -> None:
    run = work(limited(server, items=20, pilot_items=5))
    assert clone_run(run_id=run.pk, failed_only=False).total == 5
