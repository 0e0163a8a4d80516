"""Lists: filters that are strict, pages by cursor, and every noun whole."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from curation.models import Reconstruction
from tests.api.conftest import ROOT, send
from tests.samples import (
    CHINESE,
    HOSTILE,
    corpus,
    corpus_prompt,
    reconstruction,
    review,
    run_with_items,
    source,
    source_prompt,
)

LISTS = (
    *("sources/", "source-prompts/", "reconstructions/", "corpus-prompts/", "screening-samples/"),
    *("screening-matches/", "reviews/", "adjudications/", "flags/", "exports/", "imports/", "runs/"),
    "history/",
)


def ids(client: APIClient, address: str) -> list[int]:
    answer = send(client, "get", address)
    assert answer.status_code == 200, answer.json()
    return [row["id"] for row in answer.json()["results"]]


def test_every_list_answers_and_refuses_what_it_does_not_know(as_rosa: APIClient) -> None:
    corpus(HOSTILE)
    for address in LISTS:
        assert set(send(as_rosa, "get", address).json()) == {"next", "previous", "results"}
        answer = send(as_rosa, "get", f"{address}?stat=accepted")
        assert (answer.status_code, set(answer.json()["errors"])) == (400, {"stat"}), address
        assert send(as_rosa, "get", f"{address}?stat=").status_code == 400


def test_every_row_of_a_list_opens(as_rosa: APIClient) -> None:
    corpus(HOSTILE)
    nouns = (
        "sources",
        "source-prompts",
        "reconstructions",
        "corpus-prompts",
        "screening-samples",
        "reviews",
        "runs",
    )
    for noun in nouns:
        found = ids(as_rosa, f"{noun}/?page_size=200")
        assert found
        for pk in found:
            answer = send(as_rosa, "get", f"{noun}/{pk}/")
            assert (answer.status_code, answer.json()["id"]) == (200, pk)


def test_a_reconstruction_has_its_drafts_match_reviews_and_texts(as_rosa: APIClient) -> None:
    item = corpus(HOSTILE)["reconstruction"]
    detail = send(as_rosa, "get", f"reconstructions/{item.pk}/").json()
    assert detail["text"] == HOSTILE
    assert detail["source_text"] == item.source_prompt.text
    assert [(draft["number"], draft["kind"]) for draft in detail["drafts"]] == [
        (0, "rewrite"),
        (1, "enrichment"),
    ]
    assert (detail["match"]["benchmark"], detail["match"]["shared"], detail["match"]["overlap"]) == (
        "Bench",
        3,
        0.05,
    )
    assert detail["corpus_prompt"] == item.corpus_prompt.pk
    (made,) = detail["reviews"]
    assert made["checks"]["task_clarity"]["note"] == HOSTILE


def test_filters_narrow_as_on_the_page(as_rosa: APIClient, ann: User) -> None:
    english = reconstruction("accepted", "Write about a ferry.", strategy="length_aware")
    Reconstruction.objects.filter(pk=english.pk).update(characters=700)
    chinese = reconstruction("rejected", CHINESE, "zh")
    made = review(chinese, ann, "reject")
    made.verdicts.filter(check_name="task_clarity").update(verdict="fail")
    review(english, ann)
    expected = {
        "": [english.pk, chinese.pk],
        "state=accepted": [english.pk],
        "strategy=length_aware": [english.pk],
        "language=zh": [chinese.pk],
        f"source={source().pk}": [english.pk, chinese.pk],
        "characters_from=700&characters_to=700": [english.pk],
        "failed=task_clarity": [chinese.pk],
        "failed=usable_length": [],
        f"reviewer={ann.pk}": [english.pk, chinese.pk],
        "q=a+FERRY": [english.pk],
        "q=运河手工": [chinese.pk],
        "state=&language=": [english.pk, chinese.pk],
    }
    for query, found in expected.items():
        assert ids(as_rosa, f"reconstructions/?{query}") == found, query
    assert ids(as_rosa, "reviews/?decision=reject&failed=any") == [made.pk]
    assert ids(as_rosa, "source-prompts/?language=zh") == [chinese.source_prompt_id]


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("state=done", "state"),
        ("reviewer=1;drop", "reviewer"),
        ("characters_from=-1", "characters_from"),
        ("characters_to=1e3", "characters_to"),
        (f"characters_to={10**30}", "characters_to"),
        ("cursor=x", "cursor"),
        ("cursor=%00", "cursor"),
    ],
)
def test_a_wrong_value_is_named(as_rosa: APIClient, query: str, field: str) -> None:
    reconstruction()
    answer = send(as_rosa, "get", f"reconstructions/?{query}")
    assert (answer.status_code, set(answer.json()["errors"])) == (400, {field})


def test_pages_follow_each_other_while_rows_come_in(as_rosa: APIClient) -> None:
    keys = [source_prompt(f"number {number}").pk for number in range(25)]
    address: str | None = f"{ROOT}source-prompts/?page_size=10&language=en"
    seen: list[int] = []
    while address:
        page = as_rosa.get(address).json()
        seen += [row["id"] for row in page["results"]]
        address = page["next"]
        if len(seen) == 10:
            keys.append(source_prompt("came in meanwhile").pk)
    assert seen == keys
    back = as_rosa.get(page["previous"]).json()
    assert [row["id"] for row in back["results"]] == keys[10:20]
    assert len(as_rosa.get(f"{ROOT}source-prompts/?page_size=1000").json()["results"]) == 26


def test_a_made_up_cursor_is_refused_and_not_believed(as_rosa: APIClient) -> None:
    source_prompt()
    for content in (b"p=abc", b"p=1%20OR%201", f"p={10**30}".encode(), b"p=-1", b"o=x", b"p=\xff"):
        cursor = base64.b64encode(content).decode()
        answer = as_rosa.get(f"{ROOT}source-prompts/", {"cursor": cursor})
        assert answer.status_code == 400, content
        assert set(answer.json()["errors"]) == {"cursor"}


def test_a_page_costs_the_same_number_of_queries_however_many_rows(as_rosa: APIClient, ann: User) -> None:
    def cost(address: str) -> int:
        with CaptureQueriesContext(
            connection,
        ) as queries:
            send(as_rosa, "get", address)
        return len(queries)

    def fill() -> None:
        for _ in range(3):
            review(corpus_prompt().reconstruction, ann)

    fill()
    addresses = (
        "reconstructions/",
        "reviews/",
        "source-prompts/",
        "corpus-prompts/",
        "adjudications/",
        "history/",
    )
    send(as_rosa, "get", "history/")  # the first request notes that the token is used
    before = {address: cost(address) for address in addresses}
    fill()
    assert {address: cost(address) for address in addresses} == before


def test_runs_say_how_far_they_are(as_rosa: APIClient) -> None:
    run = run_with_items(done=3, failed=2, pending=5)
    detail: dict[str, Any] = send(as_rosa, "get", f"runs/{run.pk}/").json()
    assert (detail["progress"]["done"], detail["progress"]["failed"], detail["progress"]["total"]) == (
        3,
        2,
        10,
    )
    assert detail["failures"] == [{"kind": "timeout", "count": 2, "example": "no answer within 600 s"}]
    assert detail["endpoint"] == "writer"
    assert "SAMPLE_KEY" not in str(detail)
    assert "127.0.0.1" not in str(detail)
    assert send(as_rosa, "patch", f"runs/{run.pk}/", {"state": "done"}).status_code == 405
