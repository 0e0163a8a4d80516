"""Reports for researchers: screening, near duplicates, and what a withdrawal touches."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from rest_framework.test import APIClient

from curation.models import CorpusPrompt, Reconstruction, ScreeningMatch, ScreeningSample, SourcePrompt
from curation.services import mark_near_duplicates
from tests.api.conftest import send
from tests.reviewing import judged, waiting_item
from tests.samples import reconstruction, review, rubric, source, source_prompt

COPIED = "the tide tables for every harbour of the northern coast"


def match(text: str, sample: str, *, overlap: float, tokenizer: str = "qwen3 (quicktok)") -> ScreeningMatch:
    item = reconstruction("contaminated", text)
    Reconstruction.objects.filter(pk=item.pk).update(overlap=overlap)
    row = ScreeningSample.objects.create(
        benchmark="Bench", external_id=str(item.pk), text=sample, digest="0" * 64
    )
    return ScreeningMatch.objects.create(
        reconstruction=item, sample=row, shared=8, total=20, tokenizer=tokenizer
    )


def test_the_distribution_counts_every_candidate_once(as_rosa: APIClient) -> None:
    nothing = reconstruction("in_review")
    Reconstruction.objects.filter(pk=nothing.pk).update(overlap=0)
    match("a", "b", overlap=0.12), match("c", "d", overlap=0.9)
    report = send(as_rosa, "get", "screening/").json()
    told = {name: report[name] for name in ("compared", "without", "discarded", "samples", "threshold")}
    assert told == {"compared": 3, "without": 1, "discarded": 2, "samples": 2, "threshold": 0.1}
    filled = [(each["low"], each["high"], each["count"]) for each in report["bins"] if each["count"]]
    assert filled == [(pytest.approx(0.1), pytest.approx(0.125), 1), (pytest.approx(0.5), None, 1)]


def test_a_match_quotes_the_passages_of_both_sides(as_rosa: APIClient) -> None:
    made = match(f"😀 Compare {COPIED}.", f"请写：{COPIED} — briefly", overlap=0.4)
    found = send(as_rosa, "get", f"screening-matches/{made.pk}/").json()
    assert (found["id"], found["shared"], found["overlap"], found["problem"]) == (made.pk, 8, 0.4, "")
    for text, passages in (("text", "passages"), ("sample_text", "sample_passages")):
        assert len(found[passages]) == 1
        quoted = found[passages][0]
        assert found[text][quoted["start"] : quoted["end"]] == quoted["text"]
        assert COPIED.removeprefix("the") in quoted["text"]


def test_a_tokenizer_that_is_gone_is_said_to_be(as_rosa: APIClient) -> None:
    made = match(COPIED, COPIED, overlap=1, tokenizer="/gone/tokenizer.json 0123456789ab (tokenizers 1)")
    found = send(as_rosa, "get", f"screening-matches/{made.pk}/").json()
    assert "/gone/tokenizer.json is not on this machine" in found["problem"]
    assert found["passages"]


def test_near_duplicates_stand_beside_the_earlier_prompt(as_rosa: APIClient) -> None:
    text = "Write a letter to the council about the old ferry and why it has to stay in service for us all."
    first, _ = source_prompt(text, source=source("one")), source_prompt("Something else altogether.")
    second = source_prompt(f"{text} Please.", source=source("two"))
    assert send(as_rosa, "get", "near-duplicates/").json()["results"] == []
    mark_near_duplicates(threshold=0.8, exclude=True)
    (row,) = send(as_rosa, "get", "near-duplicates/").json()["results"]
    assert (row["id"], row["source_name"], row["text"]) == (second.pk, "two", second.text)
    assert (row["duplicate_of"]["id"], row["duplicate_of"]["text"]) == (first.pk, text)
    assert 0.8 <= row["similarity"] < 1
    assert row["excluded_because"].startswith("near duplicate of")
    for query, count in (
        ("state=excluded", 1),
        ("state=kept", 0),
        (f"source={second.source_id}", 1),
        (f"source={first.source_id}", 0),
    ):
        assert len(send(as_rosa, "get", f"near-duplicates/?{query}").json()["results"]) == count, query
    assert send(as_rosa, "get", "near-duplicates/?stat=kept").status_code == 400


def test_an_excluded_prompt_is_included_again(as_rosa: APIClient) -> None:
    prompts = [source_prompt(excluded_because="spam") for _ in range(3)]
    body = {"action": "include", "filters": {"state": "excluded"}, "items": [prompts[0].pk, prompts[1].pk]}
    preview = send(as_rosa, "post", "bulk/", body).json()
    assert (preview["count"], preview["done"]) == (2, False)
    done = send(as_rosa, "post", "bulk/", body | {"token": preview["token"], "reason": "it is not"}).json()
    assert (done["count"], done["done"]) == (2, True)
    assert list(SourcePrompt.objects.order_by("pk").values_list("excluded_because", flat=True)) == [
        "",
        "",
        "spam",
    ]


# Withdrawing


def test_what_a_withdrawal_touches_is_told_before_and_after(as_rosa: APIClient) -> None:
    made = judged(waiting_item(), "ann")
    prompt = CorpusPrompt.objects.get()
    of = rubric(prompt)
    address = f"reviews/{made.pk}/withdraw/"
    before = send(as_rosa, "get", address).json()
    assert (before["state"], before["corpus_prompt"], before["others"]) == ("accepted", prompt.pk, 0)
    made.refresh_from_db()
    assert made.withdrawn_at is None
    after = send(as_rosa, "post", address, {"reason": "too fast"}).json()
    assert (after["review"], after["state"]) == (made.pk, "in_review")
    for told in (before, after):
        rubrics = next(group for group in told["touched"] if group["label"] == "Rubrics")
        assert [(each["id"], each["page"]) for each in rubrics["found"]] == [(of.pk, f"/rubrics/{of.pk}/")]
        exports = next(group for group in told["touched"] if group["label"] == "Exports")
        assert exports["found"] == []
    assert send(as_rosa, "get", address).status_code == 404


def test_a_preview_tells_nothing_of_an_item_that_is_judged_anew(as_rosa: APIClient, rosa: User) -> None:
    """That there is a corpus prompt would tell a reader that the item was accepted before."""
    withdrawn = judged(waiting_item(reviews=1), "ann")
    item = withdrawn.reconstruction
    rubric(CorpusPrompt.objects.get())
    send(as_rosa, "post", f"reviews/{withdrawn.pk}/withdraw/", {"reason": "again"})
    Reconstruction.objects.filter(pk=item.pk).update(wanted_reviews=2)
    own = review(item, rosa)
    preview = send(as_rosa, "get", f"reviews/{own.pk}/withdraw/").json()
    assert (preview["corpus_prompt"], preview["touched"]) == (None, None)
    assert send(as_rosa, "get", f"reconstructions/{item.pk}/").json()["corpus_prompt"] is None


def test_withdrawing_many_lists_what_is_touched_first(as_rosa: APIClient) -> None:
    judged(waiting_item(), "ann")
    of = rubric(CorpusPrompt.objects.get())
    preview = send(as_rosa, "post", "bulk/", {"action": "withdraw", "filters": {"state": "accepted"}}).json()
    assert preview["count"] == 1
    found = [
        each["id"] for group in preview["touched"] if group["label"] == "Rubrics" for each in group["found"]
    ]
    assert found == [of.pk]
    other = send(as_rosa, "post", "bulk/", {"action": "second-review", "filters": {}}).json()
    assert "touched" not in other
