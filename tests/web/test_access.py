"""Every address asks for a sign-in and for a role; none is forgotten, because all are walked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.template.loader import render_to_string
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from llm.access import Role
from tests.samples import PASSWORD, corpus, person

OPEN = {"healthz", "sign-in"}
"""What anyone may see; signing out is for everyone who is signed in."""

ANNOTATING = {
    *("review", "review-item", "review-lease", "review-skip", "review-flag", "review-undo", "review-draft"),
    *("review-hints", "my-work", "my-review", "my-keys"),
}
EXPERT = {"my-study"}
EVERYBODY = {"home", "my-tokens", "token-revoke", "api-docs"}


def patterns(of: Any = None) -> Iterator[URLPattern]:
    for each in (of or get_resolver()).url_patterns:
        if isinstance(each, URLResolver):
            yield from patterns(each)
        else:
            yield each


ROUTES = sorted({str(each.name) for each in patterns()})
PAGES = [name for name in ROUTES if name == "api-docs" or not name.startswith("api-")]
"""The rest is for programs: tests/api walks it."""


def address(name: str) -> str:
    pattern = next(each for each in patterns() if each.name == name)
    named = "tiny-sft" if name == "recipe" else "sft.jsonl"
    samples: dict[str, Any] = {"pk": 1, "key": "0" * 32, "name": named, "action": "exclude"}
    return reverse(name, kwargs={key: samples[key] for key in pattern.pattern.converters})


def test_every_route_has_a_name() -> None:
    assert all(each.name for each in patterns())
    assert len(ROUTES) > 30


@pytest.mark.django_db
@pytest.mark.parametrize("name", [name for name in PAGES if name not in OPEN])
def test_without_a_sign_in_every_page_leads_to_it(client: Client, name: str) -> None:
    for method in ("get", "post"):
        answer = getattr(client, method)(address(name))
        assert answer.status_code == 302
        assert answer["Location"].startswith(reverse("sign-in"))


@pytest.mark.parametrize("name", [name for name in PAGES if name not in OPEN | {"sign-out"}])
def test_every_view_names_its_roles(name: str) -> None:
    view = next(each.callback for each in patterns() if each.name == name)
    expected = {Role.RESEARCHER}
    if name in ANNOTATING:
        expected |= {Role.ANNOTATOR}
    elif name in EXPERT:
        expected |= {Role.EXPERT}
    elif name in EVERYBODY:
        expected = set(Role)
    assert view.allowed_roles == expected  # type: ignore[attr-defined]


@pytest.mark.django_db
@pytest.mark.parametrize("role", [*Role, None])
def test_a_wrong_role_gets_a_page_that_says_so(role: Role | None) -> None:
    corpus()
    user = person("someone", *([role] if role else []))
    client = Client()
    client.force_login(user)
    for name in PAGES:
        if name in OPEN | {"sign-out"}:
            continue
        view = next(each.callback for each in patterns() if each.name == name)
        allowed = role in view.allowed_roles  # type: ignore[attr-defined]
        for method in ("get", "post"):
            answer = getattr(client, method)(address(name))
            assert (answer.status_code == 403) is not allowed, f"{method} {name} as {role}"
            if not allowed:
                assert "not for your account" in answer.text
                assert "someone" in answer.text


@pytest.mark.django_db
def test_health_needs_no_sign_in(client: Client) -> None:
    answer = client.get("/healthz")
    assert (answer.status_code, answer.text) == (200, "ok")


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("role", "place"), [(Role.ANNOTATOR, "review"), (Role.EXPERT, "my-study"), (Role.RESEARCHER, None)]
)
def test_home_leads_to_the_place_of_work(role: Role, place: str | None) -> None:
    client = Client()
    client.force_login(person("someone", role))
    answer = client.get("/")
    if place:
        assert (answer.status_code, answer["Location"]) == (302, reverse(place))
    else:
        assert answer.status_code == 200
        assert "Overview" in answer.text


@pytest.mark.django_db
def test_the_rail_shows_only_what_the_role_may_open(annotator_client: Client) -> None:
    page = annotator_client.get(reverse("my-work")).text
    assert reverse("review") in page
    assert reverse("runs") not in page
    assert reverse("endpoints") not in page


@pytest.mark.django_db
def test_signing_in_and_out() -> None:
    person("ann", Role.ANNOTATOR, password=PASSWORD)
    client = Client(enforce_csrf_checks=True)
    page = client.get(reverse("sign-in"))
    token = page.context["csrf_token"]
    wrong = client.post(
        reverse("sign-in"), {"username": "ann", "password": "no", "csrfmiddlewaretoken": str(token)}
    )
    assert "do not match" in wrong.text
    assert 'value="ann"' in wrong.text
    right = client.post(
        reverse("sign-in"),
        {"username": "ann", "password": PASSWORD, "next": "/my-work/", "csrfmiddlewaretoken": str(token)},
    )
    assert right["Location"] == "/my-work/"
    page = client.get("/my-work/")
    out = client.post(reverse("sign-out"), {"csrfmiddlewaretoken": str(page.context["csrf_token"])})
    assert out["Location"] == reverse("sign-in")
    assert client.get("/my-work/").status_code == 302


@pytest.mark.django_db
def test_a_form_without_its_token_is_refused_with_a_page() -> None:
    client = Client(enforce_csrf_checks=True)
    answer = client.post(reverse("sign-in"), {"username": "ann", "password": "x"})
    assert answer.status_code == 403
    assert "The form has expired" in answer.text


@pytest.mark.django_db
def test_an_address_that_is_not_there_gets_a_page(research_client: Client) -> None:
    answer = research_client.get("/nothing/here/")
    assert answer.status_code == 404
    assert "There is nothing at this address" in answer.text


@pytest.mark.django_db
def test_tampered_numbers_are_not_found(research_client: Client) -> None:
    huge = 10**30
    for name in ("run", "reconstruction", "review-item", "corpus-prompt", "my-review", "snapshot"):
        assert research_client.get(f"{reverse(name, args=[1])[:-2]}{huge}/").status_code == 404, name
    for name in ("review-lease", "review-skip", "run-pause", "run-retry"):
        address = reverse(name, args=[1]).replace("/1/", f"/{huge}/")
        assert research_client.post(address).status_code in (302, 404), name


def test_the_page_for_a_broken_server_needs_nothing(client: Client) -> None:
    page = render_to_string("500.html")
    assert "Something broke on the server" in page
