"""The audit trail on pages: who, when, from what to what, why; and nothing too early."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from curation.models import CorpusPrompt
from curation.review import resolve_flag
from llm.audit import record
from tests.reviewing import flagged_item, judged, waiting_item
from tests.samples import run_with_items, source_prompt


def history(client: Client, **query: str | int) -> str:
    return client.get(reverse("history"), query).text


def section(client: Client, route: str, pk: int) -> str:
    page = client.get(reverse(route, args=[pk])).text
    return page[page.index('id="history"') :]


def test_an_objects_page_has_its_history(research_client: Client, researcher: User) -> None:
    prompt = source_prompt()
    record(
        prompt,
        "excluded",
        before={"excluded_because": ""},
        after={"excluded_because": "old"},
        actor=researcher,
    )
    record(
        prompt,
        "excluded",
        before={"excluded_because": "old", "line": 1},
        after={"excluded_because": "<b>new</b>", "line": 1},
        reason="Because <i>so</i>",
        actor=researcher,
    )
    shown = section(research_client, "source-prompt", prompt.pk)
    assert shown.index("&lt;b&gt;new&lt;/b&gt;") < shown.index("(empty)"), "the newest comes first"
    assert "Because &lt;i&gt;so&lt;/i&gt;" in shown
    assert "rosa" in shown
    assert "line" not in shown.split("</section>")[0], "what did not change is not shown"


def test_a_reconstruction_tells_how_it_came_here(research_client: Client, researcher: User) -> None:
    item = flagged_item("ann", reason="Two requests")
    resolve_flag(by=researcher, reconstruction_id=item.pk, resolution="One")
    judged(item, "ann")
    shown = section(research_client, "reconstruction", item.pk)
    order = [
        shown.index(f"<strong>{action}</strong>")
        for action in ("reviewed: accept", "put back", "flagged", "opened for review")
    ]
    assert order == sorted(order)
    assert "Two requests" in shown


def test_what_was_decided_is_kept_back_until_the_item_is_settled(research_client: Client) -> None:
    item = waiting_item(reviews=2)
    judged(item, "ann", "reject", task_clarity="fail")
    for page in (section(research_client, "reconstruction", item.pk), history(research_client)):
        assert "reviewed: reject" not in page
        assert "shown once the item is settled" in page
    judged(item, "bob", "reject", task_clarity="fail")
    assert "reviewed: reject" in section(research_client, "reconstruction", item.pk)
    assert "reviewed: reject" in history(research_client)


def test_no_filter_tells_what_is_kept_back(research_client: Client) -> None:
    item = waiting_item(reviews=2)
    judged(item, "ann", "reject", task_clarity="fail")
    page = history(research_client)
    assert '<option value="reviewed">' in page
    assert "reject</option>" not in page
    narrowed = history(research_client, action="reviewed: reject")
    assert "opened for review" in narrowed, "a value that is not offered narrows nothing"


def test_changes_by_actor_action_kind_and_object(research_client: Client, researcher: User) -> None:
    item = judged(waiting_item(), "ann").reconstruction
    prompt = source_prompt()
    record(prompt, "excluded", actor=researcher)
    record(item, "filtered", run=run_with_items())
    record(item, "filtered by hand")

    def count(**query: str | int) -> int:
        return history(research_client, **query).count('<td data-label="When">')

    whole = count()
    assert count(actor="rosa") == 1
    assert count(actor="a run") == 1
    assert count(action="filtered") == 1
    assert count(action="reviewed") == 1
    assert count(kind="source prompt") == 1
    assert count(kind="reconstruction", object=item.pk) == whole - 2
    assert count(kind="reconstruction", object=item.pk + 999) == 0
    page = history(research_client)
    assert f'href="{reverse("source-prompt", args=[prompt.pk])}"' in page
    assert f'href="{reverse("reconstruction", args=[item.pk])}"' in page


@pytest.mark.parametrize("query", [{"object": "x"}, {"object": "9" * 30}, {"actor": "' --"}, {"page": "0"}])
def test_a_query_that_makes_no_sense_harms_nothing(research_client: Client, query: dict[str, str]) -> None:
    judged(waiting_item(), "ann")
    assert history(research_client, **query).count('<td data-label="When">') >= 2


def test_an_empty_list_says_so(research_client: Client) -> None:
    assert not CorpusPrompt.objects.exists()
    assert "No changes yet" in history(research_client)


def test_annotators_are_kept_out(annotator_client: Client) -> None:
    assert annotator_client.get(reverse("history")).status_code == 403
