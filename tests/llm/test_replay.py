"""Stored calls leave as a file, and a run over that file gives the same outcomes without the model."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from llm.engine.worker import work_on_run
from llm.forms import bounded_line
from llm.models import Completion, Endpoint, Run, RunItem
from llm.replay import digest_of, open_replay
from llm.services import start_run
from llm.types import ChatMessage, ChatRequest, RefusedError, SamplingParams, Structure
from tests.llm.test_engine import TwoCalls, question
from tests.simulated import SimulatedServer

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _no_outcomes() -> Iterator[None]:
    TwoCalls.outcomes.clear()
    yield
    TwoCalls.outcomes.clear()


def work(run: Run) -> Run:
    asyncio.run(work_on_run(run.pk))
    run.refresh_from_db()
    return run


def replaying(path: Path, **settings: object) -> Endpoint:
    fields = {"name": "replayed", "base_url": f"replay:{path}", "model": "replay"}
    return Endpoint.objects.create(**{**fields, **settings})


def exported(server: SimulatedServer, path: Path, subjects: range) -> Run:
    """A run on the server whose calls are in the file and nowhere else."""
    run = work(start_run(kind="test-two-calls", subject_ids=subjects, endpoint=server.endpoint()))
    call_command("export_calls", "--run", str(run.pk), "--output", str(path))
    Completion.objects.all().delete()
    return run


def test_a_run_over_a_file_gives_the_same_outcomes_and_asks_nobody(
    server: SimulatedServer, tmp_path: Path
) -> None:
    path = tmp_path / "calls.jsonl"
    exported(server, path, range(30))
    before, asked = dict(TwoCalls.outcomes), server.stats()["calls"]
    TwoCalls.outcomes.clear()
    other_limits = replaying(path, max_output_tokens=99, constrained=False)
    again = work(start_run(kind="test-two-calls", subject_ids=range(30), endpoint=other_limits))
    assert again.state == Run.State.DONE
    assert TwoCalls.outcomes == before
    assert server.stats()["calls"] == asked >= 60
    assert again.calls == 60
    assert set(Completion.objects.values_list("resolved_model", "endpoint")) == {
        (json.loads(path.read_text().split("\n")[0])["resolved_model"], other_limits.pk)
    }


def test_a_question_that_the_file_lacks_fails_its_own_item_and_says_which(
    server: SimulatedServer, tmp_path: Path
) -> None:
    path = tmp_path / "calls.jsonl"
    exported(server, path, range(5))
    run = work(start_run(kind="test-two-calls", subject_ids=range(7), endpoint=replaying(path)))
    assert run.state == Run.State.DONE
    failed = RunItem.objects.filter(run=run, state="failed").order_by("subject_id")
    assert list(failed.values_list("subject_id", "error_kind")) == [(5, "refused"), (6, "refused")]
    assert "calls.jsonl has no reply to this question of test@1" in failed[0].error_message
    assert "first 5" in failed[0].error_message


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "cannot be read"),
        (b"", "holds no stored calls"),
        (b'{"template": "a@1"}\n', "line 1: not a stored call"),
        (b"\xff\n", "line 1: not a stored call"),
    ],
)
def test_a_file_that_is_none_pauses_the_run_with_the_reason(
    tmp_path: Path, content: bytes | None, said: str
) -> None:
    path = tmp_path / "calls.jsonl"
    if content is not None:
        path.write_bytes(content)
    run = start_run(kind="test-two-calls", subject_ids=range(3), endpoint=replaying(path))
    work(run)
    assert run.state == Run.State.PAUSED
    assert str(path) in run.notice
    assert said in run.notice
    assert RunItem.objects.filter(run=run, state="pending").count() == 3


def test_a_question_is_known_by_what_was_asked_alone() -> None:
    asked = question("one")
    sampling = SamplingParams(max_tokens=5)
    assert digest_of(asked) == digest_of(
        ChatRequest(asked.messages, "test@1", sampling, Structure(bounded_line(1, 2)))
    )
    for other in (
        question("two"),
        question("one", sample_index=1),
        question("one", attempt=1),
        question("one", sampling=SamplingParams(temperature=0.1)),
        ChatRequest((ChatMessage("system", "one"),), "test@1"),
        ChatRequest(asked.messages, "test@2"),
    ):
        assert digest_of(other) != digest_of(asked)


def test_the_first_of_two_replies_counts(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    request = {
        "messages": [{"role": "user", "content": "信\u2028\U0001f4ee"}],
        "sampling": {},
        "sample_index": 0,
        "attempt": 0,
    }
    rows = [
        {
            "template": "a@1",
            "request": request,
            "text": text,
            "finish_reason": "stop",
            "resolved_model": "m",
            "prompt_tokens": 1,
            "completion_tokens": 2,
        }
        for text in ("first", "second")
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    bare = SamplingParams(temperature=None, top_p=None)  # type: ignore[arg-type]
    with open_replay(path) as client:
        asked = ChatRequest((ChatMessage("user", "信\u2028\U0001f4ee"),), "a@1", bare)
        assert asyncio.run(client.complete(asked, 1)).text == "first"
        with pytest.raises(RefusedError, match="no reply to this question of b@1"):
            asyncio.run(client.complete(ChatRequest(asked.messages, "b@1", bare), 1))


def test_exporting_says_what_is_wrong(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="there is no run 7"):
        call_command("export_calls", "--run", "7", "--output", str(tmp_path / "a"))
    with pytest.raises(CommandError, match="cannot be written"):
        call_command("export_calls", "--all", "--output", str(tmp_path / "missing" / "a"))
