"""Making, finding and revoking tokens.

A token has 256 random bits, so that a plain digest is as safe as a slow one, and a look-up by it tells
nothing about the others.
"""

from __future__ import annotations

import hashlib
import secrets
from datetime import timedelta

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from curation.api.models import ApiToken
from llm import sql
from llm.access import remember_groups
from llm.audit import record

PREFIX = "wr1_"
"""Begins every token, so that one that was left in a file is recognised."""

SHOWN_CHARACTERS = 8

USE_NOTED_EVERY = timedelta(minutes=1)
"""`last_used_at` is written no more often than this."""

_TOKEN = sql.Columns(ApiToken, "token")
_USER = sql.Columns(User, "person")
_BY_DIGEST = f"""
    SELECT {_TOKEN.listed}, {_USER.listed}, ARRAY(
        SELECT name FROM auth_group JOIN auth_user_groups ON auth_user_groups.group_id = auth_group.id
        WHERE auth_user_groups.user_id = person.id)
    FROM api_apitoken AS token JOIN auth_user AS person ON person.id = token.user_id
    WHERE token.digest = %(digest)s AND token.expires_at > %(now)s AND person.is_active
"""  # noqa: S608 - of the models' columns


@transaction.atomic
def make_token(*, user: User, name: str, days: int) -> tuple[ApiToken, str]:
    """A new token and its text, which is told this once. It ends after `days`."""
    text = PREFIX + secrets.token_urlsafe(32)
    token = ApiToken.objects.create(
        user=user,
        name=name,
        digest=_digest(text),
        beginning=text[:SHOWN_CHARACTERS],
        expires_at=timezone.now() + timedelta(days=days),
    )
    record(token, "made", after={"name": name, "expires_at": token.expires_at.isoformat()}, actor=user)
    return token, text


@transaction.atomic
def revoke_token(*, token_id: int, user: User) -> None:
    """Ends a token of this person at once. Raises ApiToken.DoesNotExist for any other."""
    token = ApiToken.objects.select_for_update().get(pk=token_id, user=user)
    record(token, "revoked", before={"name": token.name}, actor=user)
    token.delete()


def use_token(text: str) -> ApiToken | None:
    """The token with its person, None when it is unknown, revoked or expired or the person is not active."""
    now = timezone.now()
    for row in sql.fetch(_BY_DIGEST, {"digest": _digest(text), "now": now}):
        values = iter(row)
        token = _TOKEN.take(values)
        token.user = _USER.take(values)
        remember_groups(token.user, next(values))
        if token.last_used_at is None or token.last_used_at < now - USE_NOTED_EVERY:
            ApiToken.objects.filter(pk=token.pk).update(last_used_at=now)
        return token
    return None


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
