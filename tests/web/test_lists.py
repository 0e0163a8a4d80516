"""Lists: filters, search, pages, tampered queries, and what they say when they are empty."""

from __future__ import annotations

import re

import pytest
from django.test import Client
from django.urls import reverse

from curation.models import SourcePrompt
from llm import listing
from llm.models import Run
from tests.reviewing import disputed_item, flagged_item, judged, waiting_item
from tests.samples import (
    CHINESE,
    ENGLISH,
    candidate,
    corpus,
    reconstruction,
    rubric,
    run_with_items,
    source,
    source_prompt,
)

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


def test_reconstructions_by_what_reviewers_said_once_it_may_be_known(research_client: Client) -> None:
    judged(waiting_item(), "ann", "reject", task_clarity="fail")
    disputed_item("ann", "bob")
    open_item = waiting_item(reviews=2)
    judged(open_item, "carl", "reject", usable_length="fail")
    flagged_item("dora")
    cases: list[tuple[dict[str, str], int]] = [
        ({"failed": "any"}, 2),
        ({"failed": "task_clarity"}, 2),
        ({"failed": "usable_length"}, 1),
        ({"failed": "contextual_coherence"}, 0),
        ({"failed": "task_clarity", "state": "disputed"}, 1),
        ({"flagged": "now"}, 1),
        ({"flagged": "ever"}, 1),
    ]
    for query, count in cases:
        assert shown(research_client, "reconstructions", **query) == count, query


def test_reconstructions_by_reviewer_leave_out_what_somebody_still_judges_blind(
    research_client: Client,
) -> None:
    reviewer = judged(waiting_item(), "ann").reviewer
    open_item = waiting_item(reviews=2)
    judged(open_item, "ann")
    assert shown(research_client, "reconstructions", reviewer=reviewer.pk) == 1
    judged(open_item, "bob")
    assert shown(research_client, "reconstructions", reviewer=reviewer.pk) == 2


def test_a_range_of_lengths_and_numbers_that_are_none(research_client: Client) -> None:
    for length in (10, 20, 30):
        reconstruction("accepted", "x" * length)
    for query, count in (
        ({"characters_from": "20"}, 2),
        ({"characters_to": "20"}, 2),
        ({"characters_from": "11", "characters_to": "29"}, 1),
        ({"characters_from": "x", "characters_to": "-5"}, 3),
        ({"characters_from": "99999999999999999999"}, 3),
    ):
        assert shown(research_client, "reconstructions", **query) == count, query


def test_no_list_fetches_whole_texts(research_client: Client, django_assert_num_queries: object) -> None:
    end = "the very end of it"
    reconstruction("accepted", "word " * 2_000 + end)
    with django_assert_num_queries(9, exact=False) as captured:  # type: ignore[operator]
        page = research_client.get(reverse("reconstructions")).text
    assert end not in page
    queries = [query["sql"] for query in captured.captured_queries]
    fetched = [sql for sql in queries if '"curation_reconstruction"' in sql]
    assert any("LEFT(" in sql for sql in fetched)
    assert not any('"text"' in re.sub(r"LEFT\([^)]*\)", "", sql) for sql in fetched)


def test_past_the_counted_rows_a_list_says_more_than_and_goes_on(
    research_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "COUNTED", 100)
    of = source()
    SourcePrompt.objects.bulk_create(
        SourcePrompt(
            source=of,
            line=number,
            text=f"t{number}",
            digest=str(number),
            language="en",
            characters=2,
            segments=1,
        )
        for number in range(230)
    )
    keys = list(SourcePrompt.objects.order_by("pk").values_list("pk", flat=True))
    seen: list[int] = []
    query, pages = "?language=en", 0
    while query:
        page = research_client.get(reverse("source-prompts") + query).text
        assert "more than <strong>100</strong> source prompts" in page
        seen += [int(pk) for pk in re.findall(r'class="id" href="/source-prompts/(\d+)/"', page)]
        found = re.search(r'rel="next" href="([^"]+)"', page)
        query = found[1].replace("&amp;", "&") if found else ""
        pages += 1
    assert seen == keys
    assert pages == 5
    back = research_client.get(reverse("source-prompts"), {"before": keys[200]}).text
    assert re.findall(r'class="id" href="/source-prompts/(\d+)/"', back) == [str(pk) for pk in keys[150:200]]


def test_the_newest_first_goes_on_past_the_counted_rows_too(
    research_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "COUNTED", 50)
    runs = [run_with_items(kind="mine", state="done").pk for _ in range(60)]
    first = research_client.get(reverse("runs")).text
    query = re.search(r'rel="next" href="([^"]+)"', first)
    assert query
    rest = research_client.get(reverse("runs") + query[1]).text
    assert [int(pk) for pk in re.findall(r'id="run-(\d+)"', first + rest)] == sorted(runs, reverse=True)
