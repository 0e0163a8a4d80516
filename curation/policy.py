"""Changing the curation room's settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from curation.models import CurationPolicy
from llm.audit import record

SETTINGS = (
    "second_review_share",
    "second_review_seed",
    "lease_minutes",
    "fastest_characters_per_second",
    "tokenizer",
    "minimum_shared_trigrams",
    "repetition_limits",
)


@transaction.atomic
def change_policy(*, by: User, values: Mapping[str, Any], reason: str = "") -> bool:
    """Stores the settings; False when nothing differs. `values` have passed the model's own rules."""
    CurationPolicy.objects.get_or_create(pk=1)
    policy = CurationPolicy.objects.select_for_update().get(pk=1)
    before = {name: getattr(policy, name) for name in SETTINGS}
    changed = [name for name in SETTINGS if name in values and values[name] != before[name]]
    if not changed:
        return False
    for name in changed:
        setattr(policy, name, values[name])
    policy.save()
    record(
        policy,
        "settings changed",
        before={name: before[name] for name in changed},
        after={name: values[name] for name in changed},
        reason=reason.strip(),
        actor=by,
    )
    return True
