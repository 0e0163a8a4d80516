"""Starting the work on candidates, and asking for a corpus."""

from __future__ import annotations

from collections.abc import Collection
from fractions import Fraction

from django.contrib.auth.models import User
from django.db import transaction

from curation.services import made_from
from llm.models import Endpoint, Run
from llm.services import start_run
from rubrics.models import Rubric
from training.models import Candidate, CorpusSnapshot


def start_writing(
    *,
    endpoint: Endpoint,
    limit: int | None = None,
    among: Collection[int] | None = None,
    user: User | None = None,
) -> Run:
    """Queues every rubric of a usable prompt that has no candidates yet."""
    waiting = Rubric.objects.filter(prompt__excluded_because="", candidates=None).order_by("pk")
    waiting = made_from(among, waiting, "prompt__reconstruction__source_prompt")
    return start_run(
        kind="write",
        subject_ids=waiting.values_list("pk", flat=True)[:limit],
        endpoint=endpoint,
        parameters={"limit": limit},
        user=user,
    )


def start_assessing(
    *,
    endpoint: Endpoint,
    limit: int | None = None,
    among: Collection[int] | None = None,
    user: User | None = None,
) -> Run:
    """Queues every candidate that no judge has read yet."""
    waiting = Candidate.objects.filter(assessment=None).order_by("pk")
    waiting = made_from(among, waiting, "prompt__reconstruction__source_prompt")
    return start_run(
        kind="assess",
        subject_ids=waiting.values_list("pk", flat=True)[:limit],
        endpoint=endpoint,
        parameters={"limit": limit, "policy": "paper"},
        user=user,
    )


def start_selecting(
    *, limit: int | None = None, among: Collection[int] | None = None, user: User | None = None
) -> Run:
    """Queues every rubric with an assessed candidate and no demonstration."""
    chosen = Candidate.objects.filter(demonstration=True).values("rubric")
    waiting = (
        Rubric.objects.filter(candidates__assessment__isnull=False)
        .exclude(pk__in=chosen)
        .order_by("pk")
        .distinct()
    )
    waiting = made_from(among, waiting, "prompt__reconstruction__source_prompt")
    return start_run(
        kind="select",
        subject_ids=waiting.values_list("pk", flat=True)[:limit],
        parameters={"limit": limit},
        user=user,
    )


def request_snapshot(
    *, name: str, seed: int, sft_share: Fraction, user: User | None = None
) -> CorpusSnapshot:
    """Queues the writing of one export as a run; a worker does it, so that nobody waits for the answer."""
    with transaction.atomic():
        snapshot = CorpusSnapshot.objects.create(
            name=name,
            parameters={"seed": seed, "sft_share": f"{sft_share.numerator}/{sft_share.denominator}"},
            created_by=user,
        )
        snapshot.run = start_run(
            kind="export", subject_ids=[snapshot.pk], parameters=snapshot.parameters, user=user
        )
        snapshot.save(update_fields=["run"])
    return snapshot
