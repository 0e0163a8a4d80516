"""The screening report and the page of one overlap."""

from __future__ import annotations

import re

import pytest
from django.test import Client
from django.urls import reverse

from curation.models import Reconstruction, ScreeningMatch, ScreeningSample
from tests.samples import HOSTILE, reconstruction


def matched(
    text: str, sample: str, *, overlap: float, shared: int, total: int, benchmark: str = "Bench"
) -> Reconstruction:
    item = reconstruction("contaminated" if overlap >= 0.1 else "in_review", text)
    Reconstruction.objects.filter(pk=item.pk).update(overlap=overlap)
    row = ScreeningSample.objects.create(
        benchmark=benchmark, external_id=str(item.pk), text=sample, digest="0" * 64
    )
    ScreeningMatch.objects.create(
        reconstruction=item, sample=row, shared=shared, total=total, tokenizer="qwen3 (quicktok)"
    )
    return item


def listed(page: str) -> list[int]:
    return [int(pk) for pk in re.findall(r'class="id" href="/screening/(\d+)/"', page)]


@pytest.fixture
def items(db: None) -> list[Reconstruction]:
    nothing = reconstruction("in_review")
    Reconstruction.objects.filter(pk=nothing.pk).update(overlap=0)
    return [
        matched("a far text", "a sample", overlap=0.02, shared=4, total=200),
        matched("a near text", "another", overlap=0.25, shared=6, total=24),
        matched("a copy", "the same", overlap=0.9, shared=90, total=100, benchmark="Other"),
    ]


def test_the_report_counts_every_candidate_once(research_client: Client, items: list[Reconstruction]) -> None:
    context = research_client.get(reverse("screening")).context
    report = context["report"]
    assert (report.compared, report.without, report.discarded) == (4, 1, 2)
    assert sum(each.count for each in report.bins) == report.compared - report.without
    tall = [bar for bar in context["bars"] if bar.height]
    assert [(bar.bin.count, bar.discards) for bar in tall] == [(1, False), (1, True), (1, True)]
    assert tall[-1].bin.high is None


def test_the_list_is_by_overlap_and_says_where_a_sample_is_short(
    research_client: Client, items: list[Reconstruction]
) -> None:
    page = research_client.get(reverse("screening")).text
    assert listed(page) == [item.pk for item in reversed(items)]
    assert page.count("few shared trigrams decide") == 1
    narrowed = research_client.get(reverse("screening"), {"discarded": "yes", "benchmark": "Other"})
    assert listed(narrowed.text) == [items[2].pk]


def test_shared_passages_are_marked_in_both_texts(research_client: Client) -> None:
    shared = " the night ferry no longer stops at our island"
    item = matched(f"Say why{shared}.", f"Explain that{shared}, please.", overlap=0.5, shared=7, total=14)
    page = research_client.get(reverse("screening-item", args=[item.pk])).text
    assert page.count(f"<mark>{shared}</mark>") == 2
    assert "7 of the 14" in page
    assert "The sample is short" in page


def test_hostile_texts_are_text(research_client: Client) -> None:
    item = matched(HOSTILE, HOSTILE, overlap=1.0, shared=50, total=50)
    page = research_client.get(reverse("screening-item", args=[item.pk])).text
    assert "<script>document" not in page
    assert "&lt;script&gt;" in page


def test_an_empty_report_says_what_to_do(research_client: Client) -> None:
    assert "Nothing is compared yet" in research_client.get(reverse("screening")).text


def test_what_was_not_screened_has_no_page(research_client: Client) -> None:
    item = reconstruction("rewritten")
    assert research_client.get(reverse("screening-item", args=[item.pk])).status_code == 404
