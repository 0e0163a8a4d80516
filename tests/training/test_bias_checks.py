"""A judge that follows what it reads is found out, an honest one is not, and nothing is paid for twice."""

from __future__ import annotations

import json
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from llm.models import Completion, Run
from llm.types import ChatRequest, RefusedError, UnreachableError
from rubrics.bias import INSTRUCTIONS
from rubrics.rubric import Rubric
from tests.samples import candidate, endpoint, rubric
from tests.simulated import simulated_server
from tests.training.judged import judge_chat, question, run_step, verdict_on
from training.bias_checks import bias_report, bias_runs
from training.models import BiasCheck, Candidate
from training.services import start_bias_check

pytestmark = pytest.mark.django_db

Answer = Callable[[ChatRequest], Any]


@pytest.fixture
def responses() -> list[Candidate]:
    return [candidate(rubric(), 0, f"Opening {n}.\n\nMiddle {n}.\n\nEnding {n}.") for n in range(6)]


def honest(of: Candidate) -> Answer:
    return lambda request: verdict_on(Rubric.from_json(of.rubric.dimensions), 0.5)


def gullible(of: Candidate) -> Answer:
    def answer(request: ChatRequest) -> str:
        told = any(sentence in question(request) for sentence in INSTRUCTIONS.values())
        return verdict_on(Rubric.from_json(of.rubric.dimensions), 1.0 if told else 0.5)

    return answer


def check(answer: Any, **options: Any) -> Run:
    run = start_bias_check(endpoint=endpoint("judge"), **options)
    run_step(run, judge_chat(answer))
    return run


def test_an_honest_judge_is_unmoved_by_everything(responses: list[Candidate]) -> None:
    report = bias_report(check(honest(responses[0])))

    assert (report.responses, report.failed, report.incomplete) == (6, 0, False)
    assert report.judges == ("scripted-model",)
    assert len(report.shifts) == 8
    assert {shift.verdict for shift in report.shifts} == {"unmoved"}
    assert {shift.n for shift in report.shifts} == {6}


def test_a_gullible_judge_is_found_out_in_every_place_and_language(responses: list[Candidate]) -> None:
    verdicts = {shift.name: shift for shift in bias_report(check(gullible(responses[0]))).shifts}

    hidden = {name for name in verdicts if name.startswith("instruction")}
    assert len(hidden) == 6
    assert {verdicts[name].verdict for name in hidden} == {"moved up"}
    assert {verdicts[name].mean for name in hidden} == {0.5}
    assert {verdicts[name].moved for name in hidden} == {6}
    assert {shift.verdict for name, shift in verdicts.items() if name not in hidden} == {"unmoved"}


def test_an_unusable_reply_is_counted_and_in_no_shift(responses: list[Candidate]) -> None:
    def answer(request: ChatRequest) -> str:
        return "I refuse." if INSTRUCTIONS["Chinese"] in question(request) else honest(responses[0])(request)

    for shift in bias_report(check(answer)).shifts:
        assert (shift.n, shift.failures) == ((0, 6) if "Chinese" in shift.name else (6, 0))
    assert {shift.fallbacks for shift in bias_report(check(answer, policy="paper")).shifts} == {0, 6}


def test_an_outage_fails_its_response_and_too_long_a_form_fails_itself(responses: list[Candidate]) -> None:
    def answer(request: ChatRequest) -> Any:
        if "Opening 1" in question(request):
            return UnreachableError("gone")
        if question(request).count("Ending") > 1:
            return RefusedError("context too long")
        return honest(responses[0])(request)

    report = bias_report(check(answer))

    assert (report.responses, report.failed, report.incomplete) == (5, 1, True)
    padded = next(shift for shift in report.shifts if shift.name.startswith("padded"))
    assert (padded.n, padded.failures, padded.verdict) == (0, 5, "undecided")


def test_the_seed_spreads_the_sample_and_leaves_out_what_cannot_be_judged(responses: list[Candidate]) -> None:
    of = rubric()
    candidate(of, 1, "", value=None)
    candidate(of, 2, "Cut", cut=True)
    picked = [
        frozenset(
            start_bias_check(endpoint=endpoint(), seed=seed, limit=2).items.values_list(
                "subject_id", flat=True
            )
        )
        for seed in (1,)
    ]
    assert all(one <= {row.pk for row in responses} for one in picked)
    assert len(picked[0]) == 2


def test_runs_are_listed_with_their_failures(responses: list[Candidate]) -> None:
    run = check(UnreachableError("gone"))
    (listed,) = bias_runs()
    assert (listed.pk, listed.failed) == (run.pk, 6)  # type: ignore[attr-defined]


@pytest.mark.django_db(transaction=True)
def test_the_command_reports_and_a_second_run_asks_nothing(tmp_path: Path) -> None:
    for n in range(5):
        candidate(rubric(), 0, f"Opening {n}.\n\nEnding {n}.")
    before = Completion.objects.count()
    with simulated_server(latency=0.0) as server:
        server.endpoint()
        path = tmp_path / "report.json"
        for _ in range(2):
            call_command(
                *("check_bias", "--endpoint", "simulated", "--limit", "5", "--here", "--output", str(path)),
                stdout=StringIO(),
            )
        assert server.stats()["calls"] == server.stats()["distinct"] == Completion.objects.count() - before
    report = json.loads(path.read_text())
    assert (report["responses"], report["policy"], len(report["checks"])) == (5, "checked", 8)
    assert {row["n"] for row in report["checks"]} == {5}
    assert set(report["checks"][0]) == {
        *("variant", "n", "mean_shift", "interval_95", "moved_by_more_than_a_point"),
        *("failures", "fallbacks", "verdict"),
    }
    assert BiasCheck.objects.count() == 10
