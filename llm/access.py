"""Who may see what: three roles, which are Django groups, and the gate that every page has."""

from __future__ import annotations

from collections.abc import Callable, Collection
from enum import StrEnum
from functools import wraps
from typing import Any

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, User
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponseBase

from llm import sql

GROUPS = """
    SELECT name FROM auth_group JOIN auth_user_groups ON auth_user_groups.group_id = auth_group.id
    WHERE auth_user_groups.user_id = %(user)s
"""
View = Callable[..., HttpResponseBase]


class Role(StrEnum):
    """The names of the groups."""

    ANNOTATOR = "annotator"
    EXPERT = "expert"
    RESEARCHER = "researcher"


def roles_of(user: AbstractBaseUser | AnonymousUser) -> frozenset[Role]:
    """A superuser has every role. One query for each request: the answer is kept on the user object."""
    if not isinstance(user, User):
        return frozenset()
    if not hasattr(user, "_roles"):
        remember_groups(user, [name for (name,) in sql.fetch(GROUPS, {"user": user.pk})])
    roles: frozenset[Role] = user._roles  # type: ignore[attr-defined]
    return roles


def remember_groups(user: User, names: Collection[str]) -> None:
    """For who has read the names of a person's groups already."""
    roles = frozenset(role for role in Role if user.is_superuser or role in names)
    user._roles = roles  # type: ignore[attr-defined]


def role_required(*allowed: Role) -> Callable[[View], View]:
    """Answers 403 outside the roles named. Signing in is demanded before, by middleware, of every page."""

    def decorate(view: View) -> View:
        @wraps(view)
        def gate(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            if not roles_of(request.user) & set(allowed):
                raise PermissionDenied(f"This page is for: {', '.join(allowed)}.")
            return view(request, *args, **kwargs)

        gate.allowed_roles = frozenset(allowed)  # type: ignore[attr-defined]
        return gate

    return decorate
