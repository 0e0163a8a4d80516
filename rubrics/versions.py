"""Rubrics that people make: the first one of a line, and new versions of any rubric. A row never changes.

draft ─► rubric ─┬─ says what the newest version says ───────► nothing is saved
                 ├─ somebody saved since the person looked ──► told, with the newer version
                 └─ else ────────────────────────────────────► a new row at the end of the line
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q, QuerySet

from curation.models import CorpusPrompt
from llm.audit import record
from rubrics.lint import LINT_VERSION, findings_as_json, lint_rubric
from rubrics.models import Rubric
from rubrics.rubric import Rubric as RubricValue

SAVED, STARTED = "version saved", "rubric written"


class NewerVersionError(Exception):
    """Somebody has saved a version that the person has not seen; nothing is saved."""

    def __init__(self, newest: Rubric) -> None:
        super().__init__(f"rubric {newest.pk} is newer")
        self.newest = newest


class MissingNoteError(Exception):
    """A new version says why it was made; nothing is saved."""


@dataclass(frozen=True, slots=True)
class Saved:
    """The row that says what was given. `changed` is False where one said so before anybody edited."""

    rubric: Rubric
    changed: bool = True


def line_of(rubric: Rubric) -> QuerySet[Rubric]:
    """All versions of the line that a rubric belongs to, the first one first."""
    first = rubric.root_id or rubric.pk
    return Rubric.objects.filter(Q(pk=first) | Q(root=first)).order_by("version")


def newest_of(rubric: Rubric) -> Rubric:
    return line_of(rubric).reverse()[0]


def save_version(*, parent: Rubric, value: RubricValue, note: str, user: User, seen: int) -> Saved:
    """Adds what a person made of `parent` to the end of its line; `seen` is the newest version that the
    person knew of.

    The same version saved a second time is found, not made again. Raises NewerVersionError when the line
    has gone on since, MissingNoteError without a reason.
    """
    note = note.strip()
    with transaction.atomic():
        first = parent.root_id or parent.pk
        list(Rubric.objects.select_for_update(no_key=True).filter(pk=first).values_list("pk"))
        newest = newest_of(parent)
        if newest.digest == value.digest:
            repeated = (newest.parent_id, newest.created_by_id, newest.note) == (parent.pk, user.pk, note)
            return Saved(newest, changed=repeated)
        if newest.pk != seen:
            raise NewerVersionError(newest)
        if not note:
            raise MissingNoteError
        row = Rubric.objects.create(
            root_id=first,
            parent=parent,
            version=newest.version + 1,
            note=note,
            **_by_hand(parent.prompt, value, user),
        )
        record(
            row,
            SAVED,
            after={"version": row.version, "made_from_rubric": parent.pk, **_size(value)},
            reason=note,
            actor=user,
        )
    return Saved(row)


def write_rubric(*, prompt: CorpusPrompt, value: RubricValue, note: str, user: User) -> Saved:
    """Keeps a rubric that a person wrote for a prompt: the first version of a line of its own.

    The same rubric by the same person for the same prompt is found, not made again.
    """
    with transaction.atomic():
        list(CorpusPrompt.objects.select_for_update(no_key=True).filter(pk=prompt.pk).values_list("pk"))
        same = Rubric.objects.filter(
            prompt=prompt, method=Rubric.Method.HUMAN, created_by=user, version=1, digest=value.digest
        )
        if row := same.first():
            return Saved(row)
        row = Rubric.objects.create(note=note.strip(), **_by_hand(prompt, value, user))
        record(row, STARTED, after={"version": 1, **_size(value)}, reason=row.note, actor=user)
    return Saved(row)


def _by_hand(prompt: CorpusPrompt, value: RubricValue, user: User) -> dict[str, Any]:
    return {
        "prompt": prompt,
        "method": Rubric.Method.HUMAN,
        "constructor": user.get_username(),
        "created_by": user,
        "dimensions": value.to_json(),
        "digest": value.digest,
        "lint": findings_as_json(lint_rubric(value, prompt.text, prompt.language)),
        "lint_version": LINT_VERSION,
    }


def _size(value: RubricValue) -> dict[str, int]:
    return {"dimensions": len(value.dimensions), "maximum": value.maximum}
