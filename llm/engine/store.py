"""Reading and writing stored calls in batches."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence

from django.db import transaction
from django.db.models import F

from llm.engine.chat import NewCall
from llm.engine.limits import Spent
from llm.models import Completion, Endpoint, Run
from llm.sql import fetch
from llm.types import ChatRequest
from llm.types import Completion as CompletionValue


def find_calls(keys: Sequence[str]) -> Mapping[str, CompletionValue]:
    """The stored calls among the keys."""
    rows = Completion.objects.filter(key__in=keys).only(
        "key", "text", "finish_reason", "resolved_model", "prompt_tokens", "completion_tokens", "latency_ms"
    )
    return {row.key: row.value() for row in rows}


def spent_by(run_id: int) -> Spent:
    """What a run has cost by now, by all its workers."""
    fields = ("calls", "prompt_tokens", "completion_tokens")
    calls, read, written = Run.objects.values_list(*fields).get(pk=run_id)
    return Spent(calls, read + written)


def store_calls(run_id: int, endpoint: Endpoint, calls: Sequence[NewCall]) -> Sequence[CompletionValue]:
    """Stores answered calls and counts them on the run; safe to repeat.

    Where another worker stored an answer to the same question first, that answer is the one returned:
    two rows never tell two stories about one key.
    """
    rows = {call.key: _row(call, run_id, endpoint) for call in calls}
    with transaction.atomic():
        inserted = _insert(list(rows.values()))
        new = [rows[key] for key in inserted]
        Run.objects.filter(pk=run_id).update(
            calls=F("calls") + len(new),
            prompt_tokens=F("prompt_tokens") + sum(row.prompt_tokens for row in new),
            completion_tokens=F("completion_tokens") + sum(row.completion_tokens for row in new),
        )
        values = {row.key: row.value() for row in new}
        if len(values) < len(rows):
            values.update(find_calls([key for key in rows if key not in values]))
    return [values[call.key] for call in calls]


_TYPES = {
    "key": "text", "endpoint_id": "int8", "run_id": "int8", "template": "text", "request": "text",
    "model": "text", "resolved_model": "text", "text": "text", "finish_reason": "text",
    "prompt_tokens": "int4", "completion_tokens": "int4", "latency_ms": "int4",
}  # fmt: skip
_INSERT = f"""
    INSERT INTO llm_completion ({", ".join(_TYPES)}, created_at)
    SELECT {", ".join("request::jsonb" if name == "request" else name for name in _TYPES)}, now()
    FROM unnest({", ".join(f"%({name})b::{kind}[]" for name, kind in _TYPES.items())})
        AS new ({", ".join(_TYPES)})
    ON CONFLICT (key) DO NOTHING RETURNING key
"""  # noqa: S608


def _insert(rows: Sequence[Completion]) -> list[str]:
    """Inserts the rows whose key is new and returns those keys, which Django's bulk_create cannot tell.

    As arrays: rows of ten thousand characters each are not quoted into one long statement.
    """
    columns: dict[str, list[object]] = {name: [getattr(row, name) for row in rows] for name in _TYPES}
    columns["request"] = [json.dumps(request, ensure_ascii=False) for request in columns["request"]]
    return [key for (key,) in fetch(_INSERT, columns)]


def _row(call: NewCall, run_id: int, endpoint: Endpoint) -> Completion:
    return Completion(
        key=call.key,
        endpoint=endpoint,
        run_id=run_id,
        template=call.request.template,
        request={**request_as_json(call.request), "extra_body": endpoint.extra_body},
        model=endpoint.model,
        resolved_model=call.reply.resolved_model,
        text=call.reply.text,
        finish_reason=call.reply.finish_reason,
        prompt_tokens=call.reply.prompt_tokens,
        completion_tokens=call.reply.completion_tokens,
        latency_ms=call.reply.latency_ms,
    )


def request_as_json(request: ChatRequest) -> dict[str, object]:
    """What was asked, in full, for provenance and replay."""
    return {
        "messages": [{"role": m.role, "content": m.content} for m in request.messages],
        "sampling": {k: v for k, v in dataclasses.asdict(request.sampling).items() if v is not None},
        "structure": request.structure.regex if request.structure else None,
        "sample_index": request.sample_index,
        "attempt": request.attempt,
    }
