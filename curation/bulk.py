"""Doing one thing with everything that a list shows: first what it would do, then, confirmed, the doing.

narrowed list ─► preview: taken, left alone and why, a token of the taken set
                    │ confirmed with the token
                    ▼
the same set? ── no ──► asked again
    │ yes
    ├── a few: done at once
    └── many, or work for a model: a run does it
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Case, Max, QuerySet, Value, When

from curation.bulk_actions import ACTIONS, Action, Needs, perform
from curation.models import ScreeningSample
from llm.models import Endpoint, Run, RunItem
from llm.services import start_run

AT_ONCE = 200
"""Items that are worked on while the page waits; more are left to a run (ours)."""

SAMPLED = 8


@dataclass(frozen=True, slots=True)
class Preview:
    """What an action would do: `taken` are the keys that it would work on; `left_alone` counts by reason."""

    action: Action
    taken: tuple[int, ...]
    left_alone: tuple[tuple[str, int], ...]

    @property
    def count(self) -> int:
        return len(self.taken)

    @property
    def token(self) -> str:
        """Names the set: it changes when another item comes in or one falls out."""
        digest = hashlib.sha256(f"{self.action.name} {self.taken}".encode()).hexdigest()
        return f"{self.count}-{digest[:24]}"

    @property
    def sample(self) -> tuple[int, ...]:
        return self.taken[:SAMPLED]


@dataclass(frozen=True, slots=True)
class Done:
    """How many items were worked on, or the run that does it."""

    count: int
    run: Run | None = None


class SetChangedError(Exception):
    """The set is another one than was confirmed; `preview` is what it is now."""

    def __init__(self, preview: Preview) -> None:
        super().__init__("the list has changed since")
        self.preview = preview


class BulkInputError(Exception):
    """Something that the action needs is missing: messages by field."""

    def __init__(self, messages: dict[str, str]) -> None:
        super().__init__("; ".join(messages.values()))
        self.messages = messages


def preview_action(*, name: str, rows: QuerySet[Any]) -> Preview:
    """What an action would do with these rows. Raises KeyError for an action that there is not."""
    action = ACTIONS[name]
    reason = Case(*(When(when, then=Value(why)) for why, when in action.spared), default=Value(""))
    found = rows.order_by().annotate(spared_because=reason).values_list("pk", "spared_because")
    taken, left_alone = [], Counter[str]()
    for pk, why in found:
        if why:
            left_alone[why] += 1
        else:
            taken.append(pk)
    return Preview(action, tuple(sorted(taken)), tuple(left_alone.most_common()))


def confirm_action(
    *,
    name: str,
    rows: QuerySet[Any],
    token: str,
    by: User,
    reason: str = "",
    endpoint: Endpoint | None = None,
) -> Done:
    """Does what a preview with this token has announced.

    Raises SetChangedError when the rows are no longer those that it named, BulkInputError without the reason
    or endpoint that the action needs.
    """
    preview = preview_action(name=name, rows=rows)
    if preview.token != token:
        raise SetChangedError(preview)
    action, reason = preview.action, reason.strip()
    if Needs.REASON in action.needs and not reason:
        raise BulkInputError({"reason": "Say why: it stays in the history of every item."})
    if Needs.ENDPOINT in action.needs and endpoint is None:
        raise BulkInputError({"endpoint": "Choose the endpoint that writes them."})
    if action.run_kind:
        return Done(preview.count, _start_stage(action.run_kind, preview.taken, endpoint, by))
    if preview.count > AT_ONCE:
        parameters = {"action": name, "reason": reason}
        return Done(
            preview.count, start_run(kind="bulk", subject_ids=preview.taken, parameters=parameters, user=by)
        )
    return Done(perform(name=name, ids=preview.taken, by=by, reason=reason))


@transaction.atomic
def _start_stage(kind: str, ids: Sequence[int], endpoint: Endpoint | None, by: User) -> Run:
    parameters = {"chosen": len(ids), "screening_samples": ScreeningSample.objects.count()}
    run = start_run(kind=kind, subject_ids=ids, endpoint=endpoint, parameters=parameters, user=by)
    _ask_anew(run, ids)
    return run


def _ask_anew(run: Run, ids: Sequence[int]) -> None:
    """An item that failed before gets new calls beyond its stored ones, as a retry on its own run would."""
    failed = RunItem.objects.filter(run__kind=run.kind, state=RunItem.State.FAILED, subject_id__in=ids)
    by_retries: dict[int, list[int]] = {}
    for subject, retries in failed.order_by().values_list("subject_id").annotate(Max("retries")):
        by_retries.setdefault(retries, []).append(subject)
    for retries, subjects in by_retries.items():
        run.items.filter(subject_id__in=subjects).update(retries=retries + 1)
