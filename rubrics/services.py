"""Starting the work on rubrics."""

from __future__ import annotations

from collections.abc import Collection

from django.contrib.auth.models import User
from django.db.models import Q, QuerySet

from curation.models import CorpusPrompt
from curation.services import made_from
from llm.models import Endpoint, Run
from llm.services import start_run
from rubrics.construction import PAPER_BOUNDS, AcceptanceBounds
from rubrics.models import MiningTrace, Rubric

NO_RUBRIC = "no rubric: "
"""How the reason begins for which mining excludes a prompt."""


def start_mining(
    *,
    endpoint: Endpoint,
    method: str = Rubric.Method.IRG,
    limit: int | None = None,
    among: Collection[int] | None = None,
    bounds: AcceptanceBounds = PAPER_BOUNDS,
    user: User | None = None,
) -> Run:
    """Queues usable prompts (those made from the source prompts `among`) without a rubric of `method` by
    `endpoint`.

    Usable is a prompt that nothing excludes, or only that another method or endpoint made no rubric of it.
    Where this one failed within the same bounds, the failed item of that run is what can be tried again.
    """
    waiting = made_from(among, _waiting(endpoint, method, bounds), "reconstruction__source_prompt")
    return start_run(
        kind="mine",
        subject_ids=waiting.order_by("pk").values_list("pk", flat=True)[:limit],
        endpoint=endpoint,
        parameters={"method": method, "limit": limit, "bounds": bounds.to_json()},
        user=user,
        alike=Q(run__endpoint=endpoint, run__parameters__method=method),
    )


def _waiting(endpoint: Endpoint, method: str, bounds: AcceptanceBounds) -> QuerySet[CorpusPrompt]:
    """A rubric from before rows named their endpoint counts for the endpoint of its run, or for every one."""
    theirs = Q(endpoint=endpoint) | Q(endpoint=None, trace__run__endpoint=endpoint)
    unknown = Q(endpoint=None, trace__run__endpoint=None)
    made = Rubric.objects.filter(theirs | unknown, method=method)
    failed = MiningTrace.objects.exclude(failure="").filter(
        run__endpoint=endpoint, run__parameters__method=method
    )
    same = Q(run__parameters__bounds=bounds.to_json())
    if bounds == PAPER_BOUNDS:
        same |= Q(run__parameters__bounds__isnull=True)
    usable = CorpusPrompt.objects.filter(
        Q(excluded_because="")
        | (Q(excluded_because__startswith=NO_RUBRIC) & ~Q(pk__in=failed.filter(same).values("prompt")))
    )
    return usable.exclude(pk__in=made.values("prompt"))
