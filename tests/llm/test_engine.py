"""The durable engine on real Postgres and a real HTTP server: what is paid for once, kept, and put back."""

from __future__ import annotations

import asyncio
import datetime as dt
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import pytest
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from llm.asking import ask
from llm.engine import gate, queue
from llm.engine.steps import Step, register
from llm.engine.worker import work_on_run
from llm.models import Completion, Run, RunItem, RunTick
from llm.services import cancel_run, continue_run, pause_run, retry_failed, start_run
from llm.types import Chat, ChatMessage, ChatRequest, Structure, UnusableReplyError
from tests.simulated import SimulatedServer

pytestmark = pytest.mark.django_db(transaction=True)


def question(text: str, **settings: object) -> ChatRequest:
    return ChatRequest((ChatMessage("user", text),), "test@1", structure=Structure("[a-z]{8}"), **settings)  # type: ignore[arg-type]


@register
class TwoCalls(Step[int, str]):
    """Asks twice, the second question made of the first answer; outcomes land in `outcomes`."""

    kind = "test-two-calls"
    label = "Two calls"
    outcomes: ClassVar[dict[int, str]] = {}

    def load(self, subject_ids: Sequence[int]) -> Mapping[int, int]:
        return {pk: pk for pk in subject_ids if pk < 1_000_000}

    async def execute(self, subject: int, chat: Chat) -> str:
        first = await chat(question(f"first {subject}"))
        second = await chat(question(f"second {first.text}"))
        return second.text

    def store(self, results: Sequence[tuple[int, str]]) -> None:
        self.outcomes.update(results)


@register
class Moody(TwoCalls):
    """Subject 3's replies are never usable; subject 4 has a bug; subject 5 cannot be stored."""

    kind = "test-moody"

    async def execute(self, subject: int, chat: Chat) -> str:
        if subject == 4:
            raise ZeroDivisionError("bug in the step")

        def read(text: str) -> str:
            if subject == 3:
                raise UnusableReplyError("line 1: no name")
            return text

        return (await ask(chat, question(f"moody {subject}"), read))[0]

    def store(self, results: Sequence[tuple[int, str]]) -> None:
        if any(subject == 5 for subject, _ in results):
            raise IntegrityError("subject 5 breaks a constraint")
        super().store(results)


@pytest.fixture(autouse=True)
def _no_outcomes() -> Iterator[None]:
    TwoCalls.outcomes.clear()
    yield
    TwoCalls.outcomes.clear()


def work(run: Run) -> Run:
    asyncio.run(work_on_run(run.pk))
    run.refresh_from_db()
    return run


def states(run: Run) -> dict[str, int]:
    found: dict[str, int] = {}
    for state in run.items.values_list("state", flat=True):
        found[state] = found.get(state, 0) + 1
    return found


def in_background(run: Run) -> threading.Thread:
    def target() -> None:
        try:
            asyncio.run(work_on_run(run.pk))
        finally:
            connection.close()

    thread = threading.Thread(target=target)
    thread.start()
    return thread


def until(condition: Callable[[], bool], seconds: float = 20.0) -> None:
    deadline = timezone.now() + dt.timedelta(seconds=seconds)
    while not condition():
        assert timezone.now() < deadline, "waited too long"
        threading.Event().wait(0.01)


def test_a_run_makes_each_call_once_and_counts_it(server: SimulatedServer) -> None:
    run = work(start_run(kind="test-two-calls", subject_ids=range(40), endpoint=server.endpoint()))
    assert (run.state, states(run)) == (Run.State.DONE, {"done": 40})
    assert server.stats()["calls"] == run.calls == Completion.objects.filter(run=run).count() == 80
    assert len(TwoCalls.outcomes) == 40
    assert run.completion_tokens == sum(Completion.objects.values_list("completion_tokens", flat=True))
    assert sum(RunTick.objects.filter(run=run).values_list("calls", flat=True)) == 80
    assert server.stats()["most_in_flight"] <= 16


