"""What a kind of work looks like to the engine, and the register of kinds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Generic, TypeVar

from llm.models import Run
from llm.types import MAX_ASKS, Chat, ModelError

Subject = TypeVar("Subject")
Outcome = TypeVar("Outcome")


class Step(Generic[Subject, Outcome]):
    """One kind of work on one subject: read rows, decide with an injected chat, write rows.

    `load` and `store` run in a thread and may use the database; `execute` may not: it sees only its
    subject and the chat. `store` is called inside the transaction that marks the items as done.
    """

    kind: ClassVar[str]
    label: ClassVar[str]
    max_asks: ClassVar[int] = MAX_ASKS

    def __init__(self, run: Run) -> None:
        self.run = run

    def load(self, subject_ids: Sequence[int]) -> Mapping[int, Subject]:
        """The subjects by id; one that is left out fails as 'missing'."""
        raise NotImplementedError

    async def execute(self, subject: Subject, chat: Chat) -> Outcome:
        """Raises `ModelError` when the subject cannot be served; the engine files it under its kind."""
        raise NotImplementedError

    def store(self, results: Sequence[tuple[int, Outcome]]) -> None:
        """Writes the outcomes by subject id."""
        raise NotImplementedError

    def store_failures(self, failures: Sequence[tuple[int, ModelError]]) -> None:
        """Writes what a failure means for its subject; nothing, unless a step says otherwise."""


_STEPS: dict[str, type[Step[Any, Any]]] = {}


def register(step: type[Step[Any, Any]]) -> type[Step[Any, Any]]:
    """Class decorator. Each app registers its steps when Django starts."""
    _STEPS[step.kind] = step
    return step


def build_step(run: Run) -> Step[Any, Any]:
    """The step for a run. Raises KeyError for a kind that no installed app registers."""
    return _STEPS[run.kind](run)


def step_labels() -> Mapping[str, str]:
    """Kind -> words for people."""
    return {kind: step.label for kind, step in _STEPS.items()}
