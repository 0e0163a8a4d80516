"""The candidates of a rubric side by side, each judge's word on them, and a person's choice."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from tests.samples import HOSTILE, candidate, corpus_prompt, endpoint, rubric
from tests.training.judged import judge_chat, run_step
from tests.training.test_choosing import read, select
from training.choosing import choose_by_hand, point_at_first_readings
from training.models import Candidate
from training.services import start_assessing

pytestmark = pytest.mark.django_db

SCORES = [{"name": "Voice", "score": 6, "maximum": 8, "comment": "Even in tone."}]


@pytest.fixture
def five() -> list[Candidate]:
    of = rubric()
    rows = [candidate(of, index, f"Response {index}.") for index in range(5)]
    for row, value in zip(rows, (0.9, 0.1, 0.2, 0.3, 0.4), strict=True):
        for sample in (0, 1):
            made = read(row, value, sample=sample)
            made.items = SCORES
            made.save()
    read(rows[1], 0.8, "b")
    point_at_first_readings({of.pk})
    select()
    return rows


def page_of(client: Client, of: Candidate) -> str:
    return client.get(reverse("choice", args=[of.rubric_id])).text


def test_all_stand_side_by_side_with_their_scores_and_the_rule(
    research_client: Client, five: list[Candidate]
) -> None:
    page = page_of(research_client, five[0])

    for row in five:
        assert f'id="candidate-{row.pk}"' in page
        assert f"Response {row.index}." in page
    for text in (
        "Candidate 0 has the highest reward of 5 eligible candidates, 0.900, the mean of 2 readings.",
        "then the lowest number",
        "mean of 2, SD 0.000",
        "Even in tone.",
        "Judges agree",
        "Values of two judges are never compared",
    ):
        assert text in page
    assert page.count("0.800") == 1


def test_a_choice_needs_a_reason_and_keeps_what_was_typed(
    research_client: Client, five: list[Candidate]
) -> None:
    answer = research_client.post(reverse("candidate-choose", args=[five[2].pk]), {"reason": " "})

    assert answer.status_code == 422
    assert "Say why" in answer.text
    assert Candidate.objects.get(demonstration=True) == five[0]


def test_a_choice_by_hand_is_shown_with_who_and_why_and_can_be_taken_back(
    research_client: Client, five: list[Candidate]
) -> None:
    address = reverse("choice", args=[five[0].rubric_id])
    answer = research_client.post(
        reverse("candidate-choose", args=[five[2].pk]), {"reason": "Keeps the <b>length</b>."}, follow=True
    )
    assert answer.redirect_chain == [(address, 302)]
    for text in (
        "chosen by hand",
        "rosa",
        "Keeps the &lt;b&gt;length&lt;/b&gt;.",
        "selection&#x27;s own",
        "demonstration chosen by hand",
    ):
        assert text in answer.text, text
    assert Candidate.objects.get(demonstration=True) == five[2]
    answer = research_client.post(reverse("choice-undo", args=[five[0].rubric_id]), follow=True)
    assert "taken back" in answer.text
    assert Candidate.objects.get(demonstration=True) == five[0]
    answer = research_client.post(reverse("choice-undo", args=[five[0].rubric_id]), follow=True)
    assert "Nobody has chosen by hand" in answer.text


def test_a_demonstration_whose_chooser_is_gone_still_has_its_reason(
    research_client: Client, five: list[Candidate]
) -> None:
    someone = User.objects.create_user("gone")
    choose_by_hand(candidate_id=five[2].pk, user=someone, reason="Because.")
    someone.delete()
    page = page_of(research_client, five[0])
    assert "somebody who has left" in page
    assert "Because." in page


def test_failures_fallbacks_and_cut_readings_are_called_what_they_are(research_client: Client) -> None:
    of = rubric()
    rows = [candidate(of, index, f"Response {index}.") for index in range(4)]
    read(rows[0], None)
    read(rows[1], 0.4, fallback=True)
    read(rows[2], 0.7, response_cut=True)
    point_at_first_readings({of.pk})

    page = page_of(research_client, rows[0])

    for text in (
        "no usable reply",
        "unusable",
        "fallback",
        "read in part",
        "No judge has read it yet",
        "not read",
    ):
        assert text in page, text
    listed = research_client.get(reverse("candidates"), {"assessment": "failed"}).text
    assert "no usable reply" in listed
    assert reverse("candidate", args=[rows[0].pk]) in listed
    assert reverse("candidate", args=[rows[1].pk]) not in listed
    single = research_client.get(reverse("candidate", args=[rows[2].pk])).text
    assert "read in part" in single
    single = research_client.get(reverse("candidate", args=[rows[0].pk])).text
    assert "no usable reply" in single


def test_lists_show_the_mean_with_its_n_and_lead_here(research_client: Client, five: list[Candidate]) -> None:
    read(five[0], None, sample=2)
    page = research_client.get(reverse("candidates")).text
    assert "mean of 2, SD 0.000" in page
    assert "left out: 1 failure" in page
    assert reverse("choice", args=[five[0].rubric_id]) in page
    page = research_client.get(reverse("corpus-prompt", args=[five[0].prompt_id])).text
    assert page.count(reverse("choice", args=[five[0].rubric_id])) == 1
    choose_by_hand(candidate_id=five[2].pk, user=User.objects.get(username="rosa"), reason="x")
    by_hand = research_client.get(reverse("candidates"), {"kind": "by-hand"}).text
    assert "<strong>1</strong> candidate" in by_hand
    assert "chosen by hand" in by_hand


def test_a_rubric_without_candidates_says_what_to_do(research_client: Client) -> None:
    page = research_client.get(reverse("choice", args=[rubric().pk])).text
    assert "No candidates yet" in page


def test_model_text_is_text_here_too(research_client: Client) -> None:
    of = rubric(corpus_prompt(HOSTILE))
    row = candidate(of, 0, HOSTILE)
    made = read(row, 0.5)
    made.items = [{"name": HOSTILE, "score": 6, "maximum": 8, "comment": HOSTILE}]
    made.save()
    point_at_first_readings({of.pk})
    page = page_of(research_client, row)
    assert "<script>document.title" not in page
    assert "&lt;script&gt;document.title" in page


def test_no_run_moves_what_a_person_chose_on_the_page(research_client: Client, five: list[Candidate]) -> None:
    research_client.post(reverse("candidate-choose", args=[five[4].pk]), {"reason": "Mine."})
    marks = "\n\n".join(
        f"name: {each['name']}\nscore: 8/8\ncomments and suggestions: x" for each in five[0].rubric.dimensions
    )
    run_step(start_assessing(endpoint=endpoint("a"), samples=3), judge_chat(marks))
    assert Candidate.objects.get(demonstration=True) == five[4]
    assert "Mine." in page_of(research_client, five[0])
