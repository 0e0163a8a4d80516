"""What was made of corpus prompts, further down the way than this room can see.

The rooms below register how they find it; so a page here can say what a withdrawal touches. Whatever comes
to hold corpus prompts later, such as a training job, registers in the same way and stands on that page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Touched:
    """One thing that holds, or was made of, a corpus prompt. Without a page of its own `url_name` is ''."""

    kind: str
    label: str
    url_name: str
    pk: int
    note: str = ""


@dataclass(frozen=True, slots=True)
class TouchedGroup:
    label: str
    found: tuple[Touched, ...]


Find = Callable[[Sequence[int]], Iterable[Touched]]

_FINDERS: dict[str, Find] = {}


def register(label: str, find: Find) -> None:
    """Adds a way to find what holds given corpus prompts; each room does so when Django starts."""
    _FINDERS[label] = find


def touched_by(corpus_prompt_ids: Sequence[int]) -> list[TouchedGroup]:
    """Everything that holds one of these corpus prompts, in groups; those without anything are kept, so that
    a page can say that it has looked."""
    return [
        TouchedGroup(label, tuple(find(corpus_prompt_ids)) if corpus_prompt_ids else ())
        for label, find in _FINDERS.items()
    ]
