"""Every refusal as JSON: `detail` in words, `code` for programs, `errors` by field, and what else helps."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.core.exceptions import ObjectDoesNotExist
from django.http import Http404
from rest_framework import status
from rest_framework.exceptions import APIException, ErrorDetail, NotFound, ValidationError
from rest_framework.response import Response
from rest_framework.views import exception_handler

from curation.export_services import ExportRequestError
from curation.narrowing import NarrowingError
from curation.review import (
    LeaseExpiredError,
    LeaseTakenError,
    NotWaitingError,
    ReviewError,
    UndoError,
)

INVALID = "Something in the request cannot be taken as it is; `errors` says what and where."

CONFLICTS: Mapping[type[Exception], str] = {
    LeaseTakenError: "lease_taken",
    LeaseExpiredError: "lease_expired",
    NotWaitingError: "not_waiting",
    UndoError: "nothing_to_undo",
}
"""What stands in the way of an action now, by the service's error: answered with 409."""


class ConflictError(APIException):
    """`more` goes into the answer beside detail and code."""

    status_code = status.HTTP_409_CONFLICT

    def __init__(self, detail: str, code: str, **more: Any) -> None:
        super().__init__(detail, code)
        self.more = more


class TooLargeError(APIException):
    status_code = status.HTTP_413_REQUEST_ENTITY_TOO_LARGE
    default_code = "too_large"


def answer(error: Exception, context: dict[str, Any]) -> Response | None:
    """DRF's exception handler; None leaves an error that nobody foresaw to Django's logging."""
    raised = _translated(error)
    response = exception_handler(raised, context)
    if response is None:
        return None
    if isinstance(raised, ValidationError):
        response.data = {"detail": INVALID, "code": "invalid", "errors": _by_field(raised.detail)}
    elif isinstance(raised, APIException):
        response.data = {"detail": str(raised.detail), "code": raised.get_codes()}
        response.data |= getattr(raised, "more", {})
    return response


def _translated(error: Exception) -> Exception:
    if type(error) in CONFLICTS:
        until: datetime | None = getattr(error, "until", None)
        more = {"until": until} if until else {}
        return ConflictError(_sentence(error), CONFLICTS[type(error)], **more)
    if isinstance(error, ReviewError | NarrowingError | ExportRequestError):
        return ValidationError({name: [message] for name, message in error.messages.items()})
    if isinstance(error, Http404 | ObjectDoesNotExist):
        return NotFound("There is nothing here that you may know of.")
    return error


def _sentence(error: Exception) -> str:
    text = str(error)
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")


def _by_field(detail: Any, path: str = "") -> dict[str, list[str]]:
    """Nested messages by the dotted path of their field; those on the whole are under 'request'."""
    if isinstance(detail, Mapping):
        found: dict[str, list[str]] = {}
        for name, inner in detail.items():
            at = path if name == "non_field_errors" and path else f"{path}.{name}" if path else str(name)
            found |= _by_field(inner, "request" if at == "non_field_errors" else at)
        return found
    if isinstance(detail, list) and not all(isinstance(each, ErrorDetail) for each in detail):
        found = {}
        for number, inner in enumerate(detail):
            found |= _by_field(inner, f"{path}.{number}" if path else str(number))
        return found
    return {path or "request": [str(each) for each in detail]} if detail else {}
