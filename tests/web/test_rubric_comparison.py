"""The rubrics of one request side by side, and two of them in comparison."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from rubrics.models import Rubric
from tests.samples import corpus_prompt, dimensions, endpoint, rubric

pytestmark = pytest.mark.django_db


def two_rubrics() -> tuple[Rubric, Rubric]:
    prompt = corpus_prompt()
    one = rubric(prompt)
    shape = dimensions(("Voice", "Rhyme", "Restraint"))
    other = rubric(prompt, dimensions=shape, method="drg", templates=["drg@1"], endpoint=endpoint())
    return one, other


def test_a_page_lists_the_other_rubrics_of_its_request(research_client: Client) -> None:
    one, other = two_rubrics()
    elsewhere = rubric(corpus_prompt())
    page = research_client.get(reverse("rubric", args=[one.pk])).text
    compare = f"{reverse('rubric-compare')}?left={one.pk}&amp;right={{}}"
    assert compare.format(other.pk) in page
    assert compare.format(elsewhere.pk) not in page
    made = research_client.get(reverse("rubric", args=[other.pk])).text
    assert "drg@1" in made
    assert reverse("endpoint", args=[other.endpoint_id]) in made


def test_two_rubrics_stand_side_by_side(research_client: Client) -> None:
    one, other = two_rubrics()
    page = research_client.get(reverse("rubric-compare"), {"left": one.pk, "right": other.pk}).text
    assert page.count("word for word the same") == 4  # two dimensions, on both sides
    assert page.count("only here") == 2
    assert "no such dimension" in page
    turned = research_client.get(reverse("rubric-compare"), {"left": other.pk, "right": one.pk}).text
    assert f"Rubric {other.pk} beside rubric {one.pk}" in turned


def test_without_a_choice_the_page_says_how_to_make_one(research_client: Client) -> None:
    one, other = two_rubrics()
    address = reverse("rubric-compare")
    assert "No rubrics chosen" in research_client.get(address).text
    chosen = research_client.get(address, {"left": one.pk}).text
    assert f"right={other.pk}" in chosen
    assert research_client.get(address, {"left": 10**8, "right": one.pk}).status_code == 404
    assert research_client.get(address, {"left": "x", "right": "-1"}).status_code == 200


def test_rubrics_of_different_requests_can_be_compared_and_the_page_says_so(research_client: Client) -> None:
    one, other = rubric(corpus_prompt()), rubric(corpus_prompt())
    page = research_client.get(reverse("rubric-compare"), {"left": one.pk, "right": other.pk}).text
    assert "They are for different requests" in page
