"""Replies that hold the asked-for records as JSON instead of lines: brought into lines. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable

from llm.types import UnusableReplyError
from rubrics.json_reply import ObjectInReply, find_objects

_BEGINS_AS_JSON = re.compile(r"\s*+(?:```(?:json)?\s*+)?(?:\[\s*+\{|\{\s*+[\"“])", re.IGNORECASE)


def as_lines(reply: str, is_key: Callable[[str], bool]) -> str:
    """`key: text` lines of the objects in a reply that is JSON from its first sign; any other reply as it is.

    Whether the lines make records is for their reader to say. Raises UnusableReplyError with its line for
    JSON that cannot be read, for a value that is no text, and for a key that is none of the records'.

    >>> as_lines('[{"name": "Plot"}, {"name": "Tone"}]', "name".__eq__).split(chr(10))
    ['name: Plot', 'name: Tone', '']
    >>> as_lines("name: Plot", "name".__eq__)
    'name: Plot'
    """
    if not _BEGINS_AS_JSON.match(reply):
        return reply
    return "".join(_lines(each, is_key) for each in find_objects(reply))


def _lines(each: ObjectInReply, is_key: Callable[[str], bool]) -> str:
    lines = []
    for pair in each.pairs:
        if not is_key(pair.key):
            raise UnusableReplyError(f'line {pair.line}: "{pair.key}" is no part of what was asked for')
        if not isinstance(pair.value, str):
            raise UnusableReplyError(f'line {pair.line}: the value of "{pair.key}" is no text')
        lines.append(f"{pair.key}: {' '.join(map(str.strip, pair.value.splitlines()))}\n")
    return "".join(lines)
