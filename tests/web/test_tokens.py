"""The page of one's own tokens: made, shown once, revoked; never somebody else's."""

from __future__ import annotations

import re

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from curation.api.models import ApiToken
from curation.api.tokens import make_token
from llm.access import Role
from llm.models import AuditEntry
from tests.samples import HOSTILE, person

PAGE = "/my-tokens/"


def made_on(page: str) -> str:
    found = re.search(r"wr1_[\w-]{40,}", page)
    assert found
    return found[0]


@pytest.mark.django_db
@pytest.mark.parametrize("role", list(Role))
def test_everyone_makes_a_token_that_works_and_is_shown_once(role: Role) -> None:
    client = Client()
    client.force_login(person("someone", role))
    assert "No tokens" in client.get(PAGE).text
    answer = client.post(PAGE, {"name": "weekly export", "days": "30"})
    assert answer.status_code == 200
    assert "no-store" in answer["Cache-Control"]
    text = made_on(answer.text)
    me = Client().get(reverse("api-me"), headers={"Authorization": f"Bearer {text}"})
    assert me.json() == {"name": "someone", "roles": [role.value]}
    page = client.get(PAGE).text
    assert text not in page
    assert "weekly export" in page
    assert text[:8] in page


def test_a_revoked_token_opens_nothing(annotator_client: Client, annotator: User) -> None:
    token, text = make_token(user=annotator, name="old", days=7)
    answer = annotator_client.post(reverse("token-revoke", args=[token.pk]), follow=True)
    assert "is revoked" in answer.text
    refused = Client().get(reverse("api-me"), headers={"Authorization": f"Bearer {text}"})
    assert refused.status_code == 401
    actions = AuditEntry.objects.filter(subject_kind="API token", subject_id=token.pk).order_by("pk")
    assert list(actions.values_list("action", "actor_name")) == [("made", "ann"), ("revoked", "ann")]
    assert all(text not in str(entry) for entry in actions.values())


def test_nobody_sees_or_revokes_a_token_of_others(annotator_client: Client, researcher: User) -> None:
    token, _ = make_token(user=researcher, name="of rosa", days=7)
    assert "of rosa" not in annotator_client.get(PAGE).text
    assert annotator_client.post(reverse("token-revoke", args=[token.pk])).status_code == 404
    assert annotator_client.get(reverse("token-revoke", args=[token.pk])).status_code == 405
    assert ApiToken.objects.filter(pk=token.pk).exists()


@pytest.mark.parametrize(
    "wrong", [{"name": "", "days": "30"}, {"name": "x" * 81, "days": "30"}, {"name": "x", "days": "36500"}]
)
def test_a_form_that_cannot_be_taken_comes_back(annotator_client: Client, wrong: dict[str, str]) -> None:
    answer = annotator_client.post(PAGE, wrong)
    assert answer.status_code == 422
    assert 'class="problem"' in answer.text
    assert not ApiToken.objects.exists()


def test_a_name_is_shown_as_text(annotator_client: Client) -> None:
    page = annotator_client.post(PAGE, {"name": HOSTILE[:80], "days": "7"}).text
    assert "<script>document" not in page
    assert "&lt;script&gt;document" in page
