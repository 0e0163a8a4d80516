"""A rubric while a person works on it: a draft that may be invalid, and what can be done to it. Pure.

    form ─► draft ─► operation ─► draft ─► … ─► problems? ─► rubric

Levels have places and no labels: what stands first is 1-2, what comes next 3-4, and so on (paper A.4), so
that no draft can hold intervals that are not consecutive.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rubrics.rubric import (
    MIN_LEVELS,
    InvalidRubricError,
    Rubric,
    RubricDimension,
    level_labels,
    name_key,
    numbered_levels,
)

MOST_DIMENSIONS = 40
MOST_LEVELS = 15
"""What the editor's form has room for (ours)."""


class OperationError(ValueError):
    """Not an operation, or one that this draft has no place for."""


@dataclass(frozen=True, slots=True)
class DraftDimension:
    """`levels` are the descriptions from the weakest to the strongest; any text may be empty."""

    name: str = ""
    scope: str = ""
    levels: tuple[str, ...] = ("",) * MIN_LEVELS


@dataclass(frozen=True, slots=True)
class Draft:
    dimensions: tuple[DraftDimension, ...] = ()


@dataclass(frozen=True, slots=True)
class Edited:
    """A draft after an operation, and where the work goes on: `control` of the dimension at `place`."""

    draft: Draft
    place: int
    control: str = "name"


Problems = Mapping[str, str]
"""Control ('2-name', '2-scope', '2-levels', '2-level-0'; '' for the rubric as a whole) -> what is wrong."""


def draft_of(rubric: Rubric) -> Draft:
    return Draft(
        tuple(
            DraftDimension(
                one.name, one.criteria_description, tuple(level.description for level in one.levels)
            )
            for one in rubric.dimensions
        )
    )


def fits(draft: Draft) -> bool:
    """The form has room for all of it."""
    levels = max((len(one.levels) for one in draft.dimensions), default=0)
    return len(draft.dimensions) <= MOST_DIMENSIONS and levels <= MOST_LEVELS


def problems(draft: Draft) -> dict[str, str]:
    """Everything that keeps the draft from being a rubric, each at the control that can mend it."""
    found: dict[str, str] = {}
    if not draft.dimensions:
        found[""] = "A rubric needs at least one dimension."
    first_with: dict[str, int] = {}
    for place, one in enumerate(draft.dimensions):
        for control, text, what in (
            ("name", one.name, "The dimension needs a name."),
            ("scope", one.scope, "Say what the dimension covers."),
            *(
                (f"level-{at}", text, f"Say what a response is like that earns {label}.")
                for at, (text, label) in enumerate(
                    zip(one.levels, level_labels(len(one.levels)), strict=True)
                )
            ),
        ):
            if not text.strip():
                found[f"{place}-{control}"] = what
        if len(one.levels) < MIN_LEVELS:
            found[f"{place}-levels"] = f"At least {MIN_LEVELS} levels are needed."
        if one.name.strip():
            earlier = first_with.setdefault(name_key(one.name), place)
            if earlier != place:
                found[f"{place}-name"] = f"Dimension {earlier + 1} has this name already."
    for place, one in enumerate(draft.dimensions):
        if not any(control.startswith(f"{place}-") for control in found):
            try:
                _dimension(one)
            except InvalidRubricError as error:
                found[f"{place}-name"] = f"{error}."
    return found


def rubric_of(draft: Draft) -> Rubric:
    """Raises InvalidRubricError where `problems` names any."""
    return Rubric(tuple(map(_dimension, draft.dimensions)))


def with_texts_of(draft: Draft, rubric: Rubric) -> Draft:
    """The draft with the rubric's own texts where a form has changed nothing but their line ends.

    A form sends every line end as CR LF and drops what no field can hold, such as a lone CR.
    """
    original = {}
    for one in rubric.dimensions:
        for text in (one.name, one.criteria_description, *(level.description for level in one.levels)):
            original[as_typed(text)] = text

    def own(text: str) -> str:
        return original.get(as_typed(text), text)

    return Draft(
        tuple(
            DraftDimension(own(one.name), own(one.scope), tuple(map(own, one.levels)))
            for one in draft.dimensions
        )
    )


def draft_as_json(draft: Draft) -> str:
    return json.dumps([[one.name, one.scope, list(one.levels)] for one in draft.dimensions])


def draft_from_json(text: str) -> Draft:
    """Raises OperationError for what `draft_as_json` cannot have made."""
    try:
        return Draft(tuple(map(_draft_dimension, json.loads(text)))[:MOST_DIMENSIONS])
    except (ValueError, TypeError, RecursionError):
        raise OperationError("no draft") from None


