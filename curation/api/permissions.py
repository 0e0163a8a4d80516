"""Who may ask for what: the roles that the pages have."""

from __future__ import annotations

from typing import Any

from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from llm.access import Role, roles_of

RESEARCH = frozenset({Role.RESEARCHER})
ANNOTATING = frozenset({Role.ANNOTATOR, Role.RESEARCHER})
EVERYONE = frozenset(Role)


class HasRole(BasePermission):
    """401 without a sign-in, 403 without one of the view's `allowed_roles`."""

    message = "This is not for your account's roles."

    def has_permission(self, request: Request, view: Any) -> bool:
        return bool(roles_of(request.user) & view.allowed_roles)


def is_researcher(request: Request) -> bool:
    return Role.RESEARCHER in roles_of(request.user)
