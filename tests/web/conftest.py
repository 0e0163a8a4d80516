"""Signed-in clients of every role."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client

from llm.access import Role
from tests.samples import person


@pytest.fixture
def researcher(db: None) -> User:
    return person("rosa", Role.RESEARCHER)


@pytest.fixture
def annotator(db: None) -> User:
    return person("ann", Role.ANNOTATOR)


@pytest.fixture
def research_client(researcher: User) -> Client:
    client = Client()
    client.force_login(researcher)
    return client


@pytest.fixture
def annotator_client(annotator: User) -> Client:
    client = Client()
    client.force_login(annotator)
    return client
