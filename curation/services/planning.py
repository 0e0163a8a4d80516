"""Planning reconstructions, and starting the runs that write and filter them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TypeVar

from django.contrib.auth.models import User
from django.db import connection, transaction
from django.db.models import Count, F, Model, Q, QuerySet, Sum
from django.db.models.functions import Greatest

from curation.models import Reconstruction, ScreeningSample, Source, SourcePrompt
from curation.reconstruction import Strategy, plan_strategies
from llm.audit import kind_of, record_alike
from llm.models import Endpoint, Run
from llm.services import start_run

Row = TypeVar("Row", bound=Model)

BATCH = 500

MOST_PER_SOURCE = 100
LARGEST_SEED = 2**31 - 1
"""Bounds of what people may ask for (ours)."""


@dataclass(frozen=True, slots=True)
class PlanPreview:
    """What a plan comes to: `prompts` source prompts have `existing` reconstructions, of which `planned` are
    not written yet; it would add `new` ones."""

    prompts: int
    existing: int
    planned: int
    new: int


def preview_plan(*, per_source: int, limit: int | None = None, source: Source | None = None) -> PlanPreview:
    """What `plan_reconstructions` would add for the same arguments, whatever the seed. Adds nothing."""
    counted = _usable(source).values("pk")
    counted = counted.annotate(
        existing=Count("reconstructions"),
        planned=Count("reconstructions", filter=Q(reconstructions__state=Reconstruction.State.PLANNED)),
    )
    totals = counted[:limit].aggregate(
        prompts=Count("pk"),
        in_all=Sum("existing", default=0),
        unwritten=Sum("planned", default=0),
        new=Sum(Greatest(per_source - F("existing"), 0), default=0),
    )
    return PlanPreview(totals["prompts"], totals["in_all"], totals["unwritten"], totals["new"])


def plan_reconstructions(
    *,
    per_source: int,
    seed: int,
    limit: int | None = None,
    source: Source | None = None,
    user: User | None = None,
) -> list[int]:
    """Plans `per_source` reconstructions of each usable source prompt, topping up what is already there;
    each takes over its source's length policy. Plans made at the same time wait for each other.

    Returns the reconstructions of those prompts that still wait to be written. `limit` takes the first
    prompts in the order of import.
    """
    source_ids = usable_source_prompts(source=source, limit=limit)
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(hashtext('plan reconstructions'))")
        existing: dict[int, list[tuple[int, Strategy]]] = {}
        rows = Reconstruction.objects.filter(source_prompt__in=source_ids)
        for source_id, index, strategy in rows.values_list("source_prompt_id", "index", "strategy"):
            existing.setdefault(source_id, []).append((index, Strategy(strategy)))
        plan = plan_strategies(source_ids, per_source, seed, existing)
        policies = dict(SourcePrompt.objects.filter(pk__in=source_ids).values_list("pk", "length_policy"))
        planned = Reconstruction.objects.bulk_create(
            (
                Reconstruction(
                    source_prompt_id=place.source_id,
                    index=place.index,
                    strategy=place.strategy,
                    length_policy=policies[place.source_id],
                )
                for place in plan
            ),
            batch_size=BATCH,
        )
        keys = [row.pk for row in planned]
        after = {"state": Reconstruction.State.PLANNED.value}
        record_alike(kind_of(Reconstruction()), keys, "planned", after=after, actor=user)
    waiting = Reconstruction.objects.filter(
        source_prompt__in=source_ids, state=Reconstruction.State.PLANNED
    ).order_by("pk")
    return list(waiting.values_list("pk", flat=True))


def start_reconstruction(
    *,
    endpoint: Endpoint,
    per_source: int = 1,
    seed: int = 0,
    limit: int | None = None,
    source: Source | None = None,
    user: User | None = None,
) -> Run:
    """Plans, then queues every planned reconstruction."""
    return start_run(
        kind="reconstruct",
        subject_ids=plan_reconstructions(
            per_source=per_source, seed=seed, limit=limit, source=source, user=user
        ),
        endpoint=endpoint,
        parameters={
            "per_source": per_source,
            "seed": seed,
            "limit": limit,
            "source": source.name if source else None,
        },
        user=user,
    )


def made_from(
    source_prompts: Collection[int] | None, rows: QuerySet[Row], path: str = "source_prompt"
) -> QuerySet[Row]:
    """The rows whose source prompt (found along `path`) is among these; all of them for None."""
    return rows if source_prompts is None else rows.filter(**{f"{path}__in": source_prompts})


def usable_source_prompts(*, source: Source | None = None, limit: int | None = None) -> list[int]:
    """The source prompts that are not excluded, the first `limit` in the order of import."""
    return list(_usable(source).values_list("pk", flat=True)[:limit])


def _usable(source: Source | None) -> QuerySet[SourcePrompt]:
    prompts = SourcePrompt.objects.filter(excluded_because="").order_by("pk")
    return prompts if source is None else prompts.filter(source=source)


def start_filtering(
    *, limit: int | None = None, among: Collection[int] | None = None, user: User | None = None
) -> Run:
    """Queues rewritten reconstructions (those of the source prompts `among`) for filters and screening."""
    rewritten = Reconstruction.objects.filter(state=Reconstruction.State.REWRITTEN)
    waiting = made_from(among, rewritten).order_by("pk")
    return start_run(
        kind="filter",
        subject_ids=waiting.values_list("pk", flat=True)[:limit],
        parameters={"limit": limit, "screening_samples": ScreeningSample.objects.count()},
        user=user,
    )
