"""Finding and reading the JSON objects in a model's reply, with text around them (paper G.3). Pure.

Strict JSON reads as JSON does. Beyond it, only what has one reading is taken: line breaks and tabs inside a
text, commas too many or too few, full-width colons and commas between texts, curly quotation marks around a
key or a text, and a quotation mark inside a text that nobody escaped, where neither the next key nor the end
of the object follows it. Everything else raises `UnusableReplyError` with its line.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from dataclasses import dataclass
from typing import NoReturn

from llm.types import UnusableReplyError

Value = str | int | float | bool | None | list["Value"] | list["Pair"]
"""A text, a number, a literal, a list of values, or an object as the list of its pairs."""

MAX_DEPTH = 8

_LIST_OF_OBJECTS = re.compile(r"\[\s*+\{")
_OBJECT = re.compile(r"\{\s*+[\"“”]")
_SPACE = re.compile(r"\s*+")
_COMMA = re.compile(r"\s*+[,，]\s*+")
_COLON = re.compile(r"\s*+[:：]\s*+")
_KEY = re.compile(r"[\"“”]([^\"“”\n]{1,60})[\"“”]")
_SCALAR = re.compile(r"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?|true|false|null")
_CLOSING = {'"': '"', "“": "”"}
_AFTER_TEXT = re.compile(
    r"\s*+(?:[,，]\s*+)?(?:[}\]]|\Z)|(?:\s*+[,，]\s*+|[^\S\n]*+\n\s*+)[\"“”][^\"“”\n]{1,60}[\"“”]\s*+[:：]"
)
"""What may follow the mark that ends a text of an object: the object's or list's end, or the next key."""
_LABEL = r"(?:name|criteria_description|[0-9]+\s*+[-–~～]\s*+[0-9]+)"
_STRUCTURE_INSIDE = re.compile(
    rf"[\"“”]\s*+(?:[:：]|[,，]\s*+[\"“”]|{_LABEL})|{_LABEL}\s*+[\"“”]", re.IGNORECASE
)
"""Where a text with a mark that nobody escaped has most likely run on over its end."""
_ESCAPE = re.compile(r'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})')
_CONTROLS = str.maketrans({"\n": "\\n", "\r": "\\r", "\t": "\\t"})


@dataclass(frozen=True, slots=True)
class Pair:
    """A key of an object, the line where it stands, and its value."""

    key: str
    line: int
    value: Value


@dataclass(frozen=True, slots=True)
class ObjectInReply:
    """An object of the reply and the line where it begins."""

    line: int
    pairs: tuple[Pair, ...]


def find_objects(text: str) -> list[ObjectInReply]:
    """The objects of the one list in the reply, or, where there is no list, those that follow each other.

    >>> [pair.key for pair in find_objects('Here it is: [{"name": "Plot"}] Enjoy!')[0].pairs]
    ['name']
    """
    reader = _Reader(text)
    lists: list[list[ObjectInReply]] = []
    position = 0
    while start := _LIST_OF_OBJECTS.search(text, position):
        found, position = reader.objects(start.start())
        if lists and found != lists[0] and _contents(found) != _contents(lists[0]):
            reader.fail(start.start(), "a second JSON list, which differs from the first")
        lists.append(found)
    if lists:
        return lists[0]
    singles: list[ObjectInReply] = []
    while start := _OBJECT.search(text, position):
        single, position = reader.object(start.start(), 0)
        singles.append(single)
    if not singles:
        raise UnusableReplyError("no JSON list of objects in the reply")
    return singles


def _contents(objects: list[ObjectInReply]) -> list[list[tuple[str, Value]]]:
    return [[(pair.key, pair.value) for pair in each.pairs] for each in objects]


class _Reader:
    """Reads one value after the other; each method takes a position and returns the one after its value."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._line_ends = [match.start() for match in re.finditer("\n", text)]

    def fail(self, position: int, what: str) -> NoReturn:
        raise UnusableReplyError(f"line {self.line(position)}: {what}")

    def line(self, position: int) -> int:
        return bisect_left(self._line_ends, position) + 1

    def objects(self, start: int) -> tuple[list[ObjectInReply], int]:
        """A list of objects that begins at `start`."""
        found: list[ObjectInReply] = []
        position = self._skip(_SPACE, start + 1)
        while not self.text.startswith("]", position):
            if not self.text.startswith("{", position):
                self._fail_in("list", start, position)
            each, position = self.object(position, 1)
            found.append(each)
            position = self._skip(_COMMA, position, otherwise=_SPACE)
        return found, position + 1

    def object(self, start: int, depth: int) -> tuple[ObjectInReply, int]:
        """An object that begins at `start`, inside `depth` others."""
        pairs: list[Pair] = []
        position = self._skip(_SPACE, start + 1)
        while not self.text.startswith("}", position):
            key = _KEY.match(self.text, position)
            colon = key and _COLON.match(self.text, key.end())
            if key is None or colon is None:
                self._fail_in("object", start, position)
            value, end = self._value(colon.end(), depth + 1)
            pairs.append(Pair(key[1], self.line(position), value))
            position = self._skip(_COMMA, end, otherwise=_SPACE)
        return ObjectInReply(self.line(start), tuple(pairs)), position + 1

    def _value(self, start: int, depth: int) -> tuple[Value, int]:
        if depth > MAX_DEPTH:
            self.fail(start, "JSON nested too deeply")
        opening = self.text[start : start + 1]
        if opening in _CLOSING:
            return self._string(start)
        if opening == "{":
            found, end = self.object(start, depth)
            return list(found.pairs), end
        if opening == "[":
            return self._values(start, depth)
        scalar = _SCALAR.match(self.text, start)
        if scalar is None:
            self.fail(start, "a key without a value that JSON knows")
        value: Value = json.loads(scalar[0]) if len(scalar[0]) < 40 else scalar[0]
        return value, scalar.end()

    def _values(self, start: int, depth: int) -> tuple[Value, int]:
        found: list[Value] = []
        position = self._skip(_SPACE, start + 1)
        while not self.text.startswith("]", position):
            if position >= len(self.text):
                self._fail_in("list", start, position)
            value, end = self._value(position, depth + 1)
            found.append(value)
            position = self._skip(_COMMA, end, otherwise=_SPACE)
            if position == end and not self.text.startswith("]", position):
                self._fail_in("list", start, position)
        return found, position + 1

    def _string(self, start: int) -> tuple[str, int]:
        """The text that a quotation mark at `start` opens."""
        closing = _CLOSING[self.text[start]]
        parts: list[str] = []
        position = begin = start + 1
        while True:
            ends = [end for end in (self.text.find(sign, position) for sign in (closing, "\\")) if end >= 0]
            if not ends:
                self.fail(start, "a text that is never closed: the reply ends inside it")
            position = min(ends)
            if self.text[position] == "\\":
                escape = _ESCAPE.match(self.text, position)
                if escape is None:
                    self.fail(position, "a backslash that JSON does not know")
                position = escape.end()
            elif _AFTER_TEXT.match(self.text, position + 1):
                if parts:
                    self._check_inside(start, position)
                parts.append(self.text[begin:position])
                return self._decoded("".join(parts), start), position + 1
            else:
                parts.append(self.text[begin:position] + ('\\"' if closing == '"' else closing))
                position = begin = position + 1

    def _check_inside(self, start: int, end: int) -> None:
        """Marks that nobody escaped come in pairs and look like nothing of an object."""
        if inside := _STRUCTURE_INSIDE.search(self.text, start + 1, end):
            self.fail(inside.start(), "a key inside a text: where does the text end?")
        text = self.text[start + 1 : end].replace('\\"', "")
        pairs = text.count("“") == text.count("”") if self.text[start] == "“" else text.count('"') % 2 == 0
        if not pairs:
            self.fail(start, "a text with a single quotation mark inside: where does the text end?")

    def _decoded(self, raw: str, start: int) -> str:
        escaped = raw if '"' not in raw else re.sub(r'(\\.)|"', lambda m: m[1] or '\\"', raw, flags=re.DOTALL)
        try:
            decoded: str = json.loads(f'"{escaped.translate(_CONTROLS)}"')
        except ValueError:
            self.fail(start, "a text with a sign that JSON does not take")
        return decoded

    def _skip(self, pattern: re.Pattern[str], position: int, otherwise: re.Pattern[str] | None = None) -> int:
        match = pattern.match(self.text, position) or (otherwise and otherwise.match(self.text, position))
        return match.end() if match else position

    def _fail_in(self, what: str, start: int, position: int) -> NoReturn:
        if position >= len(self.text):
            self.fail(start, f"a JSON {what} that is never closed: the reply ends inside it")
        sign = self.text[position]
        where = f" of the {what} that begins on line {self.line(start)}"
        self.fail(position, f"{sign!r} where the next part or the end{where} was expected")
