"""The editor's form: a draft read from what was sent, and a draft as the fields that a page shows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from django.http import QueryDict

from rubrics.editing import (
    MOST_DIMENSIONS,
    MOST_LEVELS,
    Draft,
    DraftDimension,
    Problems,
    as_typed,
    draft_as_json,
)
from rubrics.rubric import SCORES_PER_LEVEL, level_labels


@dataclass(frozen=True, slots=True)
class Control:
    """One field. `name` is also its id; `focus` where the work goes on after an operation."""

    name: str
    text: str
    problem: str
    label: str = ""
    place: int = 0
    focus: bool = False


@dataclass(frozen=True, slots=True)
class DimensionFields:
    """A dimension of the draft with everything that its part of the form shows."""

    place: int
    name: Control
    scope: Control
    levels: tuple[Control, ...]
    levels_problem: str
    others: tuple[tuple[int, str], ...]
    last: bool
    focus: str = ""

    @property
    def number(self) -> int:
        return self.place + 1

    @property
    def first(self) -> bool:
        return self.place == 0

    @property
    def maximum(self) -> int:
        return SCORES_PER_LEVEL * len(self.levels)

    @property
    def room(self) -> bool:
        return len(self.levels) < MOST_LEVELS


@dataclass(frozen=True, slots=True)
class EditorForm:
    """The whole form. `newest` is the newest version of the line that the person has seen (0: none).

    `focus` is where the work goes on: a place and a control. `before` is the draft before the last
    operation, which can be undone; `done` says what the operation did.
    """

    draft: Draft
    note: str = ""
    newest: int = 0
    problems: Problems = field(default_factory=dict)
    focus: tuple[int, str] = (-1, "")
    before: Draft | None = None
    done: str = ""
    pasted: str = ""

    @property
    def problem(self) -> str:
        return self.problems.get("", "")

    @property
    def note_problem(self) -> str:
        return self.problems.get("note", "")

    @property
    def import_problem(self) -> str:
        return self.problems.get("import", "")

    @property
    def listed(self) -> list[tuple[str, str]]:
        """What is wrong with single fields, by the field's id, as a list at the top has it."""
        found = []
        for name, text in self.problems.items():
            place, _, control = name.partition("-")
            if name not in ("", "import"):
                found.append((name, f"Dimension {int(place) + 1}: {text}" if control else text))
        return found

    @property
    def before_json(self) -> str:
        return draft_as_json(self.before) if self.before else ""

    @property
    def count(self) -> int:
        return len(self.draft.dimensions)

    @property
    def room(self) -> bool:
        return self.count < MOST_DIMENSIONS

    @property
    def maximum(self) -> int:
        return sum(SCORES_PER_LEVEL * len(one.levels) for one in self.draft.dimensions)

    @property
    def dimensions(self) -> Iterator[DimensionFields]:
        names = [
            (place, one.name.strip() or f"dimension {place + 1}")
            for place, one in enumerate(self.draft.dimensions)
        ]
        for place, one in enumerate(self.draft.dimensions):
            labels = level_labels(len(one.levels))
            yield DimensionFields(
                place,
                self._control(place, "name", one.name),
                self._control(place, "scope", one.scope),
                tuple(
                    self._control(place, f"level-{at}", text, labels[at], at)
                    for at, text in enumerate(one.levels)
                ),
                self.problems.get(f"{place}-levels", ""),
                tuple(each for each in names if each[0] != place),
                place == self.count - 1,
                self.focus[1] if self.focus[0] == place else "",
            )

    def _control(self, place: int, control: str, text: str, label: str = "", at: int = 0) -> Control:
        name = f"{place}-{control}"
        return Control(name, text, self.problems.get(name, ""), label, at, self.focus == (place, control))


def draft_sent(sent: QueryDict) -> Draft:
    """The draft that the form holds; what is missing of it is empty, what is beyond its bounds left out."""
    return Draft(
        tuple(
            DraftDimension(
                _line(sent.get(f"{place}-name", "")),
                as_typed(sent.get(f"{place}-scope", "")),
                tuple(
                    as_typed(sent.get(f"{place}-level-{at}", ""))
                    for at in range(_whole(sent, f"{place}-levels", MOST_LEVELS))
                ),
            )
            for place in range(_whole(sent, "dimensions", MOST_DIMENSIONS))
        )
    )


def operation_sent(sent: Mapping[str, str]) -> str:
    """The operation of the button that was pressed; a merger's other dimension is chosen beside it."""
    operation = sent.get("operation", "")
    if operation.startswith("merge:") and operation.count(":") == 1:
        return f"{operation}:{sent.get(operation.removeprefix('merge:') + '-into', '')}"
    return operation


def form_sent(sent: QueryDict) -> EditorForm:
    note = as_typed(sent.get("note", "")).replace("\x00", "")
    return EditorForm(draft_sent(sent), note, _whole(sent, "newest", 2**31 - 1))


def _line(text: str) -> str:
    return " ".join(as_typed(text).split("\n"))


def _whole(sent: Mapping[str, str], name: str, most: int) -> int:
    text = sent.get(name, "")
    return min(int(text), most) if text.isascii() and text.isdecimal() and len(text) < 12 else 0
