"""A recipe beside the paper's table: what is as there, what differs, what it does not give. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, get_args

from training.recipes.settings import BECAUSE, SECTION, Recipe


class Standing(StrEnum):
    AS_PAPER = "as_paper"
    DIFFERS = "differs"
    OURS = "ours"


@dataclass(frozen=True, slots=True)
class Row:
    """A setting; `usual` is the paper's value, or our default where the paper gives none."""

    name: str
    value: Any
    usual: Any
    standing: Standing
    section: str
    because: str
    fixed: bool
    """There is no other value."""

    @property
    def changed(self) -> bool:
        return bool(self.value != self.usual)


def compared(recipe: Recipe) -> list[Row]:
    """The settings with a known origin: those of the paper first, each in the order of the recipe."""
    rows = []
    for name, field in type(recipe).model_fields.items():
        origin = field.json_schema_extra
        if not isinstance(origin, dict):
            continue
        value, section = getattr(recipe, name), str(origin.get(SECTION, ""))
        standing, fixed = Standing.OURS, len(get_args(field.annotation)) == 1
        if section:
            standing = Standing.AS_PAPER if value == field.default else Standing.DIFFERS
        rows.append(Row(name, value, field.default, standing, section, str(origin.get(BECAUSE, "")), fixed))
    return sorted(rows, key=lambda row: row.standing is Standing.OURS)
