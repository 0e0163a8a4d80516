"""Starting the work on rubrics."""

from __future__ import annotations

from django.contrib.auth.models import User

from curation.models import CorpusPrompt
from llm.models import Endpoint, Run
from llm.services import start_run
from rubrics.models import Rubric


def start_mining(*, endpoint: Endpoint, limit: int | None = None, user: User | None = None) -> Run:
    """Queues every usable prompt that has no IRG rubric yet."""
    waiting = CorpusPrompt.objects.filter(excluded_because="").exclude(rubrics__method=Rubric.Method.IRG)
    return start_run(
        kind="mine",
        subject_ids=waiting.order_by("pk").values_list("pk", flat=True)[:limit],
        endpoint=endpoint,
        parameters={"method": Rubric.Method.IRG, "limit": limit},
        user=user,
    )
