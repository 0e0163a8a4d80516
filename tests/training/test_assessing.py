"""Judges at work: policies and samples on rows, several judges side by side, outages that are no scores."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from llm.models import Completion, Run
from llm.types import ChatRequest, RefusedError, UnreachableError
from rubrics.models import Assessment
from rubrics.rubric import Rubric
from tests.samples import candidate, corpus_prompt, endpoint, rubric
from tests.simulated import simulated_server
from tests.training.judged import judge_chat, question, run_step, values_of, verdict_on
from training.judge_reports import judges_page, run_summary
from training.models import Candidate
from training.services import MOST_SAMPLES, start_assessing, start_selecting

pytestmark = pytest.mark.django_db


def five(of: Any = None) -> list[Candidate]:
    of = of or rubric()
    return [candidate(of, index, f"Response {index}.") for index in range(5)]


def value(of: Candidate) -> Rubric:
    return Rubric.from_json(of.rubric.dimensions)


def graded(shares: dict[str, float], of: Candidate) -> Any:
    """A judge that gives each response the share of full marks that its text stands for."""

    def answer(request: ChatRequest) -> str:
        share = next(share for text, share in shares.items() if text in question(request))
        return verdict_on(value(of), share)

    return judge_chat(answer)


def assess(chat: Any, name: str = "judge-a", **options: Any) -> Run:
    run = start_assessing(endpoint=endpoint(name), **options)
    run_step(run, chat)
    return run


def test_a_row_says_who_read_by_which_policy_and_template() -> None:
    rows = five()
    run = assess(graded({"Response": 0.75}, rows[0]), policy="checked", samples=2)

    assert run.parameters == {"limit": None, "policy": "checked", "samples": 2}
    made = Assessment.objects.filter(candidates=rows[0]).order_by("sample_index")
    assert [(row.sample_index, row.policy, row.value) for row in made] == [
        (0, "checked", 0.75),
        (1, "checked", 0.75),
    ]
    assert {(row.endpoint.name, row.judge, row.template) for row in made if row.endpoint} == {
        ("judge-a", "scripted-model", "assessment@1")
    }
    assert not made[0].response_cut
    rows[0].refresh_from_db()
    assert rows[0].assessment == made[0]


def test_a_chinese_prompt_is_judged_by_the_chinese_template() -> None:
    rows = five(rubric(corpus_prompt("请写一封信。", "zh")))
    assess(graded({"Response": 0.5}, rows[0]))
    assert set(Assessment.objects.values_list("template", flat=True)) == {"assessment.zh@1"}


def test_under_checked_an_unusable_reply_is_a_failure_and_never_a_score() -> None:
    rows = five()
    whole = verdict_on(value(rows[0]), 0.5)
    assess(judge_chat(whole.replace("Voice", "Charm")), policy="checked")

    for row in Assessment.objects.all():
        assert (row.value, row.fallback) == (None, False)
        assert 'no dimension "Charm"' in row.failure
        assert (row.missing, row.unknown) == (["Voice"], ["Charm"])
    assert {row.assessment.value for row in Candidate.objects.all() if row.assessment} == {None}
    assert start_selecting().total == 1


def test_only_missing_samples_are_asked_for() -> None:
    rows = five()
    assess(graded({"Response": 0.5}, rows[0]), samples=1)
    more = graded({"Response": 0.25}, rows[0])
    assess(more, samples=3)

    assert {request.sample_index for request in more.requests} == {1, 2}
    assert values_of(rows) == [[0.5, 0.25, 0.25]] * 5
    assert start_assessing(endpoint=endpoint("judge-a"), samples=3).total == 0
    assert start_assessing(endpoint=endpoint("judge-a"), samples=2).total == 0


def test_another_endpoint_and_another_policy_add_their_readings() -> None:
    rows = five()
    assess(graded({"Response": 0.5}, rows[0]))
    assess(graded({"Response": 0.25}, rows[0]), "judge-b")
    assess(graded({"Response": 0.75}, rows[0]), policy="checked")

    assert Assessment.objects.count() == 15
    for row in Candidate.objects.select_related("assessment__endpoint"):
        assert row.assessment
        assert row.assessment.endpoint
        assert (row.assessment.endpoint.name, row.assessment.value) == ("judge-a", 0.5)


def test_two_candidates_of_one_text_share_one_reading() -> None:
    of = rubric()
    rows = [candidate(of, index, "The same.") for index in range(2)]
    assess(graded({"The same": 0.5}, rows[0]))

    assert Assessment.objects.count() == 1
    assert {row.assessment_id for row in Candidate.objects.all()} == {Assessment.objects.get().pk}


def test_an_outage_gives_no_row_and_the_run_says_that_it_is_incomplete() -> None:
    rows = five()

    def sometimes(request: ChatRequest) -> Any:
        gone = UnreachableError("no route to the judge")
        return gone if "Response 3" in question(request) else verdict_on(value(rows[0]), 0.75)

    run = start_assessing(endpoint=endpoint("judge-a"))
    failed = run_step(run, judge_chat(sometimes))

    assert failed == {rows[3].pk: "no route to the judge"}
    assert Assessment.objects.count() == 4
    rows[3].refresh_from_db()
    assert rows[3].assessment is None
    assert "4 with a value" in run_summary(run)
    assert "1 candidates not answered. INCOMPLETE: more than 5% failed" in run_summary(run)
    (line,) = judges_page().lines
    assert (line.row.mean, line.row.n, line.unanswered, line.incomplete) == (0.75, 4, 1, True)
    assess(graded({"Response": 0.75}, rows[0]))
    (line,) = judges_page().lines
    assert (line.unanswered, line.incomplete) == (0, False)


def test_the_share_of_failures_is_a_setting(settings: Any) -> None:
    settings.JUDGING_FAILURE_SHARE = 0.2
    rows = five()

    def sometimes(request: ChatRequest) -> Any:
        gone = UnreachableError("gone")
        return gone if "Response 3" in question(request) else verdict_on(value(rows[0]), 0.75)

    run = start_assessing(endpoint=endpoint("judge-a"))
    run_step(run, judge_chat(sometimes))
    assert "INCOMPLETE" not in run_summary(run)


def test_a_question_too_long_for_the_judge_is_refused_on_its_own_item() -> None:
    five()
    run = start_assessing(endpoint=endpoint("judge-a"))
    failed = run_step(run, judge_chat(RefusedError("context too long")))
    assert len(failed) == 5
    assert Assessment.objects.count() == 0


def test_a_known_context_window_cuts_what_does_not_fit_and_says_so() -> None:
    of = rubric()
    long, short = candidate(of, 0, "The river ran on. " * 2_000), candidate(of, 1, "Short.")
    small = endpoint("small")
    small.context_window = 4_096
    small.save()
    chat = judge_chat(verdict_on(value(long), 0.5))
    run_step(start_assessing(endpoint=small), chat)

    assert {row.candidates.get().pk: row.response_cut for row in Assessment.objects.all()} == {
        long.pk: True,
        short.pk: False,
    }
    assert any("left out here" in question(request) for request in chat.requests)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"policy": "kind"}, "no policy 'kind'"),
        ({"samples": 0}, "0 readings"),
        ({"samples": 21}, "21 readings"),
    ],
)
def test_what_cannot_be_asked_for_is_refused(options: dict[str, Any], said: str) -> None:
    assert MOST_SAMPLES == 20
    with pytest.raises(ValueError, match=said):
        start_assessing(endpoint=endpoint(), **options)


@pytest.mark.django_db(transaction=True)
def test_the_command_reads_with_a_policy_and_several_samples_and_pays_nothing_twice() -> None:
    five()
    with simulated_server(latency=0.0) as server:
        server.endpoint()
        out = StringIO()
        call_command(
            *("assess", "--endpoint", "simulated", "--policy", "checked", "--samples", "3", "--here"),
            stdout=out,
        )
        assert Assessment.objects.filter(policy="checked", value__isnull=False).count() == 15
        assert "Readings: 15 with a value, 0 fallback, 0 without a usable reply" in out.getvalue()
        assert "INCOMPLETE" not in out.getvalue()
        call_command("assess", "--endpoint", "simulated", "--policy", "checked", "--samples", "3", "--here")
        assert server.stats()["calls"] == server.stats()["distinct"] == Completion.objects.count() - 5
    with pytest.raises(CommandError, match="invalid choice"):
        call_command("assess", "--endpoint", "simulated", "--policy", "kind")
