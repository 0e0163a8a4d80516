"""Reading stored replies again: what today's parsers make of them, without a call and without a change."""

from __future__ import annotations

from collections.abc import Iterator
from io import StringIO

import pytest
from django.core.management import call_command

from llm.models import Completion
from rubrics.models import Assessment, MiningTrace, Rubric
from rubrics.rereading import Reread, Verdict, reread_assessments, reread_mining
from tests.rubrics.test_mining import mine
from tests.samples import candidate, completion, corpus_prompt, rubric
from tests.simulated import SimulatedServer, simulated_server

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def server() -> Iterator[SimulatedServer]:
    with simulated_server(latency=0.0) as running:
        yield running


def mined(server: SimulatedServer) -> Rubric:
    corpus_prompt()
    mine(server.endpoint())
    return Rubric.objects.get()


def verdicts(found: Iterator[Reread]) -> list[Verdict]:
    return [each.verdict for each in found]


@pytest.mark.parametrize("method", ["irg", "drg", "rubricgen"])
def test_what_was_mined_is_read_the_same_and_nobody_is_asked(server: SimulatedServer, method: str) -> None:
    corpus_prompt()
    corpus_prompt("写一篇推文", "zh")
    mine(server.endpoint(), "--method", method)
    asked = server.stats()["calls"]
    assert verdicts(reread_mining()) == [Verdict.SAME, Verdict.SAME]
    assert server.stats()["calls"] == asked


def test_a_reply_that_is_read_otherwise_is_named(server: SimulatedServer) -> None:
    row = mined(server)
    call = row.trace.completions.filter(template="irg-scoring@1").order_by("created_at")[0]
    Completion.objects.filter(pk=call.pk).update(text=call.text.replace("1-2: ", "1-2: other words, "))
    (found,) = reread_mining()
    assert found.verdict is Verdict.CHANGED
    assert "other wording in" in found.why
    assert Rubric.objects.get().digest == row.digest


def test_a_reply_that_cannot_be_read_any_more_would_be_asked_again(server: SimulatedServer) -> None:
    row = mined(server)
    row.trace.completions.filter(template="irg-discovery@1").update(text="No records here.")
    (found,) = reread_mining()
    assert found.verdict is Verdict.UNUSABLE
    assert "irg-discovery@1 would be asked again (attempt 2)" in found.why


def test_a_failure_that_can_be_read_today_is_named(server: SimulatedServer) -> None:
    row = mined(server)
    MiningTrace.objects.update(rubric=None, failure="line 3: name without reason")
    row.delete()
    (found,) = reread_mining()
    assert found.verdict is Verdict.USABLE
    assert "line 3: name without reason" in found.why


READ = "name: Voice\nscore: 6/8\ncomments and suggestions: Plain."


@pytest.mark.parametrize(
    ("reply", "policy", "value", "fallback", "verdict"),
    [
        (READ, "paper", 0.75, False, Verdict.SAME),
        (READ.replace("6/8", "4/8"), "paper", 0.75, False, Verdict.CHANGED),
        ("Nothing to score.", "paper", 0.75, False, Verdict.UNUSABLE),
        (READ, "paper", 0.4, True, Verdict.USABLE),
        ("Nothing to score.", "paper", 0.4, True, Verdict.SAME),
        (READ, "checked", None, False, Verdict.SAME),  # two dimensions are missing
    ],
)
def test_assessments_are_read_again_under_their_policy(
    reply: str, policy: str, value: float | None, fallback: bool, verdict: Verdict
) -> None:
    call = completion("assessment@1")
    Completion.objects.filter(pk=call.pk).update(text=reply)
    items = [] if fallback else [{"name": "Voice", "score": 6, "maximum": 8, "comment": "Plain."}]
    Assessment.objects.create(
        rubric=rubric(),
        rubric_digest="0" * 64,
        response_digest="0" * 64,
        completion=call,
        policy=policy,
        value=value,
        fallback=fallback,
        failure="" if value is not None else "dimensions are missing",
        items=items,
    )
    assert verdicts(reread_assessments()) == [verdict]


def test_the_command_counts_each_kind_and_shows_what_differs(server: SimulatedServer) -> None:
    row = mined(server)
    row.trace.completions.filter(template="irg-discovery@1").update(text="No records here.")
    candidate(row)
    said = StringIO()
    call_command("reparse", stdout=said)
    lines = said.getvalue().splitlines()
    assert lines[0].startswith(f"  mining of prompt {row.prompt_id} (rubric {row.pk}): now unusable: ")
    assert "mining: 1 read again: 0 same, 0 changed, 0 now usable, 1 now unusable" in lines
    assert "assessments: 0 read again: 0 same, 0 changed, 0 now usable, 0 now unusable" in lines
    said = StringIO()
    call_command("reparse", "--kind", "mining", "--show", "0", stdout=said)
    assert len(said.getvalue().splitlines()) == 1
