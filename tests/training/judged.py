"""Steps run in the test's own process and transaction, with a scripted judge whose calls are stored."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from django.db import transaction

from llm.engine.steps import build_step
from llm.models import Completion, Endpoint, Run
from llm.types import ChatRequest, ModelError
from rubrics.rubric import Rubric
from tests.samples import endpoint as sample_endpoint
from tests.scripted import Replies, ScriptedChat


def judge_chat(reply: Replies) -> ScriptedChat:
    """A judge that answers every question in one way, whatever the language of the template."""
    return ScriptedChat([(lambda request: request.template.startswith("assessment"), reply)])


def verdict_on(rubric: Rubric, share: float) -> str:
    """A reply that gives each dimension this share of its maximum."""
    return "\n\n".join(
        f"name: {each.name}\nscore: {round(share * each.maximum)}/{each.maximum}\n"
        "comments and suggestions: Plain; say more."
        for each in rubric.dimensions
    )


def run_step(run: Run, chat: ScriptedChat) -> dict[int, str]:
    """Works on all items of a run as a worker would; what failed, by subject, with its message."""
    step = build_step(run)
    subjects = step.load(list(run.items.values_list("subject_id", flat=True)))
    results, failures = asyncio.run(_execute(step, subjects, chat))
    endpoint = run.endpoint or sample_endpoint()
    for request in chat.requests:
        _store(request, chat, endpoint)
    with transaction.atomic():
        step.store(results)
        step.store_failures(failures)
    run.items.filter(subject_id__in=[pk for pk, _ in results]).update(state="done")
    for pk, error in failures:
        run.items.filter(subject_id=pk).update(
            state="failed", error_kind=error.kind, error_message=str(error)
        )
    Run.objects.filter(pk=run.pk).update(state="done")
    return {pk: str(error) for pk, error in failures}


async def _execute(
    step: Any, subjects: dict[int, Any], chat: ScriptedChat
) -> tuple[list[tuple[int, Any]], list[tuple[int, ModelError]]]:
    results: list[tuple[int, Any]] = []
    failures: list[tuple[int, ModelError]] = []
    for pk, subject in subjects.items():
        try:
            results.append((pk, await step.execute(subject, chat)))
        except ModelError as error:
            failures.append((pk, error))
    return results, failures


def _store(request: ChatRequest, chat: ScriptedChat, endpoint: Endpoint) -> None:
    Completion.objects.get_or_create(
        key=request.key("scripted-model"),
        defaults={
            "endpoint": endpoint,
            "template": request.template,
            "request": {"messages": [], "sampling": {}, "sample_index": request.sample_index, "attempt": 0},
            "model": "scripted-model",
            "resolved_model": "scripted-model",
            "text": "",
            "finish_reason": "stop",
            "prompt_tokens": 1,
            "completion_tokens": 1,
            "latency_ms": 1,
        },
    )


def question(request: ChatRequest) -> str:
    return "\n".join(message.content for message in request.messages)


def values_of(candidates: Sequence[Any]) -> list[list[float | None]]:
    return [
        [row.value for row in each.assessments.order_by("endpoint", "sample_index")] for each in candidates
    ]
