"""The settings of the curation room: validated, recorded, and each with the time of its effect."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from curation.models import CurationPolicy
from curation.policy_views import EFFECTS
from llm.models import AuditEntry

USUAL = {
    "second_review_share": "0.1",
    "second_review_seed": "0",
    "lease_minutes": "20",
    "fastest_characters_per_second": "60",
    "tokenizer": "qwen3",
    "minimum_shared_trigrams": "0",
    "repetition_limits": "{}",
}


def save(client: Client, **values: str) -> tuple[int, str]:
    answer = client.post(reverse("policy"), {**USUAL, **values}, follow=True)
    return answer.status_code, answer.text


def test_the_page_says_when_each_setting_takes_effect(research_client: Client) -> None:
    page = research_client.get(reverse("policy")).text
    assert page.count("Takes effect:") == len(EFFECTS) == len(USUAL)
    assert not CurationPolicy.objects.exists(), "looking changes nothing"


def test_a_change_is_stored_and_recorded_with_its_reason(research_client: Client, researcher: User) -> None:
    _, page = save(research_client, lease_minutes="30", second_review_share="0.25", reason="More time")
    assert "The settings are saved." in page
    assert CurationPolicy.current().lease_minutes == 30
    entry = AuditEntry.objects.get(subject_kind="curation policy")
    assert entry.before == {"second_review_share": 0.1, "lease_minutes": 20}
    assert entry.after == {"second_review_share": 0.25, "lease_minutes": 30}
    assert (entry.actor, entry.reason) == (researcher, "More time")
    assert "More time" in research_client.get(reverse("policy")).text


def test_saving_what_is_there_records_nothing(research_client: Client) -> None:
    _, page = save(research_client)
    assert "Nothing was different" in page
    assert not AuditEntry.objects.exists()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("second_review_share", "1.5"),
        ("second_review_share", "-0.1"),
        ("second_review_share", "nan"),
        ("lease_minutes", "0"),
        ("lease_minutes", "1441"),
        ("fastest_characters_per_second", "0"),
        ("fastest_characters_per_second", "inf"),
        ("tokenizer", " "),
        ("minimum_shared_trigrams", "-1"),
        ("repetition_limits", "[1]"),
        ("repetition_limits", "{"),
        ("repetition_limits", '{"character_rum": 3}'),
        ("repetition_limits", '{"character_run": 3.5}'),
        ("repetition_limits", '{"character_run": true}'),
        ("repetition_limits", '{"sentence_share": -1}'),
        ("repetition_limits", '{"loop_repeats": [[6]]}'),
    ],
)
def test_what_makes_no_sense_is_refused_and_kept_in_the_form(
    research_client: Client, name: str, value: str
) -> None:
    status, page = save(research_client, **{name: value})
    assert status == 422
    assert 'class="problem"' in page
    assert not CurationPolicy.objects.exists()


def test_limits_of_the_filter_that_differ(research_client: Client) -> None:
    save(research_client, repetition_limits='{"character_run": 80, "loop_repeats": [[6, 30], [500, 5]]}')
    assert CurationPolicy.current().repetition_limits == {
        "character_run": 80,
        "loop_repeats": [[6, 30], [500, 5]],
    }


@pytest.mark.parametrize("method", ["get", "post"])
def test_annotators_are_kept_out(annotator_client: Client, method: str) -> None:
    assert getattr(annotator_client, method)(reverse("policy"), USUAL).status_code == 403
