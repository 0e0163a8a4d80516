"""The audit trail: every change of state, by whom, when, from what to what, in the same transaction."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.contrib.auth.models import User
from django.db.models import Model, QuerySet
from django.utils import timezone

from llm.models import AuditEntry, Run

BATCH = 1_000


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
    now = timezone.now()
    entries = []
    for change in changes:
        kind, pk = _subject(change.subject)
        entries.append(
            AuditEntry(
                subject_kind=kind,
                subject_id=pk,
                action=change.action,
                before=dict(change.before),
                after=dict(change.after),
                reason=change.reason,
                actor=change.actor,
                actor_name=_actor_name(change),
                at=now,
            )
        )
    AuditEntry.objects.bulk_create(entries, batch_size=BATCH)


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
