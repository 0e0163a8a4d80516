"""Pages by cursor: as quick on the last page as on the first, and steady while rows come in."""

from __future__ import annotations

from typing import Any

from rest_framework.exceptions import NotFound, ValidationError
from rest_framework.pagination import Cursor, CursorPagination
from rest_framework.request import Request

LARGEST_KEY = 2**63 - 1


class KeyPagination(CursorPagination):
    """In the order of the key; `next` and `previous` are whole addresses, null at the ends."""

    page_size = 50
    max_page_size = 200
    page_size_query_param = "page_size"
    page_size_query_description = f"Rows on a page, at most {max_page_size}"
    cursor_query_description = "Where the page begins: taken from `next` or `previous`, not made by hand"
    ordering = "pk"

    def decode_cursor(self, request: Request) -> Cursor | None:
        """Raises ValidationError for a cursor that none of our pages gave."""
        problem = ValidationError({"cursor": ["No page gave this cursor."]})
        try:
            cursor: Cursor | None = super().decode_cursor(request)
        except NotFound:
            raise problem from None
        if cursor is not None and not _may_be_ours(cursor):
            raise problem
        return cursor


def _may_be_ours(cursor: Cursor) -> bool:
    if cursor.position is None:
        return cursor.reverse or cursor.offset > 0
    position: Any = cursor.position
    return position.isascii() and position.isdecimal() and int(position) <= LARGEST_KEY


class NewestFirst(KeyPagination):
    ordering = "-pk"
