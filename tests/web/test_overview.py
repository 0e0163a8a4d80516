"""The picture of the pipeline: its parts add up, and each number is the length of the list it opens."""

from __future__ import annotations

import re

import pytest
from django.test import Client
from django.urls import reverse
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from config.overview import Stage, Tally, overview
from curation.models import Reconstruction
from tests.samples import candidate, corpus, corpus_prompt, reconstruction, rubric, source_prompt


def total(client: Client, tally: Tally) -> int:
    page = client.get(tally.url).text
    found = re.search(r'<p class="count"><strong>([\d,]+)</strong>', page)
    return int(found.group(1).replace(",", "")) if found else 0


def tallies(stage: Stage) -> list[Tally]:
    return [stage.whole, *([stage.passed] if stage.passed else []), *stage.out, *stage.waiting]


def check_sums(stages: tuple[Stage, ...]) -> None:
    for stage in stages:
        if stage.passed:
            parts = stage.passed.count + sum(t.count for t in (*stage.out, *stage.waiting))
            assert parts == stage.whole.count, stage.name


def test_every_number_is_the_length_of_the_list_that_it_opens(research_client: Client) -> None:
    corpus()
    stages = overview().stages
    check_sums(stages)
    assert len(stages) == 11
    for stage in stages:
        for tally in tallies(stage):
            assert total(research_client, tally) == tally.count, f"{stage.name}: {tally}"


FATES = ["excluded", "bare", "mined", "written", "read", "fallback", "chosen"]
"""How far an accepted prompt comes."""


class SumsOfAnyCorpus(TestCase):
    """Whatever is in the database, nothing gets lost between two boxes."""

    @settings(max_examples=15, deadline=None)
    @given(
        st.lists(st.sampled_from([s for s in Reconstruction.State.values if s != "accepted"]), max_size=12),
        st.lists(st.sampled_from(FATES), max_size=8),
        st.integers(0, 3),
    )
    def test_sums(self, states: list[str], prompts: list[str], alone: int) -> None:
        for state in states:
            reconstruction(state)
        for kind in prompts:
            prompt = corpus_prompt(excluded_because="no rubric" if kind == "excluded" else "")
            if kind in ("excluded", "bare"):
                continue
            of = rubric(prompt)
            if kind != "mined":
                value = 0.5 if kind in ("read", "chosen") else 0.4 if kind == "fallback" else None
                candidate(of, value=value, fallback=kind == "fallback", demonstration=kind == "chosen")
        for number in range(alone):
            source_prompt(excluded_because="too long" if number else "")
        stages = {stage.name: stage for stage in overview().stages}
        check_sums(tuple(stages.values()))
        assert stages["Reconstructions"].whole.count == Reconstruction.objects.count()
        assert stages["Review"].passed is not None
        assert stages["Review"].passed.count == stages["Corpus prompts"].whole.count


def test_what_waits_for_a_person_is_listed(research_client: Client) -> None:
    corpus()
    page = research_client.get("/").text
    for text in ("reconstructions to review", "failed items in run", "is paused: Assessment"):
        assert text in page


def test_running_work_shows_its_rate_and_the_part_is_polled(research_client: Client) -> None:
    rows = corpus()
    headers = {"HX-Request": "true", "HX-Target": "pipeline"}
    part = research_client.get("/", headers=headers).text
    assert part.strip().startswith('<div id="pipeline"')
    assert 'hx-trigger="every 3s"' in part
    assert f"run {rows['run'].pk} ·" in part
    assert "5 left" in part


@pytest.mark.django_db
def test_an_empty_workbench_says_how_to_begin(research_client: Client) -> None:
    assert "import_prompts" in research_client.get(reverse("home")).text
