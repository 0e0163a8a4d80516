"""Selection by one judge's means, and a person's word over it."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction

from llm.audit import history_of
from rubrics.models import Assessment
from tests.samples import candidate, completion, endpoint, person, rubric
from tests.training.judged import judge_chat, run_step
from training.choosing import (
    ChoiceError,
    automatic_choice,
    choose_by_hand,
    point_at_first_readings,
    reopen,
    take_choice_back,
)
from training.models import Candidate
from training.services import start_assessing, start_selecting

pytestmark = pytest.mark.django_db


def read(of: Candidate, value: float | None, judge: str = "a", sample: int = 0, **fields: Any) -> Assessment:
    made = Assessment.objects.create(
        rubric=of.rubric,
        rubric_digest=of.rubric.digest,
        response_digest=f"{of.pk:064}",
        completion=completion("assessment@1"),
        endpoint=endpoint(judge),
        judge=judge,
        sample_index=sample,
        value=value,
        fallback=fields.pop("fallback", False),
        failure="" if value is not None else "unusable",
        items=[],
        **fields,
    )
    of.assessments.add(made)
    return made


@pytest.fixture
def five() -> list[Candidate]:
    of = rubric()
    return [candidate(of, index, f"Response {index}.") for index in range(5)]


@pytest.fixture
def rosa() -> User:
    return person("rosa")


def select() -> None:
    run_step(start_selecting(), judge_chat("nobody is asked"))


def chosen(of: Candidate) -> Candidate:
    return Candidate.objects.get(rubric=of.rubric, demonstration=True)


def test_the_mean_over_a_judges_samples_selects(five: list[Candidate]) -> None:
    for row, values in zip(five, [(0.9, 0.1), (0.6, 0.6), (0.5, 0.5), (0.2, 0.2), (0.1, 0.1)], strict=True):
        for sample, value in enumerate(values):
            read(row, value, sample=sample)
    point_at_first_readings({five[0].rubric_id})
    select()

    assert chosen(five[0]) == five[1]
    assert chosen(five[0]).selection_reason == (
        "Candidate 1 has the highest reward of 5 eligible candidates, 0.600, the mean of 2 readings."
    )


def test_values_of_two_judges_are_never_compared(five: list[Candidate]) -> None:
    for row, value in zip(five, (0.1, 0.3, 0.2, 0.1, 0.1), strict=True):
        read(row, value, "a")
    for row in five[2:4]:
        read(row, 0.99, "generous")

    assert automatic_choice(five[0].rubric_id).index == 1


def test_a_failure_and_a_fallback_are_in_no_mean(five: list[Candidate]) -> None:
    read(five[0], 0.5)
    read(five[0], None, sample=1)
    read(five[0], 0.4, sample=2, fallback=True)
    read(five[1], 0.45)
    read(five[2], None)

    assert automatic_choice(five[0].rubric_id).index == 0
    for row in five[:2]:
        row.assessments.all().update(value=None, failure="unusable", fallback=False)
    assert (
        "3 read by the judge without a usable reply, 2 without an assessment"
        in automatic_choice(five[0].rubric_id).reason
    )


def test_the_first_reading_with_a_value_stands_for_a_candidate(five: list[Candidate]) -> None:
    read(five[0], None)
    second = read(five[0], 0.5, sample=1)
    point_at_first_readings({five[0].rubric_id})

    five[0].refresh_from_db()
    assert five[0].assessment == second
    five[1].refresh_from_db()
    assert five[1].assessment is None


def test_a_new_judge_leaves_the_choice_alone_and_more_readings_of_the_old_one_open_it(
    five: list[Candidate],
) -> None:
    run_step(start_assessing(endpoint=endpoint("a")), judge_chat(_marks(five, 6)))
    select()
    assert chosen(five[0]).index == 0
    run_step(start_assessing(endpoint=endpoint("b")), judge_chat(_marks(five, 2)))
    assert chosen(five[0]).index == 0
    run_step(start_assessing(endpoint=endpoint("a"), samples=2), judge_chat(_marks(five, 4)))
    assert not Candidate.objects.filter(demonstration=True).exists()
    assert start_selecting().total == 1


def _marks(five: list[Candidate], score: int) -> str:
    return "\n\n".join(
        f"name: {each['name']}\nscore: {score}/8\ncomments and suggestions: x"
        for each in five[0].rubric.dimensions
    )


def test_a_person_overrules_with_a_reason_that_is_kept(five: list[Candidate], rosa: User) -> None:
    for row, value in zip(five, (0.9, 0.1, 0.2, 0.3, 0.4), strict=True):
        read(row, value)
    point_at_first_readings({five[0].rubric_id})
    select()
    choose_by_hand(candidate_id=five[3].pk, user=rosa, reason=" It keeps to the length. ")

    now = chosen(five[0])
    assert (now, now.overruled_by, now.overruled_because) == (five[3], rosa, "It keeps to the length.")
    assert now.overruled_at
    assert now.selection_reason == "Chosen by rosa: It keeps to the length."
    entry = history_of(five[0].rubric).get()
    assert (entry.before, entry.after, entry.actor) == ({"candidate": 0}, {"candidate": 3}, rosa)
    assert entry.reason == "It keeps to the length."
    assert Candidate.objects.count() == 5


def test_nothing_automatic_moves_a_persons_choice(five: list[Candidate], rosa: User) -> None:
    choose_by_hand(candidate_id=five[3].pk, user=rosa, reason="Better.")
    run_step(start_assessing(endpoint=endpoint("a")), judge_chat(_marks(five, 6)))
    assert chosen(five[0]) == five[3]
    assert start_selecting().total == 0
    reopen({five[0].rubric_id})
    run = start_selecting()
    run.items.create(subject_id=five[0].rubric_id)
    run_step(run, judge_chat(""))
    assert chosen(five[0]) == five[3]
    assert chosen(five[0]).overruled_because == "Better."


def test_a_second_choice_replaces_the_first(five: list[Candidate], rosa: User) -> None:
    choose_by_hand(candidate_id=five[3].pk, user=rosa, reason="Better.")
    choose_by_hand(candidate_id=five[1].pk, user=rosa, reason="Better still.")

    assert chosen(five[0]) == five[1]
    assert Candidate.objects.exclude(overruled_at=None).get() == five[1]
    assert history_of(five[0].rubric).count() == 2


def test_a_choice_taken_back_leaves_selections_own(five: list[Candidate], rosa: User) -> None:
    for row, value in zip(five, (0.1, 0.9, 0.2, 0.3, 0.4), strict=True):
        read(row, value)
    choose_by_hand(candidate_id=five[3].pk, user=rosa, reason="Better.")
    selection = take_choice_back(rubric_id=five[0].rubric_id, user=rosa)

    assert selection
    assert selection.index == chosen(five[0]).index == 1
    assert not Candidate.objects.exclude(overruled_at=None).exists()
    assert history_of(five[0].rubric).first().before == {"candidate": 3, "reason": "Better."}  # type: ignore[union-attr]
    assert take_choice_back(rubric_id=five[0].rubric_id, user=rosa) is None


@pytest.mark.parametrize("reason", ["", "  \n"])
def test_without_a_reason_nothing_is_chosen(five: list[Candidate], rosa: User, reason: str) -> None:
    with pytest.raises(ChoiceError, match="Say why"):
        choose_by_hand(candidate_id=five[3].pk, user=rosa, reason=reason)
    assert not Candidate.objects.filter(demonstration=True).exists()


def test_an_empty_candidate_cannot_be_chosen(rosa: User) -> None:
    with pytest.raises(ChoiceError, match="empty"):
        choose_by_hand(candidate_id=candidate(rubric(), 0, " ").pk, user=rosa, reason="x")


def test_the_database_holds_no_overruling_without_its_reason(five: list[Candidate], rosa: User) -> None:
    choose_by_hand(candidate_id=five[3].pk, user=rosa, reason="Better.")
    for change in ({"overruled_because": ""}, {"demonstration": False}, {"overruled_at": None}):
        with pytest.raises(IntegrityError), transaction.atomic():
            Candidate.objects.filter(pk=five[3].pk).update(**change)


def test_the_reason_outlives_the_person(five: list[Candidate], rosa: User) -> None:
    choose_by_hand(candidate_id=five[3].pk, user=rosa, reason="Better.")
    rosa.delete()
    assert chosen(five[0]).overruled_because == "Better."