def test_the_same_questions_in_another_run_are_answered_from_the_store(server: SimulatedServer) -> None:
    endpoint = server.endpoint()
    work(start_run(kind="test-two-calls", subject_ids=range(10), endpoint=endpoint))
    before = dict(TwoCalls.outcomes)
    again = work(start_run(kind="test-two-calls", subject_ids=range(12), endpoint=endpoint))
    assert (again.calls, again.replayed, server.stats()["calls"]) == (4, 20, 24)
    assert {pk: TwoCalls.outcomes[pk] for pk in before} == before


def test_provenance_of_a_call(server: SimulatedServer) -> None:
    work(start_run(kind="test-two-calls", subject_ids=[7], endpoint=server.endpoint(max_output_tokens=99)))
    call = Completion.objects.get(request__messages__0__content="first 7")
    assert call.request["sampling"] == {"temperature": 0.7, "top_p": 0.8, "max_tokens": 99}
    assert (call.template, call.model, call.resolved_model) == ("test@1", "simulated", "simulated")
    assert call.text
    assert call.prompt_tokens > 0


def test_each_failure_lands_on_its_own_item(server: SimulatedServer) -> None:
    run = work(start_run(kind="test-moody", subject_ids=[1, 2, 3, 4, 5, 6], endpoint=server.endpoint()))
    failed = {
        item.subject_id: (item.error_kind, item.error_message) for item in run.items.filter(state="failed")
    }
    assert run.state == Run.State.DONE
    assert set(TwoCalls.outcomes) == {1, 2, 6}
    assert set(failed) == {3, 4, 5}
    assert failed[3] == ("unusable reply", "test@1: line 1: no name (replies read: 3)")
    assert failed[4] == ("internal", "ZeroDivisionError: bug in the step")
    assert failed[5][0] == "internal"


def test_failed_items_can_be_asked_for_again_by_kind(server: SimulatedServer) -> None:
    run = work(start_run(kind="test-moody", subject_ids=[1, 3, 4], endpoint=server.endpoint()))
    assert server.stats()["calls"] == 4
    assert retry_failed(run_id=run.pk, kind="unusable reply") == 1
    run = work(Run.objects.get(pk=run.pk))
    # Three replies are replayed; a person's retry allows three more.
    assert server.stats()["calls"] == 7
    assert states(run) == {"done": 1, "failed": 2}


def test_a_missing_subject_is_said(server: SimulatedServer) -> None:
    run = work(start_run(kind="test-two-calls", subject_ids=[1, 2_000_000], endpoint=server.endpoint()))
    assert run.items.get(subject_id=2_000_000).error_kind == "missing"
    assert run.items.get(subject_id=1).state == "done"


def test_a_run_takes_in_no_more_workers_than_it_wants(server: SimulatedServer) -> None:
    run = start_run(kind="test-two-calls", subject_ids=range(60), endpoint=server.endpoint())
    first = in_background(run)
    until(lambda: run.workers.exists())
    assert asyncio.run(work_on_run(run.pk)) is False
    first.join()
    assert server.stats()["calls"] == 120


def test_two_workers_share_a_run_and_no_call_is_made_twice(server: SimulatedServer) -> None:
    run = start_run(kind="test-two-calls", subject_ids=range(100), endpoint=server.endpoint(), parallelism=2)
    workers = [in_background(run), in_background(run)]
    for worker in workers:
        worker.join()
    run.refresh_from_db()
    assert (run.state, states(run)) == (Run.State.DONE, {"done": 100})
    assert server.stats() == {**server.stats(), "calls": 200, "distinct": 200}


def test_a_pause_keeps_what_is_in_flight_and_continuing_makes_only_the_rest(
    server: SimulatedServer, settings: Any
) -> None:
    settings.ENGINE_LEASE_SECONDS = 1.5  # beats, and so looks for a pause, four times a second
    run = start_run(kind="test-two-calls", subject_ids=range(400), endpoint=server.endpoint())
    worker = in_background(run)
    until(lambda: Completion.objects.count() >= 40)
    assert pause_run(run_id=run.pk)
    worker.join()
    run.refresh_from_db()
    assert run.state == Run.State.PAUSED
    assert not run.items.filter(state="leased").exists()
    assert server.stats()["calls"] == run.calls < 800
    assert continue_run(run_id=run.pk)
    run = work(run)
    assert (run.state, states(run)) == (Run.State.DONE, {"done": 400})
    assert server.stats()["calls"] == 800