def as_typed(text: str) -> str:
    """A text with the line ends that a draft has."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def apply(draft: Draft, operation: str) -> Edited:
    """Carries out 'up:2', 'merge:2:0', 'level-add:1:3' and so on; numbers are places, counted from 0.

    Raises OperationError for anything else.
    """
    name, *numbers = operation.split(":")
    if name not in _OPERATIONS or not all(each.isascii() and each.isdecimal() for each in numbers):
        raise OperationError(operation)
    places = [int(each[:6]) for each in numbers]
    count, do = _OPERATIONS[name]
    if len(places) != count or (places and places[0] >= len(draft.dimensions)):
        raise OperationError(operation)
    return do(draft, *places)


def _add(draft: Draft) -> Edited:
    """A new dimension at the end, with as many empty levels as most of the others have."""
    _require(len(draft.dimensions) < MOST_DIMENSIONS)
    counts = [len(one.levels) for one in draft.dimensions]
    usual = max(counts, key=counts.count, default=MIN_LEVELS)
    new = DraftDimension(levels=("",) * max(MIN_LEVELS, usual))
    return Edited(Draft((*draft.dimensions, new)), len(draft.dimensions))


def _up(draft: Draft, place: int) -> Edited:
    return _moved(draft, place, place - 1, "up")


def _down(draft: Draft, place: int) -> Edited:
    return _moved(draft, place, place + 1, "down")


def _moved(draft: Draft, place: int, to: int, control: str) -> Edited:
    _require(0 <= to < len(draft.dimensions))
    rest = [*draft.dimensions[:place], *draft.dimensions[place + 1 :]]
    rest.insert(to, draft.dimensions[place])
    edge = to in (0, len(rest) - 1)
    return Edited(Draft(tuple(rest)), to, "name" if edge else control)


def _remove(draft: Draft, place: int) -> Edited:
    rest = (*draft.dimensions[:place], *draft.dimensions[place + 1 :])
    return Edited(Draft(rest), min(place, max(len(rest) - 1, 0)))


def _merge(draft: Draft, place: int, into: int) -> Edited:
    """One dimension of two, where `into` stood: both names, both scopes, and level by level both
    descriptions, for a person to make one of."""
    _require(place != into and into < len(draft.dimensions))
    kept, gone = draft.dimensions[into], draft.dimensions[place]
    whole = DraftDimension(
        _joined(" / ", (kept.name, gone.name)),
        _joined("\n", (kept.scope, gone.scope)),
        merged_levels(kept.levels, gone.levels),
    )
    dimensions = [whole if at == into else one for at, one in enumerate(draft.dimensions) if at != place]
    return Edited(Draft(tuple(dimensions)), into - (place < into))


def merged_levels(one: Sequence[str], other: Sequence[str]) -> tuple[str, ...]:
    """As many levels as the longer scale has; the shorter is spread over it, so that the weakest meets the
    weakest and the strongest the strongest.

    >>> merged_levels(("a", "b", "c"), ("x", "y"))
    ('a\\nx', 'b', 'c\\ny')
    """
    size = max(len(one), len(other))
    parts: list[list[str]] = [[] for _ in range(size)]
    for levels in (one, other):
        for at, text in enumerate(levels):
            steps = max(len(levels) - 1, 1)
            parts[(2 * at * (size - 1) + steps) // (2 * steps)].append(text)
    return tuple(_joined("\n", each) for each in parts)


def _split(draft: Draft, place: int) -> Edited:
    """The dimension twice, the second with a number behind its name, for a person to tell apart."""
    _require(len(draft.dimensions) < MOST_DIMENSIONS)
    one = draft.dimensions[place]
    taken = {name_key(each.name) for each in draft.dimensions}
    number = 2
    while name_key(f"{one.name} ({number})") in taken:
        number += 1
    twin = replace(one, name=f"{one.name} ({number})")
    return Edited(Draft((*draft.dimensions[: place + 1], twin, *draft.dimensions[place + 1 :])), place + 1)


def _add_level(draft: Draft, place: int, at: int) -> Edited:
    """An empty level before the one at `at`; at the number of levels, a strongest one."""
    levels = draft.dimensions[place].levels
    _require(at <= len(levels) < MOST_LEVELS)
    return _with_levels(draft, place, (*levels[:at], "", *levels[at:]), f"level-{at}")


def _remove_level(draft: Draft, place: int, at: int) -> Edited:
    levels = draft.dimensions[place].levels
    _require(at < len(levels))
    rest = (*levels[:at], *levels[at + 1 :])
    return _with_levels(draft, place, rest, f"level-{min(at, len(rest) - 1)}" if rest else "name")


def _with_levels(draft: Draft, place: int, levels: tuple[str, ...], control: str) -> Edited:
    dimensions = list(draft.dimensions)
    dimensions[place] = replace(dimensions[place], levels=levels)
    return Edited(Draft(tuple(dimensions)), place, control)


def _joined(mark: str, texts: Sequence[str]) -> str:
    return mark.join(dict.fromkeys(text for text in texts if text.strip()))


def _require(there_is_room: bool) -> None:
    if not there_is_room:
        raise OperationError("the draft has no place for this")


def _draft_dimension(parts: Any) -> DraftDimension:
    name, scope, levels = parts
    if not all(isinstance(text, str) for text in (name, scope, *levels)):
        raise TypeError
    return DraftDimension(name, scope, tuple(levels)[:MOST_LEVELS])


def _dimension(one: DraftDimension) -> RubricDimension:
    return RubricDimension(one.name, one.scope, numbered_levels(one.levels))


_OPERATIONS: Mapping[str, tuple[int, Callable[..., Edited]]] = {
    "add": (0, _add),
    "up": (1, _up),
    "down": (1, _down),
    "remove": (1, _remove),
    "merge": (2, _merge),
    "split": (1, _split),
    "level-add": (2, _add_level),
    "level-remove": (2, _remove_level),
}
"""By name, how many places it takes and what it does."""
