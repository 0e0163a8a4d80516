"""Leaving source prompts out of what is planned, and taking them in again."""

from __future__ import annotations

from collections.abc import Collection

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet

from curation.models import SourcePrompt
from llm.audit import Change, kind_of, record_many

KIND = kind_of(SourcePrompt())


def exclude(*, source_prompt_ids: Collection[int], by: User, reason: str) -> int:
    """No further reconstruction of these is planned. Returns of how many; the excluded are left alone."""
    return _set(
        SourcePrompt.objects.filter(pk__in=source_prompt_ids, excluded_because=""), reason, by, reason
    )


def include_again(*, source_prompt_ids: Collection[int], by: User, reason: str) -> int:
    """Takes back what excluded these, whatever it was. Returns of how many; the others are left alone."""
    excluded = SourcePrompt.objects.filter(pk__in=source_prompt_ids).exclude(excluded_because="")
    return _set(excluded, "", by, reason)


@transaction.atomic
def _set(prompts: QuerySet[SourcePrompt], because: str, by: User, reason: str) -> int:
    because = because[: SourcePrompt._meta.get_field("excluded_because").max_length]
    before = dict(
        prompts.select_for_update().order_by("pk").values_list("pk", "excluded_because"),
    )
    SourcePrompt.objects.filter(pk__in=before).update(excluded_because=because)
    action = "excluded" if because else "included again"
    record_many(
        Change((KIND, pk), action, {"excluded_because": was}, {"excluded_because": because}, reason, by)
        for pk, was in before.items()
    )
    return len(before)