def test_a_cancelled_run_ends_and_takes_no_worker(server: SimulatedServer) -> None:
    run = start_run(kind="test-two-calls", subject_ids=range(5), endpoint=server.endpoint())
    assert cancel_run(run_id=run.pk)
    assert asyncio.run(work_on_run(run.pk)) is False
    assert not continue_run(run_id=run.pk)
    assert server.stats()["calls"] == 0


def test_a_run_with_nothing_to_do_is_done(server: SimulatedServer) -> None:
    assert (
        start_run(kind="test-two-calls", subject_ids=[], endpoint=server.endpoint()).state == Run.State.DONE
    )


@pytest.mark.parametrize(
    ("fault", "said"), [("401", "key"), ("html", "not with a chat completion"), ("404", "model")]
)
def test_an_endpoint_that_serves_nobody_pauses_the_run_with_the_reason(
    server: SimulatedServer, fault: str, said: str
) -> None:
    server.fail_next(*[fault] * 50)
    run = work(start_run(kind="test-two-calls", subject_ids=range(8), endpoint=server.endpoint()))
    assert run.state == Run.State.PAUSED
    assert said in run.notice
    assert states(run) == {"pending": 8}
    assert set(run.items.values_list("claims", flat=True)) == {0}


def test_a_server_that_is_down_pauses_the_run_which_goes_on_when_it_is_back(
    server: SimulatedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gate, "GIVE_UP_SECONDS", 1.0)
    endpoint = server.endpoint(base_url="http://127.0.0.1:9/v1")
    run = work(start_run(kind="test-two-calls", subject_ids=range(6), endpoint=endpoint))
    assert run.state == Run.State.PAUSED
    assert "Nothing gets through: no connection" in run.notice
    endpoint.base_url = f"{server.address}/v1"
    endpoint.save()
    continue_run(run_id=run.pk)
    assert states(work(run)) == {"done": 6}


