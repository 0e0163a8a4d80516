"""A rubric's page, its versions and files, all rubrics of a prompt, and the corpus' numbers."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from rubrics.checklists import read_checklist
from rubrics.models import MiningTrace, Rubric
from rubrics.rubric import Rubric as RubricValue
from rubrics.versions import save_version
from tests.samples import CHINESE, completion, corpus_prompt, dimensions, rubric

pytestmark = pytest.mark.django_db


def edited(row: Rubric, user: User, *names: str) -> Rubric:
    value = RubricValue.from_json(dimensions(names))
    return save_version(parent=row, value=value, note="Rhyme matters", user=user, seen=row.pk).rubric


def test_versions_are_listed_with_who_why_and_what(research_client: Client, researcher: User) -> None:
    row = rubric()
    assert "Versions" not in research_client.get(reverse("rubric", args=[row.pk])).text
    later = edited(row, researcher, "Structure", "Voice", "Rhyme")
    page = research_client.get(reverse("rubric", args=[row.pk])).text
    assert f'Version 2 of this rubric is newer: <a href="{reverse("rubric", args=[later.pk])}"' in page
    assert "superseded" in page
    assert "1 added, 1 removed, order changed" in page
    newer = research_client.get(reverse("rubric", args=[later.pk])).text
    assert "is newer" not in newer
    assert "Rhyme matters" in newer
    assert f"?left={row.pk}&amp;right={later.pk}" in newer
    assert "version saved</strong> by" in newer  # the object's history


def test_cost_and_fates_are_summed_up(research_client: Client) -> None:
    row = rubric()
    found = [{"name": "Voice", "reason": "how it sounds"}, {"name": "Rhyme", "reason": "whether lines rhyme"}]
    trace = MiningTrace.objects.create(
        prompt=row.prompt, rubric=row, discovered=found, consolidated=found[:1]
    )
    trace.completions.set([completion(), completion()])
    page = research_client.get(reverse("rubric", args=[row.pk])).text
    assert "2 calls, 24 tokens read, 68 written, 0 s of answering" in page
    assert "Candidates of discovery: 2, of which 1 kept, 1 dropped" in page
    assert "judged by the wording" in page


def test_words_that_differ_between_versions_are_marked(research_client: Client, researcher: User) -> None:
    shape = dimensions(("Voice", "Structure", "Restraint"))
    shape[0]["7-8"] = "The voice of the islanders is heard in every one of the paragraphs"
    row = rubric(dimensions=shape)
    changed = [dict(each) for each in shape]
    changed[0]["7-8"] = "The voice of the islanders is heard in most of the paragraphs"
    later = save_version(
        parent=row, value=RubricValue.from_json(changed), note="x", user=researcher, seen=row.pk
    ).rubric
    address = reverse("rubric-compare")
    page = research_client.get(address, {"left": row.pk, "right": later.pk}).text
    assert "<del>every one</del>" in page
    assert "<ins>most</ins>" in page
    assert page.count("word for word the same") == 4


def test_two_are_picked_in_the_list(research_client: Client) -> None:
    one, other = rubric(), rubric()
    page = research_client.get(reverse("rubrics")).text
    assert f'name="pick" value="{one.pk}"' in page
    address = reverse("rubric-compare")
    answer = research_client.get(address, {"pick": [one.pk, other.pk]})
    assert answer["Location"] == f"{address}?left={one.pk}&right={other.pk}"
    told = research_client.get(address, {"pick": [one.pk]}, follow=True).text
    assert "a comparison takes two" in told


def test_all_rubrics_of_a_prompt_stand_side_by_side(research_client: Client) -> None:
    prompt = corpus_prompt(CHINESE, "zh")
    address = reverse("prompt-rubrics", args=[prompt.pk])
    assert "No rubrics yet" in research_client.get(address).text
    rows = [rubric(prompt), rubric(prompt, method="drg", constructor="other-model")]
    elsewhere = rubric()
    page = research_client.get(address).text
    assert all(f'name="pick" value="{row.pk}"' in page for row in rows)
    assert f'name="pick" value="{elsewhere.pk}"' not in page
    assert "DRG by <bdi>other-model</bdi>" in page
    assert reverse("rubric-new", args=[prompt.pk]) in page


def test_a_rubric_is_downloaded_in_its_canonical_form(research_client: Client) -> None:
    row = rubric()
    answer = research_client.get(reverse("rubric-file", args=[row.pk]))
    assert answer["Content-Disposition"] == f'attachment; filename="rubric-{row.pk}.json"'
    assert read_checklist(answer.content).digest == row.digest
    assert list(json.loads(answer.content)[0])[:3] == ["name", "criteria_description", "1-2"]


def test_a_narrowed_list_is_downloaded_in_the_shape_of_writingbench(
    research_client: Client, researcher: User
) -> None:
    row = rubric(corpus_prompt(CHINESE, "zh"))
    rubric(method="drg")
    later = edited(row, researcher, "Voice")
    Rubric.objects.filter(pk=row.pk).update(lint_version=1, lint=[{"check": "vague"}])

    def lines(**query: str) -> list[dict[str, Any]]:
        answer = research_client.get(reverse("rubric-export"), query)
        assert answer["Content-Disposition"].endswith('"rubrics.jsonl"')
        return [json.loads(line) for line in b"".join(answer).decode().split("\n") if line]

    assert len(lines()) == 3
    (line,) = lines(lint="vague", version="older")
    assert (line["index"], line["query"], line["domain1"]) == (row.pk, CHINESE, "")
    assert list(line["checklist"][0])[:3] == ["name", "criteria_description", "1-2"]
    assert line["provenance"]["sha256"] == row.digest
    assert line["provenance"]["findings"] == ["vague"]
    assert [each["index"] for each in lines(version="newest", language="zh")] == [later.pk]
    assert [each["index"] for each in lines(version="older")] == [row.pk]
    assert (
        f"{reverse('rubric-export')}?lint=vague"
        in research_client.get(reverse("rubrics"), {"lint": "vague"}).text
    )


def test_the_numbers_lead_to_their_rubrics(research_client: Client) -> None:
    address = reverse("rubric-statistics")
    assert "No rubrics yet" in research_client.get(address).text
    row = rubric(constructor="a & b")
    Rubric.objects.filter(pk=row.pk).update(lint_version=1, lint=[{"check": "vague"}])
    page = research_client.get(address).text
    listed = f"{reverse('rubrics')}?method=irg&amp;constructor=a+%26+b"
    assert f'href="{listed}"' in page
    assert f'href="{listed}&amp;lint=vague"' in page
    assert page.count('<svg viewBox="0 0 240 96"') == 4
