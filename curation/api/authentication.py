"""Who asks: a token in the header, else the session of a signed-in browser."""

from __future__ import annotations

from django.contrib.auth.models import User
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from curation.api.models import ApiToken
from curation.api.tokens import use_token

SCHEME = "Bearer"


class TokenAuthentication(BaseAuthentication):
    """`Authorization: Bearer wr1_…`"""

    def authenticate(self, request: Request) -> tuple[User, ApiToken] | None:
        parts = get_authorization_header(request).split()
        if not parts or parts[0].lower() != SCHEME.lower().encode():
            return None
        if len(parts) != 2:
            raise AuthenticationFailed(f"The header is 'Authorization: {SCHEME} <token>', with one token.")
        token = use_token(parts[1].decode("latin-1"))
        if token is None:
            raise AuthenticationFailed(
                "The token is unknown, revoked or expired. Make one under 'My tokens'."
            )
        return token.user, token

    def authenticate_header(self, request: Request) -> str:
        return SCHEME
