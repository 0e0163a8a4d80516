"""Every address of the API asks for a token and a role, and every refusal is JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import URLPattern, reverse
from django.utils import timezone
from rest_framework.test import APIClient

from curation.api.models import ApiToken
from curation.api.permissions import ANNOTATING, EVERYONE, RESEARCH
from curation.api.tokens import make_token
from curation.api.urls import urlpatterns
from llm.access import Role
from tests.api.conftest import ROOT, client_for, send
from tests.samples import corpus, person, reconstruction

METHODS = ("get", "post", "put", "patch", "delete")

OF_ANNOTATORS = {"api-reviews", "api-review", "api-guidelines"}
OF_ALL = {"api-me", "api-schema", "api-nothing"}


def routes() -> Iterator[URLPattern]:
    return (each for each in urlpatterns if each.name != "api-docs")


def address(route: URLPattern) -> str:
    samples: dict[str, Any] = {"pk": 1, "rest": "nothing/"}
    return reverse(str(route.name), kwargs={key: samples[key] for key in route.pattern.converters})


@pytest.mark.django_db
def test_without_a_token_everything_answers_401_in_json() -> None:
    for route in routes():
        for method in METHODS:
            answer = getattr(APIClient(), method)(address(route))
            assert answer.status_code == 401, f"{method} {route.name}"
            assert answer["WWW-Authenticate"] == "Bearer"
            assert b"not_authenticated" in answer.content


@pytest.mark.django_db
def test_every_view_has_the_roles_of_its_page() -> None:
    for route in routes():
        name = str(route.name)
        expected = RESEARCH
        if name.startswith("api-queue") or name in OF_ANNOTATORS:
            expected = ANNOTATING
        elif name in OF_ALL:
            expected = EVERYONE
        assert route.callback.allowed_roles == expected, name  # type: ignore[attr-defined]


@pytest.mark.django_db
@pytest.mark.parametrize("role", [*Role, None])
def test_a_wrong_role_is_refused_everywhere(role: Role | None) -> None:
    corpus()
    client = client_for(person("someone", *([role] if role else [])))
    for route in routes():
        allowed = role in route.callback.allowed_roles  # type: ignore[attr-defined]
        for method in METHODS:
            answer = getattr(client, method)(address(route))
            assert (answer.status_code == 403) is not allowed, f"{method} {route.name} as {role}"
            assert answer.status_code < 500
            if not allowed:
                assert b"permission_denied" in answer.content


@pytest.mark.django_db
def test_a_token_tells_who_one_is() -> None:
    answer = send(client_for(person("rosa", Role.RESEARCHER, Role.EXPERT)), "get", "me/")
    assert answer.json() == {"name": "rosa", "roles": ["expert", "researcher"]}
    assert "no-store" in answer["Cache-Control"]


@pytest.mark.django_db
def test_only_the_digest_of_a_token_is_stored() -> None:
    user = person("ann", Role.ANNOTATOR)
    token, text = make_token(user=user, name="mine", days=1)
    assert all(text not in str(value) for value in ApiToken.objects.values_list()[0])
    assert text.startswith(token.beginning)
    assert len(text) > 40


@pytest.mark.django_db
@pytest.mark.parametrize(
    "header",
    [
        "Bearer",
        "Bearer a b",
        "Bearer wr1_unknown",
        "Bearer \x00",
        "Bearer ÿþ",
        "Basic YTpi",
        "Token x",
        "wr1_x",
    ],
)
def test_a_header_without_a_good_token_is_refused(header: str) -> None:
    answer = APIClient(headers={"Authorization": header}).get(f"{ROOT}me/")
    assert answer.status_code == 401
    assert set(answer.json()) == {"detail", "code"}


@pytest.mark.django_db
def test_a_token_ends_with_its_time_its_owner_and_its_revocation() -> None:
    user = person("ann", Role.ANNOTATOR)
    client = client_for(user)
    assert send(client, "get", "me/").status_code == 200
    token = ApiToken.objects.get()
    assert token.last_used_at is not None
    ApiToken.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert send(client, "get", "me/").status_code == 401
    ApiToken.objects.update(expires_at=timezone.now() + timedelta(days=1))
    user.is_active = False
    user.save()
    assert send(client, "get", "me/").status_code == 401


@pytest.mark.django_db
def test_a_browser_session_needs_its_csrf_token() -> None:
    client = APIClient(enforce_csrf_checks=True)
    client.force_login(person("ann", Role.ANNOTATOR))
    assert client.get(f"{ROOT}queue/").status_code == 200
    refused = client.post(f"{ROOT}queue/next/")
    assert refused.status_code == 403
    assert "CSRF" in refused.json()["detail"]
    token = client.get("/my-tokens/").context["csrf_token"]
    accepted = client.post(f"{ROOT}queue/next/", headers={"X-CSRFToken": str(token)})
    assert accepted.status_code == 200


@pytest.mark.django_db
def test_what_is_not_there_is_json_too(as_rosa: APIClient) -> None:
    for wrong in ("nothing/", "sources", "sources/1/2/", f"sources/{10**30}/", "sources/1/"):
        answer = send(as_rosa, "get", wrong)
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found"), wrong
    answer = send(as_rosa, "delete", "sources/")
    assert (answer.status_code, answer.json()["code"]) == (405, "method_not_allowed")


@pytest.mark.django_db
def test_bodies_that_cannot_be_read_are_refused(as_ann: APIClient) -> None:
    item = reconstruction("in_review")
    where = f"{ROOT}queue/{item.pk}/flag/"
    for body, content_type, status in (
        ("{", "application/json", 400),
        ("[]", "application/json", 400),
        ('{"reason": "\\ud800"}', "application/json", 400),
        ('{"reason": "a\\u0000"}', "application/json", 400),
        ("reason=x", "application/x-www-form-urlencoded", 415),
        (json.dumps({"reason": "x" * 2_100_000}), "application/json", 413),
    ):
        answer = as_ann.generic("POST", where, body, content_type=content_type)
        assert answer.status_code == status, body[:40]
        assert answer.json()["detail"]


# The schema and its page


@pytest.mark.django_db
def test_the_schema_is_complete_and_valid(tmp_path: Any) -> None:
    file = tmp_path / "schema.json"
    call_command(
        "spectacular", "--validate", "--fail-on-warn", "--format", "openapi-json", "--file", str(file)
    )
    schema = json.loads(file.read_text())
    paths = {path.removeprefix("/api/v1") for path in schema["paths"]}
    assert {"/queue/{id}/decide/", "/exports/{id}/file/", "/imports/", "/policy/"} <= paths
    assert {"/queue/{id}/hints/", "/runs/plan/", "/runs/{id}/pause/", "/near-duplicates/"} <= paths
    assert "/endpoints/" not in paths
    assert schema["components"]["securitySchemes"]["token"]["scheme"] == "bearer"
    listed = schema["paths"]["/api/v1/reconstructions/"]["get"]["parameters"]
    assert {"state", "strategy", "failed", "characters_from", "q", "cursor", "page_size"} <= {
        each["name"] for each in listed
    }
    started = schema["paths"]["/api/v1/runs/"]["post"]["requestBody"]["content"]["application/json"]
    assert any(each["value"]["stage"] == "reconstruct" for each in started["examples"].values())
    planned = schema["paths"]["/api/v1/runs/plan/"]["get"]["parameters"]
    assert {each["name"] for each in planned} == {"per_source", "source", "limit"}


@pytest.mark.django_db
def test_the_page_leads_to_the_sign_in_and_loads_nothing_from_elsewhere() -> None:
    client = Client()
    assert client.get(reverse("api-docs"))["Location"].startswith(reverse("sign-in"))
    client.force_login(person("ann", Role.ANNOTATOR))
    page = client.get(reverse("api-docs"))
    assert page.status_code == 200
    assert "unsafe" not in page["Content-Security-Policy"]
    assert "//" not in page.text.replace("</", "").partition("<body>")[2]
    assert "<style" not in page.text
    script = client.get(f"{reverse('api-docs')}?script=")
    assert script["Content-Type"].startswith("application/javascript")
    assert "/api/v1/schema/" in script.text
