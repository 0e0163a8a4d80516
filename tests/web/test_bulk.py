"""Bulk actions: the preview says what will happen, and only that happens."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from curation import bulk
from curation.excluding import exclude, include_again
from curation.models import CorpusPrompt, CurationPolicy, Reconstruction, Review, ReviewSlot, SourcePrompt
from curation.review import claim
from curation.services import usable_source_prompts
from llm.engine.worker import work_on_run
from llm.models import AuditEntry, Run, RunItem
from tests.reviewing import annotator, disputed_item, flagged_item, judged, waiting_item
from tests.samples import CHINESE, endpoint, reconstruction, run_with_items, source_prompt


def preview(client: Client, action: str, **query: str | list[str]) -> str:
    answer = client.get(reverse("bulk", args=[action]), query)
    assert answer.status_code == 200
    return answer.text


def count_in(page: str) -> int:
    found = re.search(r'<div class="figures"><span><strong>([\d,]+)</strong>', page)
    assert found
    return int(found[1].replace(",", ""))


def left_alone(page: str) -> dict[str, int]:
    return {why: int(count) for count, why in re.findall(r"<li><strong>(\d+)</strong> ([^<]+)</li>", page)}


def confirm(client: Client, action: str, page: str, **extra: str) -> str:
    """Sends the preview's form as it stands."""
    fields: dict[str, Any] = {}
    for name, value in re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', page):
        fields.setdefault(name, []).append(value)
    answer = client.post(reverse("bulk", args=[action]), {**fields, **extra}, follow=True)
    return answer.text


def test_a_second_review_for_what_waits(research_client: Client) -> None:
    once, twice = waiting_item(), waiting_item(reviews=2)
    judged(waiting_item(), "ann")
    disputed_item("carl", "dora")
    flagged_item("eve")
    for state in ("planned", "failed", "rewritten", "repetitive", "contaminated"):
        reconstruction(state)
    page = preview(research_client, "second-review")
    assert count_in(page) == 1
    assert left_alone(page) == {
        "has two reviews asked for already": 1,
        "is settled: withdraw its decision first": 1,
        "waits for adjudication": 1,
        "is put aside with a flag": 1,
        "is not written yet": 2,
        "waits for the filters": 1,
        "was discarded by a filter": 2,
    }
    assert reverse("reconstruction", args=[once.pk]) in page
    assert "done for 1 reconstruction." in confirm(research_client, "second-review", page)
    assert ReviewSlot.objects.filter(reconstruction=once).count() == 2
    assert ReviewSlot.objects.filter(reconstruction=twice).count() == 2


def test_only_what_the_filters_show_is_worked_on(research_client: Client) -> None:
    chinese = waiting_item(text=CHINESE, language="zh")
    english = waiting_item()
    page = preview(research_client, "second-review", language="zh", q="运河")
    assert "Language: <strong><bdi>zh</bdi></strong>" in page
    assert count_in(page) == 1
    confirm(research_client, "second-review", page)
    chinese.refresh_from_db()
    english.refresh_from_db()
    assert (chinese.wanted_reviews, english.wanted_reviews) == (2, 1)


def test_only_the_ticked_rows_are_worked_on(research_client: Client) -> None:
    items = [waiting_item() for _ in range(3)]
    listed = research_client.get(reverse("reconstructions"), {"state": "in_review"}).text
    boxes = re.findall(r'<input type="checkbox" form="bulk" name="item" value="(\d+)"', listed)
    assert sorted(boxes) == sorted(str(item.pk) for item in items)
    menu = listed[listed.index('<form id="bulk" method="get">') : listed.index('<table class="table">')]
    assert f'formaction="{reverse("bulk", args=["second-review"])}"' in menu
    assert '<input type="hidden" name="state" value="in_review">' in menu
    page = preview(research_client, "second-review", state="in_review", item=boxes[:2])
    assert "The rows that you have ticked" in page
    assert count_in(page) == 2
    assert "done for 2 reconstructions" in confirm(research_client, "second-review", page)
    wanted = dict(Reconstruction.objects.values_list("pk", "wanted_reviews"))
    assert [wanted[int(pk)] for pk in boxes] == [2, 2, 1]


def test_a_ticked_row_that_has_left_the_list_is_left_alone(research_client: Client) -> None:
    stays, goes = waiting_item(), waiting_item()
    ticked = [str(stays.pk), str(goes.pk)]
    page = preview(research_client, "second-review", state="in_review", item=ticked)
    judged(goes, "ann")
    again = confirm(research_client, "second-review", page)
    assert "The list has changed since" in again
    assert count_in(again) == 1
    confirm(research_client, "second-review", again)
    assert Reconstruction.objects.get(wanted_reviews=2) == stays


