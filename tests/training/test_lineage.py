"""Candidates of every rubric and version are named, with what judges made of them."""

from __future__ import annotations

import pytest

from rubrics.lineage import rubrics_of
from tests.samples import candidate, person, rubric
from tests.training.test_choosing import read
from tests.training.test_rubric_choice import made, revision
from training.choosing import choose_by_hand
from training.lineage import LISTED_CANDIDATES, candidates_of

pytestmark = pytest.mark.django_db


def test_candidates_of_every_version_are_named_with_their_assessments() -> None:
    first = rubric()
    second = revision(first, "Second")
    other = made(first.prompt, "Other", "drg")
    rows = [candidate(of, 0, "Response.") for of in (first, second, other)]
    read(rows[0], 0.5)
    read(rows[0], 0.5, "b")
    read(rows[1], 0.5)
    choose_by_hand(candidate_id=rows[1].pk, user=person("rosa"), reason="x")

    notes = [(each.pk, each.note) for each in candidates_of([first.prompt_id])]
    assert notes == [
        (rows[1].pk, f"the demonstration, chosen by hand, for rubric {second.pk}, 1 assessment"),
        (rows[0].pk, f"for rubric {first.pk}, 2 assessments"),
        (rows[2].pk, f"for rubric {other.pk}"),
    ]
    assert [each.pk for each in rubrics_of([first.prompt_id])] == [first.pk, second.pk, other.pk]


def test_of_many_the_rest_is_counted() -> None:
    of = rubric()
    for index in range(LISTED_CANDIDATES + 3):
        candidate(of, index, "Response.")
    assert list(candidates_of([of.prompt_id]))[-1].label == "3 more candidates"
