"""Programs of every role: clients whose requests carry a real token."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from rest_framework.test import APIClient

from curation.api.tokens import make_token
from llm.access import Role
from tests.samples import person

ROOT = "/api/v1/"

ClientFor = Callable[[User], APIClient]


@pytest.fixture
def media(settings: Any, tmp_path: Path) -> Path:
    settings.MEDIA_ROOT = tmp_path
    return tmp_path


def client_for(user: User) -> APIClient:
    """A client that sends and expects JSON, with a token of this person's."""
    _, text = make_token(user=user, name="a test", days=1)
    return APIClient(headers={"Authorization": f"Bearer {text}"})


@pytest.fixture
def rosa(db: None) -> User:
    return person("rosa", Role.RESEARCHER)


@pytest.fixture
def ann(db: None) -> User:
    return person("ann", Role.ANNOTATOR)


@pytest.fixture
def ben(db: None) -> User:
    return person("ben", Role.ANNOTATOR)


@pytest.fixture
def as_rosa(rosa: User) -> APIClient:
    return client_for(rosa)


@pytest.fixture
def as_ann(ann: User) -> APIClient:
    return client_for(ann)


@pytest.fixture
def as_ben(ben: User) -> APIClient:
    return client_for(ben)


def checks(**given: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Five checks passed, but for those given."""
    from curation.models import CheckVerdict

    return {check: given.get(check, {"verdict": "pass"}) for check in CheckVerdict.Check.values}


def send(client: APIClient, method: str, address: str, body: Any = None) -> Any:
    return getattr(client, method)(f"{ROOT}{address}", body, format="json")