@pytest.mark.parametrize("key", ["x", "-1", "1 or 1=1", "9" * 30, ""])
def test_a_tick_that_names_nothing_means_no_row_and_not_all(research_client: Client, key: str) -> None:
    waiting_item()
    assert count_in(preview(research_client, "second-review", item=key)) == 0


def test_a_set_that_changed_is_shown_again_before_anything_happens(research_client: Client) -> None:
    waiting_item()
    page = preview(research_client, "second-review")
    late = waiting_item()
    again = confirm(research_client, "second-review", page)
    assert "The list has changed since" in again
    assert count_in(again) == 2
    assert not Reconstruction.objects.filter(wanted_reviews=2).exists()
    confirm(research_client, "second-review", again)
    late.refresh_from_db()
    assert late.wanted_reviews == 2


def test_the_same_number_of_other_items_is_another_set(research_client: Client) -> None:
    first = waiting_item()
    page = preview(research_client, "second-review")
    judged(first, "ann")
    waiting_item()
    assert "The list has changed since" in confirm(research_client, "second-review", page)


def test_withdrawing_decisions_takes_all_reviews_back_and_says_what_it_touches(
    research_client: Client, researcher: User
) -> None:
    item = waiting_item()
    judged(item, "ann")
    both = disputed_item("carl", "dora")
    waiting = waiting_item(reviews=2)
    judged(waiting, "eve")
    page = preview(research_client, "withdraw")
    assert count_in(page) == 2
    assert left_alone(page) == {"is not decided yet": 1}
    assert "What it touches" in page
    assert "Say why" in confirm(research_client, "withdraw", page)
    assert "done for 2 reconstructions" in confirm(
        research_client, "withdraw", page, reason="A wrong guideline"
    )
    for each in (item, both):
        each.refresh_from_db()
        assert each.state == "in_review"
        assert not each.reviews.filter(withdrawn_at__isnull=True).exists()
    assert CorpusPrompt.objects.get().withdrawn_at is not None
    assert Review.objects.filter(withdrawn_by=researcher, withdrawn_because="A wrong guideline").count() == 3
    assert Review.objects.get(reviewer__username="eve").withdrawn_at is None
    assert ReviewSlot.objects.filter(reconstruction=item, review__isnull=True).count() == 1


def test_flags_are_put_back_with_what_came_of_them(research_client: Client) -> None:
    item = flagged_item("ann")
    page = preview(research_client, "put-back", state="flagged")
    confirm(research_client, "put-back", page, reason="Looked at, all fine")
    item.refresh_from_db()
    assert item.state == "in_review"
    assert item.flags.get().resolution == "Looked at, all fine"


def test_failed_reconstructions_are_asked_for_anew(research_client: Client) -> None:
    failed, planned, queued = reconstruction("failed"), reconstruction("planned"), reconstruction("planned")
    reconstruction("rewritten")
    earlier = run_with_items(kind="reconstruct", state="done")
    RunItem.objects.create(
        run=earlier, subject_id=failed.pk, state="failed", retries=2, error_kind="unusable"
    )
    busy = run_with_items(kind="reconstruct")
    RunItem.objects.create(run=busy, subject_id=queued.pk, state="pending")
    page = preview(research_client, "reconstruct")
    assert count_in(page) == 2
    assert left_alone(page) == {"has its text already": 1, "waits in a run already": 1}
    assert "Choose the endpoint" in confirm(research_client, "reconstruct", page)
    assert "Choose the endpoint" in confirm(research_client, "reconstruct", page, endpoint="x")
    confirm(research_client, "reconstruct", page, endpoint=str(endpoint().pk))
    run = Run.objects.latest("pk")
    assert dict(run.items.values_list("subject_id", "retries")) == {failed.pk: 3, planned.pk: 0}
    assert run.endpoint == endpoint()


def test_rewritten_ones_are_filtered_again(research_client: Client) -> None:
    item = reconstruction("rewritten")
    reconstruction("in_review")
    page = preview(research_client, "filter")
    assert left_alone(page) == {"is through the filters already": 1}
    confirm(research_client, "filter", page)
    run = Run.objects.get(kind="filter")
    assert list(run.items.values_list("subject_id", flat=True)) == [item.pk]


def test_source_prompts_are_excluded_with_a_reason_and_in_the_history(
    research_client: Client, researcher: User
) -> None:
    chinese = source_prompt(CHINESE, "zh")
    english = source_prompt()
    source_prompt(CHINESE, "zh", excluded_because="too long")
    page = preview(research_client, "exclude", language="zh")
    assert left_alone(page) == {"is excluded already": 1}
    confirm(research_client, "exclude", page, reason="Not asked for")
    chinese.refresh_from_db()
    assert chinese.excluded_because == "Not asked for"
    assert SourcePrompt.objects.get(pk=english.pk).excluded_because == ""
    entry = AuditEntry.objects.get(subject_kind="source prompt")
    assert (entry.subject_id, entry.action, entry.actor, entry.reason) == (
        chinese.pk,
        "excluded",
        researcher,
        "Not asked for",
    )


