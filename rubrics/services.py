"""Starting the work on rubrics."""

from __future__ import annotations

from collections.abc import Collection

from django.contrib.auth.models import User

from curation.models import CorpusPrompt
from curation.services import made_from
from llm.models import Endpoint, Run
from llm.services import start_run
from rubrics.models import Rubric


def start_mining(
    *,
    endpoint: Endpoint,
    limit: int | None = None,
    among: Collection[int] | None = None,
    user: User | None = None,
) -> Run:
    """Queues usable prompts (those made from the source prompts `among`) that have no IRG rubric yet."""
    waiting = CorpusPrompt.objects.filter(excluded_because="").exclude(rubrics__method=Rubric.Method.IRG)
    waiting = made_from(among, waiting, "reconstruction__source_prompt")
    return start_run(
        kind="mine",
        subject_ids=waiting.order_by("pk").values_list("pk", flat=True)[:limit],
        endpoint=endpoint,
        parameters={"method": Rubric.Method.IRG, "limit": limit},
        user=user,
    )