def test_a_server_that_never_answers_pauses_the_run(
    server: SimulatedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.fail_next(*["hang"] * 50)
    run = work(
        start_run(kind="test-two-calls", subject_ids=range(6), endpoint=server.endpoint(timeout_seconds=1))
    )
    assert run.state == Run.State.PAUSED
    assert "no answer" in run.notice


def test_a_server_that_is_up_and_makes_no_tokens_pauses_the_run_and_fails_no_item(
    server: SimulatedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its address answers 200 to everything, as a health check would see it."""
    monkeypatch.setattr(gate, "GIVE_UP_SECONDS", 1.0)
    server.fail_next(*["no tokens"] * 500)
    run = work(start_run(kind="test-two-calls", subject_ids=range(8), endpoint=server.endpoint()))
    assert run.state == Run.State.PAUSED
    assert "answered 200 without a single token" in run.notice
    assert states(run) == {"pending": 8}
    assert not Completion.objects.exists()  # nothing that would be replayed when the server is well again


def test_hiccups_cost_tries_but_no_item(server: SimulatedServer) -> None:
    server.fail_next("500", "429", "502", "429")
    run = work(start_run(kind="test-two-calls", subject_ids=range(12), endpoint=server.endpoint()))
    assert states(run) == {"done": 12}
    assert server.stats()["calls"] == 24 + 4


def test_a_refused_request_is_not_sent_again(server: SimulatedServer) -> None:
    server.fail_next("400")
    run = work(
        start_run(kind="test-two-calls", subject_ids=[1, 2, 3], endpoint=server.endpoint(max_in_flight=1))
    )
    assert states(run) == {"done": 2, "failed": 1}
    assert run.items.get(state="failed").error_kind == "refused"
    assert server.stats()["calls"] == 5


def test_a_live_lease_is_respected_and_an_expired_one_is_free_at_once(server: SimulatedServer) -> None:
    run = start_run(kind="test-two-calls", subject_ids=range(4), endpoint=server.endpoint())
    dead, alive = uuid.uuid4(), uuid.uuid4()
    assert len(queue.claim_items(run.pk, dead, 10)) == 4
    assert queue.claim_items(run.pk, alive, 10) == []
    run.items.update(lease_expires_at=timezone.now() - dt.timedelta(seconds=1))
    claimed = queue.claim_items(run.pk, alive, 10)
    assert len(claimed) == 4
    with transaction.atomic():
        assert queue.lock_own(dead, [item.pk for item in claimed]) == set()


def test_an_item_that_keeps_losing_its_workers_fails_as_lost(server: SimulatedServer) -> None:
    run = start_run(kind="test-two-calls", subject_ids=[1, 2], endpoint=server.endpoint())
    run.items.filter(subject_id=1).update(claims=queue.MAX_CLAIMS)
    run = work(run)
    assert run.items.get(subject_id=1).error_kind == "lost"
    assert run.items.get(subject_id=2).state == "done"


def test_runs_without_a_live_worker_are_found(server: SimulatedServer) -> None:
    run = start_run(kind="test-two-calls", subject_ids=range(3), endpoint=server.endpoint())
    assert queue.runs_wanting_workers() == {run.pk: 1}
    queue.enter_run(run.pk, uuid.uuid4(), "host")
    assert queue.runs_wanting_workers() == {}
    run.workers.update(last_seen_at=timezone.now() - dt.timedelta(hours=1))
    assert queue.runs_wanting_workers() == {run.pk: 1}


def test_an_item_is_in_a_run_once() -> None:
    run = Run.objects.create(kind="test-two-calls")
    RunItem.objects.create(run=run, subject_id=1)
    with pytest.raises(IntegrityError):
        RunItem.objects.create(run=run, subject_id=1)


def test_a_subject_that_waits_in_an_unfinished_run_is_not_queued_twice(server: SimulatedServer) -> None:
    endpoint = server.endpoint()
    first = start_run(kind="test-two-calls", subject_ids=[1, 2, 3], endpoint=endpoint)
    second = start_run(kind="test-two-calls", subject_ids=[2, 3, 4], endpoint=endpoint)
    assert list(second.items.values_list("subject_id", flat=True)) == [4]
    work(first)
    third = start_run(kind="test-two-calls", subject_ids=[2, 3, 4], endpoint=endpoint)
    assert list(third.items.values_list("subject_id", flat=True)) == [2, 3]


def test_a_cancelled_run_is_not_set_going_by_a_retry(server: SimulatedServer) -> None:
    run = work(start_run(kind="test-moody", subject_ids=[4], endpoint=server.endpoint()))
    run.state = Run.State.CANCELLED
    run.save()
    assert retry_failed(run_id=run.pk) == 0
    run.refresh_from_db()
    assert run.state == Run.State.CANCELLED


def test_what_is_sent_with_every_call_is_part_of_the_question(server: SimulatedServer) -> None:
    endpoint = server.endpoint()
    work(start_run(kind="test-two-calls", subject_ids=[1], endpoint=endpoint))
    endpoint.extra_body = {"chat_template_kwargs": {"enable_thinking": False}}
    endpoint.save()
    again = work(start_run(kind="test-two-calls", subject_ids=[1], endpoint=endpoint))
    assert (again.calls, again.replayed) == (2, 0)
    assert Completion.objects.filter(run=again, request__extra_body=endpoint.extra_body).count() == 2


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("a row that cannot be read", "ValueError: a row that cannot be read"),
        ("two\n  lines of it", "ValueError: two lines of it"),
        ("long " * 100, f"ValueError: {('long ' * 60).rstrip()}…"),
        ("", "ValueError"),
    ],
)
def test_a_step_that_cannot_load_pauses_its_run_and_says_why(
    server: SimulatedServer, monkeypatch: pytest.MonkeyPatch, said: str, shown: str
) -> None:
    def broken(self: TwoCalls, subject_ids: Sequence[int]) -> Mapping[int, int]:
        raise ValueError(said)

    monkeypatch.setattr(TwoCalls, "load", broken)
    run = start_run(kind="test-two-calls", subject_ids=[1], endpoint=server.endpoint())
    with pytest.raises(ValueError):
        asyncio.run(work_on_run(run.pk))
    run.refresh_from_db()
    assert run.state == Run.State.PAUSED
    assert run.notice == f"The worker failed ({shown}); its log says more"
