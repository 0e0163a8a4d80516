"""Lists: filters, search, pages, tampered queries, and what they say when they are empty."""

from __future__ import annotations

import re

import pytest
from django.test import Client
from django.urls import reverse

from llm.models import Run
from tests.samples import CHINESE, ENGLISH, candidate, corpus, reconstruction, rubric, source_prompt

LISTS = (
    "sources",
    "source-prompts",
    "reconstructions",
    "corpus-prompts",
    "rubrics",
    "candidates",
    "snapshots",
    "runs",
    "endpoints",
    "my-work",
)


def shown(client: Client, name: str, **query: str | int) -> int:
    """How many rows the list says it has; 0 when it says that nothing is there."""
    page = client.get(reverse(name), query).text
    found = re.search(r'<p class="count"><strong>([\d,]+)</strong>', page)
    return int(found.group(1).replace(",", "")) if found else 0


@pytest.mark.parametrize("name", LISTS)
def test_an_empty_list_says_what_to_do_next(research_client: Client, name: str) -> None:
    page = research_client.get(reverse(name)).text
    empty = page[page.index('<div class="empty">') :]
    assert "<h2>" in empty
    assert "<a " in empty[: empty.index("</div>")] or "manage.py" in empty


@pytest.mark.parametrize("name", LISTS)
def test_a_query_that_makes_no_sense_harms_nothing(research_client: Client, name: str) -> None:
    corpus()
    whole = shown(research_client, name)
    query: dict[str, str | int] = {
        "state": "' OR 1=1 --",
        "page": "99999999999999999999",
        "source": "x",
        "kind": "\u0000",
    }
    assert shown(research_client, name, **query) == whole
    assert research_client.get(reverse(name), {"q": "a\u0000b", "page": "-1"}).status_code == 200


def test_source_prompts_by_state_language_and_text(research_client: Client) -> None:
    source_prompt(ENGLISH, excluded_because="too long")
    reconstruction(of=source_prompt(CHINESE, "zh"))
    source_prompt(ENGLISH)
    assert shown(research_client, "source-prompts") == 3
    assert shown(research_client, "source-prompts", state="excluded") == 1
    assert shown(research_client, "source-prompts", state="waiting") == 1
    assert shown(research_client, "source-prompts", state="planned", language="zh") == 1
    assert shown(research_client, "source-prompts", q="运河") == 1
    assert shown(research_client, "source-prompts", q="VILLAGE library") == 2


def test_reconstructions_by_state_strategy_and_how_far_they_came(research_client: Client) -> None:
    for state in ("planned", "failed", "rewritten", "repetitive", "contaminated", "in_review", "rejected"):
        reconstruction(state)
    reconstruction("accepted", CHINESE, "zh", strategy="length_aware")
    cases: list[tuple[dict[str, str], int]] = [
        ({}, 8),
        ({"state": "failed"}, 1),
        ({"reached": "text"}, 6),
        ({"reached": "filters"}, 4),
        ({"reached": "screening"}, 3),
        ({"strategy": "length_aware"}, 1),
        ({"language": "zh", "q": "展览"}, 1),
        ({"language": "en", "q": "展览"}, 0),
    ]
    for query, count in cases:
        assert shown(research_client, "reconstructions", **query) == count, query


def test_candidates_by_assessment_selection_and_ending(research_client: Client) -> None:
    of = rubric()
    candidate(of, 0, value=0.8, demonstration=True)
    candidate(of, 1, value=0.4, fallback=True)
    candidate(of, 2, cut=True)
    for query, count in (
        ({"kind": "demonstration"}, 1),
        ({"assessment": "assessed"}, 1),
        ({"assessment": "fallback"}, 1),
        ({"assessment": "any"}, 2),
        ({"assessment": "none"}, 1),
        ({"cut": "yes"}, 1),
        ({"cut": "no"}, 2),
    ):
        assert shown(research_client, "candidates", **query) == count, query
    assert shown(research_client, "rubrics", candidates="yes") == 1
    assert shown(research_client, "rubrics", candidates="no") == 0
    assert shown(research_client, "corpus-prompts", rubric="yes", demonstration="yes") == 1
    assert shown(research_client, "corpus-prompts", excluded="yes") == 0


def test_fifty_rows_a_page_and_links_that_keep_the_filters(research_client: Client) -> None:
    for number in range(51):
        source_prompt(f"request {number}")
    page = research_client.get(reverse("source-prompts"), {"language": "en", "q": "request"}).text
    assert page.count('<td data-label="Prompt">') == 50
    assert 'href="?language=en&amp;q=request&amp;page=2"' in page
    second = research_client.get(reverse("source-prompts"), {"language": "en", "page": "2"}).text
    assert second.count('<td data-label="Prompt">') == 1
    beyond = research_client.get(reverse("source-prompts"), {"page": 7}).text
    assert beyond.count('<td data-label="Prompt">') == 1


def test_htmx_gets_only_the_rows(research_client: Client) -> None:
    source_prompt()
    headers = {"HX-Request": "true", "HX-Target": "rows"}
    part = research_client.get(reverse("source-prompts"), headers=headers).text
    assert part.strip().startswith('<div id="rows">')
    assert "<html" not in part
    whole = research_client.get(
        reverse("source-prompts"), headers={"HX-Request": "true", "HX-Target": "../base"}
    )
    assert "<html" in whole.text


def test_lists_ask_the_same_number_of_questions_however_long_they_are(
    research_client: Client, django_assert_max_num_queries: object
) -> None:
    for number in range(8):
        candidate(rubric(), 0, f"text {number}", value=0.5)
    Run.objects.create(kind="mine")
    for name in LISTS:
        with django_assert_max_num_queries(11):  # type: ignore[operator]
            research_client.get(reverse(name))
