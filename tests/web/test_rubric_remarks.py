"""Remarks on a rubric: in the margin of its page, counted and filtered in the list."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from rubrics.linting import lint_again
from rubrics.models import Rubric
from tests.samples import corpus_prompt, dimensions, rubric

pytestmark = pytest.mark.django_db


def test_a_remark_stands_at_its_dimension_and_in_the_list(research_client: Client) -> None:
    prompt = corpus_prompt("Write 300 words about the ferry.")
    row = rubric(prompt)
    page = research_client.get(reverse("rubric", args=[row.pk])).text
    assert "Nobody has looked for weaknesses in it yet" in page
    assert "not looked at" in research_client.get(reverse("rubrics")).text
    lint_again()
    row.refresh_from_db()
    assert row.lint
    page = research_client.get(reverse("rubric", args=[row.pk])).text
    whole, table = page.split('<table class="rubric">')
    for remark in row.lint:
        place = whole if remark["dimension"] is None else table
        assert remark["message"].replace("'", "&#x27;") in place


def test_the_list_is_narrowed_by_what_was_found(research_client: Client) -> None:
    rows = [rubric(corpus_prompt()) for _ in range(3)]
    Rubric.objects.filter(pk=rows[0].pk).update(lint_version=1, lint=[{"check": "vague", "message": "x"}])
    Rubric.objects.filter(pk=rows[1].pk).update(lint_version=1)

    def listed(value: str) -> list[bool]:
        page = research_client.get(reverse("rubrics"), {"lint": value}).text
        return [f'href="{reverse("rubric", args=[row.pk])}"' in page for row in rows]

    assert listed("any") == [True, False, False]
    assert listed("vague") == [True, False, False]
    assert listed("overlap") == [False, False, False]
    assert listed("none") == [False, True, False]
    assert listed("unread") == [False, False, True]


def test_hostile_words_in_a_remark_are_text(research_client: Client) -> None:
    shape = dimensions(("<script>alert(1)</script>", "Structure", "Restraint"))
    shape[1]["criteria_description"] = shape[0]["criteria_description"]
    row = rubric(corpus_prompt("Write a list of <b>ten</b> points."), dimensions=shape)
    lint_again()
    page = research_client.get(reverse("rubric", args=[row.pk])).text
    assert "<script>alert" not in page
