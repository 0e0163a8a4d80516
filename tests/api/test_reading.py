"""What helps to judge an item, and to whom and when it is told."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from rest_framework.test import APIClient

from curation.guidelines import GUIDELINES
from curation.models import CheckVerdict, Reconstruction, ReconstructionDraft, Review
from tests.api.conftest import checks, send
from tests.samples import ENGLISH, completion, reconstruction, review, source_prompt

ANSWER = "Sure! Here is the rewritten request: write a letter to the editor about the closing of a village."


def held(client: APIClient, text: str = ANSWER) -> Reconstruction:
    item = reconstruction("in_review", text, of=source_prompt(ENGLISH))
    assert send(client, "post", f"queue/{item.pk}/claim/").status_code == 200
    return item


def test_the_guidelines_have_the_five_checks_in_order(as_ann: APIClient) -> None:
    rows = send(as_ann, "get", "guidelines/").json()
    assert [row["check"] for row in rows] == CheckVerdict.Check.values
    assert rows[0]["definition"] == GUIDELINES["task_clarity"].definition
    assert all(set(row) == set(rows[0]) and all(row.values()) for row in rows)
    assert {"check", "label", "passes", "fails", "passing_example", "failing_example"} < set(rows[0])


def test_an_item_comes_with_lengths_their_ratio_and_its_trail(as_ann: APIClient) -> None:
    item = held(as_ann)
    for number, (kind, text) in enumerate((("rewrite", "short"), ("enrichment", "somewhat longer"))):
        ReconstructionDraft.objects.create(
            reconstruction=item,
            number=number,
            kind=kind,
            text=text,
            characters=len(text),
            segments=len(text.split()),
            completion=completion(text=text),
        )
    found = send(as_ann, "get", f"queue/{item.pk}/").json()
    assert (found["source_text"], found["text"]) == (ENGLISH, ANSWER)
    assert (found["source_characters"], found["characters"]) == (len(ENGLISH), len(ANSWER))
    assert found["ratio"] == pytest.approx(len(ANSWER) / len(ENGLISH))
    assert found["length_policy"] == "paper"
    trail = [(each["number"], each["kind"], each["characters"], each["segments"]) for each in found["trail"]]
    assert trail == [(0, "rewrite", 5, 1), (1, "enrichment", 15, 2)]
    assert found["trail"][1]["ratio"] == pytest.approx(15 / len(ENGLISH))
    assert "state" not in found


def test_the_difference_joins_to_both_texts(as_ann: APIClient) -> None:
    item = held(as_ann, "Write a long 运河 letter to the editor about the opening of a village library.")
    found = send(as_ann, "get", f"queue/{item.pk}/difference/").json()
    assert "".join(run["text"] for run in found["source"]) == ENGLISH
    assert "".join(run["text"] for run in found["reconstruction"]) == item.text
    assert any("opening" in run["text"] for run in found["reconstruction"] if run["changed"])
    assert any("closing" in run["text"] for run in found["source"] if run["changed"])


def test_a_hint_comes_only_after_ones_own_verdict_on_its_check(as_ann: APIClient, as_ben: APIClient) -> None:
    item = held(as_ann)
    address = f"queue/{item.pk}/hints/"
    assert send(as_ann, "get", address).json() == {"hints": {}}
    noted = {"verdicts": {"task_clarity": {"verdict": "", "note": "hm"}}}
    send(as_ann, "put", f"queue/{item.pk}/draft/", noted)
    assert send(as_ann, "get", address).json() == {"hints": {}}, "a note is no verdict"
    judged = {"verdicts": {"task_clarity": {"verdict": "fail"}, "usable_length": {"verdict": "unsure"}}}
    send(as_ann, "put", f"queue/{item.pk}/draft/", judged)
    hints = send(as_ann, "get", address).json()["hints"]
    assert set(hints) == {"task_clarity", "usable_length"}
    passage = hints["task_clarity"][0]["passage"]
    assert passage["side"] == "reconstruction"
    assert item.text[passage["start"] : passage["end"]] == passage["text"]
    assert "Sure!" in hints["task_clarity"][0]["sentence"]
    send(as_ann, "put", f"queue/{item.pk}/draft/", {"verdicts": {"task_clarity": {"verdict": ""}}})
    assert send(as_ann, "get", address).json() == {"hints": {}}
    assert send(as_ben, "get", address).status_code == 404


def test_another_readers_verdict_opens_no_hint(as_ann: APIClient, as_rosa: APIClient) -> None:
    item = held(as_ann)
    send(as_ann, "put", f"queue/{item.pk}/draft/", {"verdicts": checks()})
    assert send(as_rosa, "get", f"queue/{item.pk}/hints/").json() == {"hints": {}}


def test_hints_are_not_stored_and_change_no_verdict(as_ann: APIClient) -> None:
    item = held(as_ann)
    send(as_ann, "put", f"queue/{item.pk}/draft/", {"verdicts": {"task_clarity": {"verdict": "pass"}}})
    before = send(as_ann, "get", f"queue/{item.pk}/draft/").json()
    send(as_ann, "get", f"queue/{item.pk}/hints/")
    assert send(as_ann, "get", f"queue/{item.pk}/draft/").json() == before


def test_an_annotator_reads_only_what_they_hold_or_have_judged(
    as_ann: APIClient, as_ben: APIClient, ann: User
) -> None:
    item = held(as_ann)
    places = ("", "difference/", "hints/")
    for place in places:
        assert send(as_ann, "get", f"queue/{item.pk}/{place}").status_code == 200
        assert send(as_ben, "get", f"queue/{item.pk}/{place}").status_code == 404
    given = reconstruction("accepted")
    review(given, ann)
    for place in places:
        assert send(as_ann, "get", f"queue/{given.pk}/{place}").status_code == 404, "it was never opened"
    send(as_ann, "post", f"queue/{item.pk}/decide/", {"decision": "accept", "verdicts": checks()})
    assert send(as_ann, "get", f"queue/{item.pk}/").status_code == 200
    assert send(as_ann, "get", f"queue/{10**9}/").status_code == 404


def test_what_others_gave_stands_nowhere_in_it(
    as_ann: APIClient, as_ben: APIClient, as_rosa: APIClient
) -> None:
    item = reconstruction("in_review", ANSWER, wanted_reviews=2)
    send(as_ann, "post", f"queue/{item.pk}/claim/")
    secret = checks(task_clarity={"verdict": "fail", "note": "secret words"})
    send(as_ann, "post", f"queue/{item.pk}/decide/", {"decision": "reject", "verdicts": secret})
    send(as_ben, "post", f"queue/{item.pk}/claim/")
    for client in (as_ben, as_rosa):
        for place in ("", "difference/", "hints/"):
            answer = send(client, "get", f"queue/{item.pk}/{place}")
            assert answer.status_code == 200
            for word in ("secret words", "reject", "ann"):
                assert f'"{word}"' not in answer.text


def test_ones_own_progress(as_ann: APIClient, ann: User, ben: User) -> None:
    empty = {"today": 0, "in_all": 0, "seconds_per_item": None}
    assert send(as_ann, "get", "queue/progress/").json() == empty
    review(reconstruction("accepted"), ben, seconds=1)
    for seconds in (30, 60, 600):
        review(reconstruction("accepted"), ann, seconds=seconds)
    old = review(reconstruction("accepted"), ann)
    Review.objects.filter(pk=old.pk).update(created_at=timezone.now() - timedelta(days=3))
    found = send(as_ann, "get", "queue/progress/?timezone=Asia/Shanghai").json()
    assert found == {"today": 3, "in_all": 4, "seconds_per_item": 60.0}
    wrong = send(as_ann, "get", "queue/progress/?timezone=Moon/Base")
    assert (wrong.status_code, set(wrong.json()["errors"])) == (400, {"timezone"})


def test_taking_and_deciding_cost_as_many_queries_as_ever(as_ann: APIClient) -> None:
    for _ in range(3):
        reconstruction("in_review")
    number = send(as_ann, "post", "queue/next/").json()["item"]["reconstruction"]
    body = {"decision": "accept", "verdicts": checks(), "seconds": 20}
    send(as_ann, "post", f"queue/{number}/decide/", body)  # the first one notes that the token is used
    with CaptureQueriesContext(connection) as taking:
        number = send(as_ann, "post", "queue/next/").json()["item"]["reconstruction"]
    with CaptureQueriesContext(connection) as deciding:
        send(as_ann, "post", f"queue/{number}/decide/", body)
    assert (len(taking), len(deciding)) == (2, 2), "one for the token, one for the work"
