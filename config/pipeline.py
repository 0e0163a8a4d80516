"""The stages of the method that work on model replies or rows, by name, in their order.

reconstruct ─► filter ─► (review by people) ─► mine ─► write ─► assess ─► select ─► (export)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from curation.models import Source
from curation.services import start_filtering, start_reconstruction
from llm.models import Endpoint, Run
from llm.services import limit_run
from rubrics.construction import PAPER_BOUNDS, AcceptanceBounds
from rubrics.models import Assessment, Rubric
from rubrics.services import start_mining
from training.services import start_assessing, start_selecting, start_writing


@dataclass(frozen=True)
class Stage:
    """`plans` says that it is told how many to plan for each source prompt, and of which source; `by_method`,
    by which method the rubrics are made; `mines`, within which bounds; `judges`, how responses are read."""

    name: str
    label: str
    description: str
    start: Callable[..., Run]
    needs_endpoint: bool = True
    plans: bool = False
    by_method: bool = False
    mines: bool = False
    judges: bool = False


STAGES: dict[str, Stage] = {
    stage.name: stage
    for stage in (
        Stage(
            "reconstruct",
            "Reconstruct",
            "Plans reconstructions of the source prompts by both strategies and writes the planned ones.",
            start_reconstruction,
            plans=True,
        ),
        Stage(
            "filter",
            "Filter and screen",
            "Discards degenerate repetition and overlap with the benchmarks; the rest goes to review.",
            start_filtering,
            needs_endpoint=False,
        ),
        Stage(
            "mine",
            "Mine rubrics",
            "Makes a rubric by one method for every accepted prompt that has none of it by the endpoint.",
            start_mining,
            by_method=True,
            mines=True,
        ),
        Stage(
            "write",
            "Write candidates",
            "Writes five responses to each request with its rubric.",
            start_writing,
            by_method=True,
        ),
        Stage(
            "assess",
            "Assess candidates",
            "Has the endpoint judge every candidate that it has not read yet against its rubric.",
            start_assessing,
            judges=True,
        ),
        Stage(
            "select",
            "Select demonstrations",
            "Keeps the best candidate of each prompt.",
            start_selecting,
            needs_endpoint=False,
        ),
    )
}


def start_stage(
    *,
    stage: str,
    endpoint: Endpoint | None,
    limit: int | None,
    user: User | None,
    per_source: int = 1,
    seed: int = 0,
    source: Source | None = None,
    method: str = Rubric.Method.IRG,
    bounds: AcceptanceBounds = PAPER_BOUNDS,
    policy: str = Assessment.Policy.PAPER,
    samples: int = 1,
    max_calls: int | None = None,
    max_tokens: int | None = None,
    pilot_items: int | None = None,
) -> Run:
    """Queues everything that waits for a stage; `per_source`, `seed` and `source` are for one that plans,
    `method` for one that makes or reads rubrics, `bounds` for one that mines, `policy` and `samples` for one
    that judges. `max_calls`, `max_tokens` and `pilot_items` are when a run that asks a model pauses.

    Raises ValueError when a needed endpoint is missing.
    """
    chosen = STAGES[stage]
    given: dict[str, Any] = {"limit": limit, "user": user}
    if chosen.plans:
        given |= {"per_source": per_source, "seed": seed, "source": source}
    if chosen.by_method:
        given["method"] = method
    if chosen.mines:
        given["bounds"] = bounds
    if chosen.judges:
        given |= {"policy": policy, "samples": samples}
    if chosen.needs_endpoint:
        if endpoint is None:
            raise ValueError(f"{chosen.label} needs an endpoint")
        given["endpoint"] = endpoint
    with transaction.atomic():  # workers are told after the commit, of a run with its limits
        run = chosen.start(**given)
        if chosen.needs_endpoint:
            limit_run(run_id=run.pk, max_calls=max_calls, max_tokens=max_tokens, pilot_items=pilot_items)
    return run
