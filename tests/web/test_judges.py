"""The page of judges and the report of a check for bias."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from llm.types import UnreachableError
from rubrics.judges import judges_report
from tests.samples import candidate, corpus_prompt, endpoint, rubric
from tests.training.judged import judge_chat, run_step
from tests.training.test_bias_checks import check, gullible, honest
from tests.training.test_choosing import read
from training.models import Candidate
from training.services import start_assessing

pytestmark = pytest.mark.django_db


@pytest.fixture
def responses() -> list[Candidate]:
    """Ten responses that two judges have read, the second always a tenth lower."""
    rows = [candidate(rubric(), 0, f"Response {n}.\n\nIts ending.") for n in range(10)]
    for n, row in enumerate(rows):
        for name, less in (("a", 0.0), ("b", 0.1)):
            made = read(row, 0.1 + n * 0.08 - less * 0.5, name)
            made.items = [
                {"name": "Voice", "score": max(n - round(less * 10), 0), "maximum": 10, "comment": ""}
            ]
            made.save()
    return rows


def test_each_judge_and_each_pair_by_hand(responses: list[Candidate]) -> None:
    read(responses[0], 0.3, "a", sample=1)
    read(responses[1], None, "a", sample=1)
    read(responses[2], 0.4, "a", sample=1, fallback=True)

    report = judges_report()

    first, second = report.judges
    assert (first.endpoint, first.responses, first.n, first.fallbacks, first.failures) == ("a", 10, 11, 1, 1)
    assert first.mean == pytest.approx((10 * 0.1 + 0.08 * 45 + 0.3) / 11)
    assert (first.repeated, first.own_spread) == (1, pytest.approx(0.2 / 2**0.5))
    assert second.own_spread is None
    assert sum(first.bins) == 11
    (pair,) = report.pairs
    assert (pair.n, pair.first.endpoint) == (10, "a")
    assert pair.more == pytest.approx((0.15 + 9 * 0.05 - 0.05 + 0.0) / 10, abs=0.02)
    assert pair.alpha.value is not None
    assert pair.alpha.n == 10
    assert pair.scores.n == 10
    assert [line.name for line in report.dimensions] == ["Voice"]
    assert report.alpha.n == 10


def test_the_report_is_of_one_policy_when_asked(responses: list[Candidate]) -> None:
    read(responses[0], 0.9, "a", policy="checked")

    assert len(judges_report().judges) == 3
    assert [row.judge.policy for row in judges_report("checked").judges] == ["checked"]
    assert judges_report("checked").pairs == ()


def test_identical_readings_have_no_alpha_but_a_reason() -> None:
    row = candidate(rubric(), 0, "Same.")
    read(row, 0.5, "a")
    read(row, 0.5, "b")
    (pair,) = judges_report().pairs
    assert pair.alpha.value is None
    assert pair.alpha.reason


def test_the_page_shows_judges_plots_pairs_and_dimensions(
    research_client: Client, responses: list[Candidate]
) -> None:
    page = research_client.get(reverse("judges")).text

    for text in ("How each one uses the scale", "judge-bar", "Alpha, dimensions", "Voice", "read once each"):
        assert text in page, text
    assert "incomplete" not in page
    checked = research_client.get(reverse("judges"), {"policy": "checked"}).text
    assert "No judge under this policy" in checked
    assert research_client.get(reverse("judges"), {"policy": "x"}).text.count("judge-plot") > 0


def test_past_the_share_of_failures_a_judge_is_called_incomplete(
    research_client: Client, responses: list[Candidate]
) -> None:
    for row in responses[:1]:
        read(row, None, "a", sample=1)
    page = research_client.get(reverse("judges")).text
    assert "incomplete</span>" in page


def test_a_server_that_never_answered_is_named(research_client: Client) -> None:
    candidate(rubric(), 0, "Response.")
    run = start_assessing(endpoint=endpoint("silent"))
    run_step(run, judge_chat(UnreachableError("gone")))
    page = research_client.get(reverse("judges")).text
    assert "silent" in page
    assert "has answered on none" in page
    assert "No judge has read anything yet" in page


def test_an_empty_page_says_what_to_do(research_client: Client) -> None:
    page = research_client.get(reverse("judges")).text
    assert "Start an assessment run" in page
    assert "manage.py check_bias" in page


def test_a_bias_check_has_a_page_with_its_verdicts(research_client: Client) -> None:
    rows = [candidate(rubric(corpus_prompt()), 0, f"Opening {n}.\n\nEnding {n}.") for n in range(5)]
    moved, unmoved = check(gullible(rows[0])), check(honest(rows[0]), seed=1)

    page = research_client.get(reverse("bias-check", args=[moved.pk])).text
    assert page.count("moved up</span>") == 6
    assert page.count(">unmoved</span>") == 2
    assert "instruction in Chinese, in the middle" in page
    page = research_client.get(reverse("bias-check", args=[unmoved.pk])).text
    assert page.count(">unmoved</span>") == 8
    listed = research_client.get(reverse("judges")).text
    assert reverse("bias-check", args=[moved.pk]) in listed
    other = start_assessing(endpoint=endpoint("a"))
    assert research_client.get(reverse("bias-check", args=[other.pk])).status_code == 404


def test_a_bias_check_that_has_read_nothing_says_so(research_client: Client) -> None:
    candidate(rubric(), 0, "Response.")
    run = check(UnreachableError("gone"))
    page = research_client.get(reverse("bias-check", args=[run.pk])).text
    assert "Incomplete: 1 of 1" in page
    assert "Nothing is read yet" in page
