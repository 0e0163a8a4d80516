"""The audit trail as pages show it: what changed, where it can be looked at, and nothing that a rater may not
know yet."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.db.models import Model, Q, QuerySet

from curation.models import (
    CorpusPrompt,
    CurationPolicy,
    ExportFile,
    ImportFile,
    Reconstruction,
    Review,
    Source,
    SourcePrompt,
)
from curation.selectors import BLIND
from llm.audit import history_of, kind_of
from llm.listing import AnyFilter, Filter, equals
from llm.models import AuditEntry

SHOWN = 50
"""Entries that an object's page shows; the list has them all."""

RECENT = 20_000
"""Entries that are looked through for the names of actions and actors (ours)."""

OWN = ("reviewed:", "undone:", "adjudicated:")
"""Actions in which people speak for themselves."""

RUN, A_RUN = "run ", "a run"
"""How the name of a run begins where it stands as the one who did something, and all runs together."""

PAGES = {
    kind_of(Reconstruction()): "reconstruction",
    kind_of(SourcePrompt()): "source-prompt",
    kind_of(CorpusPrompt()): "corpus-prompt",
    kind_of(Review()): "review-withdraw",
    kind_of(CurationPolicy()): "policy",
    kind_of(Source()): "source",
    kind_of(ImportFile()): "import",
    kind_of(ExportFile()): "export",
    "rubric": "rubric",
}
"""By kind of object, the route of its page."""

_ITEM, _PROMPT = kind_of(Reconstruction()), kind_of(CorpusPrompt())


@dataclass(frozen=True, slots=True)
class Difference:
    """One value that changed; None where there was, or is, none."""

    name: str
    before: Any
    after: Any


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """One entry. `hidden` says that a decision is kept from readers until the item is settled."""

    pk: int
    at: datetime
    actor: str
    action: str
    kind: str
    subject_id: int
    route: str
    differences: tuple[Difference, ...]
    reason: str
    hidden: bool


def history_shown(subject: Model, viewer: User) -> list[HistoryEntry]:
    """The latest entries of one object."""
    return shown_to(viewer, history_of(subject)[:SHOWN])


def shown_to(viewer: User, entries: Iterable[AuditEntry]) -> list[HistoryEntry]:
    """The entries as `viewer` may see them.

    What others decided on an item that is not settled is left out: an action that says it stands as its first
    words ('reviewed: accept' as 'reviewed'), and its values and reason with it.
    """
    entries = list(entries)
    items = {entry.subject_id for entry in entries if entry.subject_kind == _ITEM}
    blind = set(Reconstruction.objects.filter(pk__in=items, state__in=BLIND).values_list("pk", flat=True))
    return [
        _entry(
            entry,
            hidden=entry.subject_kind == _ITEM
            and entry.subject_id in blind
            and ":" in entry.action
            and not (entry.actor_id == viewer.pk and entry.action.startswith(OWN)),
        )
        for entry in entries
    ]


def recent_changes() -> QuerySet[AuditEntry]:
    """All entries, newest first, but for those of a corpus prompt whose item is judged anew: that there is
    one tells that the item was accepted."""
    judged_anew = CorpusPrompt.objects.filter(reconstruction__state__in=BLIND).values("pk")
    return AuditEntry.objects.exclude(subject_kind=_PROMPT, subject_id__in=judged_anew).order_by("-pk")


def history_filters() -> tuple[AnyFilter, ...]:
    """By who, what, and on which kind of object. Actions go by their first words, so that no filter tells
    what is hidden."""
    actions = sorted({action.split(":")[0] for action in _recent("action")})
    return (
        Filter("actor", "By", tuple(_actors()), _by_actor),
        Filter(
            "action",
            "Action",
            tuple((action, action) for action in actions),
            lambda rows, value: rows.filter(Q(action=value) | Q(action__startswith=f"{value}:")),
        ),
        equals("kind", "Kind of object", [(k, k) for k in _recent("subject_kind")], lookup="subject_kind"),
    )


def _actors() -> list[tuple[str, str]]:
    """People by name; all runs as one. No user name has a space in it."""
    names = [name for name in _recent("actor_name") if not name.startswith(RUN)]
    return [(A_RUN, A_RUN), *((name, name) for name in names)]


def _by_actor(rows: QuerySet[AuditEntry], name: str) -> QuerySet[AuditEntry]:
    return rows.filter(actor_name__startswith=RUN) if name == A_RUN else rows.filter(actor_name=name)


def _recent(field: str) -> Sequence[str]:
    """The values of a field among the latest entries, in the order of the alphabet."""
    newest = AuditEntry.objects.order_by("-pk").values_list("pk", flat=True).first() or 0
    rows = AuditEntry.objects.filter(pk__gt=newest - RECENT).order_by(field)
    return list(rows.values_list(field, flat=True).distinct())


def _entry(entry: AuditEntry, *, hidden: bool) -> HistoryEntry:
    names = [] if hidden else list(dict.fromkeys([*entry.before, *entry.after]))
    differences = (Difference(name, entry.before.get(name), entry.after.get(name)) for name in names)
    return HistoryEntry(
        entry.pk,
        entry.at,
        entry.actor_name,
        entry.action.split(":")[0] if hidden else entry.action,
        entry.subject_kind,
        entry.subject_id,
        PAGES.get(entry.subject_kind, ""),
        tuple(each for each in differences if each.before != each.after),
        "" if hidden else entry.reason,
        hidden,
    )
