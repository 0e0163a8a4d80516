"""The stages of the method that work on model replies or rows, by name, in their order.

reconstruct ─► filter ─► (review by people) ─► mine ─► write ─► assess ─► select ─► (export)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from django.contrib.auth.models import User

from curation.services import start_filtering, start_reconstruction
from llm.models import Endpoint, Run
from rubrics.services import start_mining
from training.services import start_assessing, start_selecting, start_writing


@dataclass(frozen=True)
class Stage:
    name: str
    label: str
    description: str
    start: Callable[..., Run]
    needs_endpoint: bool = True


STAGES: dict[str, Stage] = {
    stage.name: stage
    for stage in (
        Stage(
            "reconstruct",
            "Reconstruct",
            "Plans reconstructions of the source prompts by both strategies and writes the planned ones.",
            start_reconstruction,
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
            "Mines a rubric for every accepted prompt without one (IRG).",
            start_mining,
        ),
        Stage(
            "write",
            "Write candidates",
            "Writes five responses to each request with its rubric.",
            start_writing,
        ),
        Stage("assess", "Assess candidates", "Judges every candidate against its rubric.", start_assessing),
        Stage(
            "select",
            "Select demonstrations",
            "Keeps the best candidate of each prompt.",
            start_selecting,
            needs_endpoint=False,
        ),
    )
}


def start_stage(*, stage: str, endpoint: Endpoint | None, limit: int | None, user: User | None) -> Run:
    """Queues everything that waits for a stage. Raises ValueError when a needed endpoint is missing."""
    chosen = STAGES[stage]
    if not chosen.needs_endpoint:
        return chosen.start(limit=limit, user=user)
    if endpoint is None:
        raise ValueError(f"{chosen.label} needs an endpoint")
    return chosen.start(endpoint=endpoint, limit=limit, user=user)
