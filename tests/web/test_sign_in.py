"""Signed out in the middle of the work: a script is told, a person comes back to a page."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import pytest
from django.test import Client
from django.urls import reverse

from tests.samples import reconstruction

pytestmark = pytest.mark.django_db


def way_back(answer: object) -> str:
    address = urlsplit(answer["Location"])  # type: ignore[index]
    assert address.path == reverse("sign-in")
    return parse_qs(address.query)["next"][0]


@pytest.mark.parametrize("headers", [{"HX-Request": "true"}, {"Accept": "application/json"}])
def test_the_script_of_a_page_gets_401_and_no_page(client: Client, headers: dict[str, str]) -> None:
    for method in ("get", "post"):
        answer = getattr(client, method)(reverse("review-draft", args=[1]), headers=headers)
        assert answer.status_code == 401
        assert answer.json()["sign_in"] == reverse("sign-in")
        assert "<form" not in answer.text


@pytest.mark.parametrize("name", ["skip", "flag", "undo", "lease", "draft"])
def test_after_signing_in_one_is_on_the_page_of_the_item(annotator_client: Client, name: str) -> None:
    item = reconstruction()
    page = reverse("review-item", args=[item.pk])
    address = reverse(f"review-{name}", args=[item.pk])
    assert way_back(Client().post(address, headers={"Referer": f"http://testserver{address}"})) == page
    assert annotator_client.get(page).status_code == 200


def test_any_other_form_leads_back_to_the_page_that_it_stands_on() -> None:
    client, revoke = Client(), reverse("token-revoke", args=[1])
    for came_from, back in (
        ("http://testserver/my-tokens/?page=2", "/my-tokens/"),
        ("http://elsewhere.example/trap/", "/"),
        ("", "/"),
    ):
        assert way_back(client.post(revoke, headers={"Referer": came_from})) == back
    assert way_back(client.get("/my-work/?decision=accept")) == "/my-work/?decision=accept"
