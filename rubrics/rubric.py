"""The rubric: one frozen value that the writer reads before writing and the judge reads when scoring.

Its canonical form is a JSON list of `{"name", "criteria_description", "1-2": …, "3-4": …}`. Paper 3.1, A.4.
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import count
from typing import Any

MIN_LEVELS = 4
"""Score intervals that a dimension needs (paper A.4)."""

MIN_DIMENSIONS = 3
"""Scored dimensions that a mined rubric needs to be complete (paper A.4). A bound on construction: the
value object itself takes any rubric with at least one dimension, such as one written by a person."""

SCORES_PER_LEVEL = 2
"""Integer scores in one interval (paper 3.2)."""

NAME, SCOPE = "name", "criteria_description"

_LABEL = re.compile(r"[0-9]+-[0-9]+")
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


class InvalidRubricError(ValueError):
    """What is wrong with a rubric, and in which dimension."""


def name_key(name: str) -> str:
    """What makes two dimension names the same: case, width and whitespace do not count."""
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


@dataclass(frozen=True, slots=True)
class ScoreLevel:
    """What a response is like that earns `low` or `high` = `low` + 1 points."""

    low: int
    high: int
    description: str

    @property
    def label(self) -> str:
        return f"{self.low}-{self.high}"


@dataclass(frozen=True, slots=True)
class RubricDimension:
    """One thing that is assessed: its name, its scope, and its levels from weakest to strongest.

    Raises InvalidRubricError unless the levels run 1-2, 3-4, … and there are at least MIN_LEVELS.
    """

    name: str
    criteria_description: str
    levels: tuple[ScoreLevel, ...]

    def __post_init__(self) -> None:
        _check_text(NAME, self.name)
        if self.name.splitlines() != [self.name]:
            raise InvalidRubricError(f"{NAME} goes over more than one line")
        _check_text(SCOPE, self.criteria_description)
        if len(self.levels) < MIN_LEVELS:
            raise InvalidRubricError(f"{len(self.levels)} score intervals, at least {MIN_LEVELS} are needed")
        for level, label in zip(self.levels, level_labels(len(self.levels)), strict=True):
            if level.label != label:
                raise InvalidRubricError(f'interval "{level.label}" stands where "{label}" must stand')
            _check_text(f'interval "{label}"', level.description)

    @property
    def maximum(self) -> int:
        """The highest score that the dimension can give."""
        return self.levels[-1].high


@dataclass(frozen=True, slots=True)
class Rubric:
    """Dimensions in the order in which they are assessed. Raises InvalidRubricError for repeated names."""

    dimensions: tuple[RubricDimension, ...]

    def __post_init__(self) -> None:
        if not self.dimensions:
            raise InvalidRubricError("a rubric needs at least one dimension")
        first_with: dict[str, int] = {}
        for number, dimension in enumerate(self.dimensions, 1):
            earlier = first_with.setdefault(name_key(dimension.name), number)
            if earlier != number:
                raise InvalidRubricError(
                    f'dimension {number}: the name "{dimension.name}" repeats that of dimension {earlier}'
                )

    @classmethod
    def from_json(cls, source: str | list[Any]) -> Rubric:
        """Reads the canonical form, as JSON text or as the decoded list; keys may come in any order.

        Raises InvalidRubricError, which names the dimension by number, for anything else.
        """
        entries = _decode(source) if isinstance(source, str) else source
        if not isinstance(entries, list):
            raise InvalidRubricError("a rubric is a JSON list of dimensions")
        dimensions = []
        for number, entry in enumerate(entries, 1):
            try:
                dimensions.append(_dimension(entry))
            except InvalidRubricError as error:
                raise InvalidRubricError(f"dimension {number}: {error}") from None
        return cls(tuple(dimensions))

    def to_json(self) -> list[dict[str, str]]:
        """The canonical form: name, scope, then the intervals from weakest to strongest."""
        return [
            {
                NAME: dimension.name,
                SCOPE: dimension.criteria_description,
                **{level.label: level.description for level in dimension.levels},
            }
            for dimension in self.dimensions
        ]

    def serialize(self) -> str:
        """The canonical form as the JSON text that writer and judge read."""
        return json.dumps(self.to_json(), ensure_ascii=False, indent=1)

    @property
    def digest(self) -> str:
        """SHA-256 of the canonical form (64 hexadecimal digits); every score is stored with it."""
        canonical = json.dumps(self.to_json(), ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(canonical.encode("utf-8")).hexdigest()

    @property
    def maximum(self) -> int:
        """The sum of the dimensions' maxima."""
        return sum(dimension.maximum for dimension in self.dimensions)


def writer_input(request: str, rubric: Rubric) -> str:
    """What the writer reads: the request, a blank line, the serialized rubric (paper A.1)."""
    return f"{request}\n\n{rubric.serialize()}"


def level_labels(number: int) -> list[str]:
    """The labels of the first `number` intervals: 1-2, 3-4, … (paper A.4)."""
    return [level.label for level in numbered_levels([""] * number)]


def numbered_levels(descriptions: Iterable[str]) -> tuple[ScoreLevel, ...]:
    """Descriptions from weakest to strongest, under consecutive two-score labels (paper A.4)."""
    return tuple(
        ScoreLevel(high - SCORES_PER_LEVEL + 1, high, description)
        for high, description in zip(count(SCORES_PER_LEVEL, SCORES_PER_LEVEL), descriptions, strict=False)
    )


def _decode(text: str) -> object:
    try:
        return json.loads(text, object_pairs_hook=_without_repeats)
    except InvalidRubricError:
        raise
    except ValueError as error:
        raise InvalidRubricError(f"not JSON: {error}") from None
    except RecursionError:
        raise InvalidRubricError("not a rubric: nested too deeply") from None


def _without_repeats(pairs: list[tuple[str, object]]) -> dict[str, object]:
    entry = dict(pairs)
    if len(entry) != len(pairs):
        keys = [key for key, _ in pairs]
        repeated = next(key for key in keys if keys.count(key) > 1)
        raise InvalidRubricError(f'the key "{repeated}" is given twice in one object')
    return entry


def _dimension(entry: object) -> RubricDimension:
    if not isinstance(entry, dict):
        raise InvalidRubricError("not an object with name, criteria_description and intervals")
    for key in entry:
        if key not in (NAME, SCOPE) and not (isinstance(key, str) and _LABEL.fullmatch(key)):
            raise InvalidRubricError(f"unknown key {key!r}")
    for key in (NAME, SCOPE):
        if key not in entry:
            raise InvalidRubricError(f"{key} is missing")
    given = [key for key in entry if key not in (NAME, SCOPE)]
    labels = level_labels(len(given))
    for label in labels:
        if label not in entry:
            raise InvalidRubricError(
                f'interval "{label}" is missing: intervals run 1-2, 3-4, … and these are {", ".join(given)}'
            )
    return RubricDimension(entry[NAME], entry[SCOPE], numbered_levels(entry[label] for label in labels))


def _check_text(what: str, text: object) -> None:
    if not isinstance(text, str):
        raise InvalidRubricError(f"{what} is not a text")
    if not text.strip():
        raise InvalidRubricError(f"{what} is empty")
    if _UNSTORABLE.search(text):
        raise InvalidRubricError(f"{what} holds a character that cannot be stored (NUL or a lone surrogate)")