def test_what_was_excluded_is_included_again(research_client: Client, researcher: User) -> None:
    prompt, kept = source_prompt(excluded_because="not asked for"), source_prompt()
    long = source_prompt(excluded_because="9,000 segments: sources over 8,000 are left out")
    SourcePrompt.objects.filter(pk=long.pk).update(segments=9_000)
    page = preview(research_client, "include")
    assert left_alone(page) == {"is not excluded": 1, "is too long to be reconstructed": 1}
    assert "Say why" in confirm(research_client, "include", page)
    done = confirm(research_client, "include", page, reason="Asked for after all")
    assert "done for 1 source prompt." in done
    because = dict(SourcePrompt.objects.values_list("pk", "excluded_because"))
    assert (because[prompt.pk], because[kept.pk]) == ("", "")
    assert because[long.pk]
    entry = AuditEntry.objects.get(subject_kind="source prompt")
    assert (entry.subject_id, entry.action, entry.actor) == (prompt.pk, "included again", researcher)
    assert (entry.before, entry.after) == ({"excluded_because": "not asked for"}, {"excluded_because": ""})
    assert entry.reason == "Asked for after all"
    assert usable_source_prompts() == [prompt.pk, kept.pk]


def test_one_source_prompt_is_excluded_and_included_from_its_page(research_client: Client) -> None:
    prompt, other = source_prompt(), source_prompt()
    for action, because in (("exclude", "So"), ("include", "")):
        address = reverse("source-prompt", args=[prompt.pk])
        link = f'href="{reverse("bulk", args=[action])}?item={prompt.pk}"'
        assert link in research_client.get(address).text
        page = preview(research_client, action, item=str(prompt.pk))
        assert count_in(page) == 1
        confirm(research_client, action, page, reason="So")
        prompt.refresh_from_db()
        assert prompt.excluded_because == because
    other.refresh_from_db()
    assert other.excluded_because == ""


def test_the_service_says_how_many_it_has_changed(researcher: User) -> None:
    first, second = source_prompt(), source_prompt(excluded_because="old")
    both = [first.pk, second.pk]
    assert exclude(source_prompt_ids=both, by=researcher, reason="x" * 400) == 1
    first.refresh_from_db()
    assert len(first.excluded_because) == 300
    assert include_again(source_prompt_ids=both, by=researcher, reason="y") == 2
    assert include_again(source_prompt_ids=both, by=researcher, reason="y") == 0


@pytest.mark.django_db(transaction=True)
def test_many_items_are_left_to_a_run(research_client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk, "AT_ONCE", 2)
    items = [flagged_item(f"reader{number}") for number in range(3)]
    page = preview(research_client, "put-back")
    confirm(research_client, "put-back", page, reason="All fine")
    run = Run.objects.get(kind="bulk")
    assert run.total == 3
    moved = items[0]
    research_client.post(reverse("flag-put-back", args=[moved.pk]), {"resolution": "By hand"})
    asyncio.run(work_on_run(run.pk))
    run.refresh_from_db()
    assert run.state == "done"
    assert set(Reconstruction.objects.values_list("state", flat=True)) == {"in_review"}
    assert moved.flags.get().resolution == "By hand", "what has moved on meanwhile is left alone"
    assert AuditEntry.objects.filter(action="put back", actor_name="rosa").count() == 3


def test_nothing_to_do_offers_nothing(research_client: Client) -> None:
    CurationPolicy.objects.all().delete()
    page = preview(research_client, "put-back")
    assert "nothing to do here" in page
    assert 'name="token"' not in page


def test_an_action_that_there_is_not_is_no_page(research_client: Client) -> None:
    assert research_client.get(reverse("bulk", args=["delete-all"])).status_code == 404


def test_a_held_item_stays_with_its_reviewer(research_client: Client) -> None:
    item = waiting_item()
    claim(reviewer=annotator("ann"), reconstruction_id=item.pk)
    confirm(research_client, "second-review", preview(research_client, "second-review"))
    assert judged(item, "ann").decision == "accept"
    assert item.state == "in_review", "the second one is still to come"


def test_annotators_are_kept_out(annotator_client: Client) -> None:
    address = reverse("bulk", args=["withdraw"])
    assert annotator_client.get(address).status_code == 403
    assert annotator_client.post(address, {"reason": "x"}).status_code == 403
