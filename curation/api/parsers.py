"""Reading request bodies, within bounds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import IO, Any

from rest_framework.parsers import JSONParser

from curation.api.problems import TooLargeError

LARGEST_BODY = 2 * 1024 * 1024
"""Bytes of a JSON body (ours): a decision with five notes and five passages of the longest kind fits."""


class BoundedJSONParser(JSONParser):
    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        request = (parser_context or {})["request"]
        if int(request.META.get("CONTENT_LENGTH") or 0) > LARGEST_BODY:
            raise TooLargeError(f"A request has at most {LARGEST_BODY:,} bytes.")
        return super().parse(stream, media_type, parser_context)
