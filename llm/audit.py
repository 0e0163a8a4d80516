"""The audit trail: every change of state, by whom, when, from what to what, in the same transaction."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.contrib.auth.models import User
from django.db.models import Model, QuerySet
from django.utils import timezone

from llm import sql
from llm.models import AuditEntry, Run

BATCH = 1_000
RECORD = """
    INSERT INTO llm_auditentry
        (subject_kind, subject_id, action, before, after, reason, actor_id, actor_name, at)
    SELECT given.*, %(now)s FROM unnest(
        %(kinds)s::text[], %(ids)s::bigint[], %(actions)s::text[], %(before)s::jsonb[], %(after)s::jsonb[],
        %(reasons)s::text[], %(actors)s::int[], %(names)s::text[]) AS given
"""

RECORD_ALIKE = """
    INSERT INTO llm_auditentry
        (subject_kind, subject_id, action, before, after, reason, actor_id, actor_name, at)
    SELECT %(kind)s, given.id, %(action)s, %(before)s::jsonb, %(after)s::jsonb,
        '', %(actor)s, %(name)s, %(now)s
    FROM unnest(%(ids)s::bigint[]) AS given(id)
"""


@dataclass(frozen=True, slots=True)
class Change:
    """One change of one object. `actor` is a person, `run` a run that did it; with neither, a command did."""

    subject: Model | tuple[str, int]
    action: str
    before: Mapping[str, Any] = field(default_factory=dict)
    after: Mapping[str, Any] = field(default_factory=dict)
    reason: str = ""
    actor: User | None = None
    run: Run | None = None


def kind_of(subject: Model) -> str:
    """The name under which a model's objects stand in the trail, e.g. 'reconstruction'."""
    return str(subject._meta.verbose_name)


def record(
    subject: Model,
    action: str,
    *,
    before: Mapping[str, Any] | None = None,
    after: Mapping[str, Any] | None = None,
    reason: str = "",
    actor: User | None = None,
    run: Run | None = None,
) -> None:
    """Writes one entry. Call it inside the transaction that makes the change."""
    record_many([Change(subject, action, before or {}, after or {}, reason, actor, run)])


def record_many(changes: Iterable[Change]) -> None:
    """The same for many objects at once."""
    listed = list(changes)
    for start in range(0, len(listed), BATCH):
        batch = listed[start : start + BATCH]
        subjects = [_subject(change.subject) for change in batch]
        sql.execute(
            RECORD,
            {
                "kinds": [kind for kind, _ in subjects],
                "ids": [pk for _, pk in subjects],
                "actions": [change.action for change in batch],
                "before": [_as_json(change.before) for change in batch],
                "after": [_as_json(change.after) for change in batch],
                "reasons": [change.reason for change in batch],
                "actors": [change.actor.pk if change.actor else None for change in batch],
                "names": [_actor_name(change) for change in batch],
                "now": timezone.now(),
            },
        )


def record_alike(
    kind: str,
    ids: Sequence[int],
    action: str,
    *,
    before: Mapping[str, Any] | None = None,
    after: Mapping[str, Any] | None = None,
    actor: User | None = None,
) -> None:
    """The same change of very many objects of one kind, in a fifth of the time."""
    if not ids:
        return
    sql.execute(
        RECORD_ALIKE,
        {
            "kind": kind,
            "ids": list(ids),
            "action": action,
            "before": _as_json(before or {}),
            "after": _as_json(after or {}),
            "actor": actor.pk if actor else None,
            "name": _actor_name(Change((kind, ids[0]), action, actor=actor)),
            "now": timezone.now(),
        },
    )


def history_of(subject: Model) -> QuerySet[AuditEntry]:
    """Everything that happened to an object, newest first."""
    return AuditEntry.objects.filter(subject_kind=kind_of(subject), subject_id=subject.pk).select_related(
        "actor"
    )


def _subject(subject: Model | tuple[str, int]) -> tuple[str, int]:
    return subject if isinstance(subject, tuple) else (kind_of(subject), subject.pk)


def _actor_name(change: Change) -> str:
    if change.actor is not None:
        return change.actor.get_username()
    return f"run {change.run.pk}" if change.run is not None else "command"


def _as_json(values: Mapping[str, Any]) -> str:
    return json.dumps(dict(values), ensure_ascii=False)
