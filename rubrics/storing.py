"""Keeping what a mining run made: the rubric and the way to it."""

from __future__ import annotations

from dataclasses import asdict

from curation.models import CorpusPrompt
from llm.models import Completion, Endpoint, Run
from rubrics.construction import MiningTrace as Trace
from rubrics.lint import LINT_VERSION, findings_as_json, lint_rubric
from rubrics.models import MiningTrace, Rubric
from rubrics.rubric import Rubric as RubricValue


def store_rubric(
    *,
    prompt_id: int,
    method: str,
    rubric: RubricValue,
    trace: Trace,
    endpoint: Endpoint | None,
    run: Run | None = None,
) -> Rubric | None:
    """Writes the rubric that a model made of a prompt, with its trace; again, it writes nothing.

    The constructor is the model as its server named it, and the templates are those of the calls. A prompt
    has one rubric of a method and a constructor: when another endpoint that serves the same model made it
    first, only the trace is kept, which says so, and None is returned.
    """
    calls = _calls(trace.completion_keys)
    constructor = calls[trace.completion_keys[0]][0]
    same = Rubric.objects.filter(prompt=prompt_id, method=method, constructor=constructor, version=1)
    if earlier := same.first():
        if earlier.endpoint_id in (None, endpoint.pk if endpoint else None):
            return earlier
        known = f"rubric {earlier.pk} of the same model stands already, made through another endpoint"
        store_trace(prompt_id=prompt_id, trace=trace, run=run, failure=known)
        return None
    prompt = CorpusPrompt.objects.only("text", "language").get(pk=prompt_id)
    row = Rubric.objects.create(
        prompt_id=prompt_id,
        method=method,
        constructor=constructor,
        endpoint=endpoint,
        templates=list(dict.fromkeys(template for _, template in calls.values())),
        dimensions=rubric.to_json(),
        digest=rubric.digest,
        lint=findings_as_json(lint_rubric(rubric, prompt.text, prompt.language)),
        lint_version=LINT_VERSION,
    )
    store_trace(prompt_id=prompt_id, trace=trace, run=run, rubric=row)
    return row


def store_trace(
    *, prompt_id: int, trace: Trace, run: Run | None, rubric: Rubric | None = None, failure: str = ""
) -> MiningTrace:
    """Keeps what one attempt went through, with every reply that it read."""
    row = MiningTrace.objects.create(
        prompt_id=prompt_id,
        run=run,
        rubric=rubric,
        failure=failure,
        discovered=[asdict(dimension) for dimension in trace.discovered],
        consolidated=[asdict(dimension) for dimension in trace.consolidated],
        specifications=[asdict(specification) for specification in trace.specifications],
    )
    row.completions.set(Completion.objects.filter(pk__in=trace.completion_keys))
    return row


def _calls(keys: tuple[str, ...]) -> dict[str, tuple[str, str]]:
    """Key -> resolved model and template, in the order of the keys."""
    rows = Completion.objects.filter(pk__in=keys).values_list("pk", "resolved_model", "template")
    found = {key: (model, template) for key, model, template in rows}
    return {key: found[key] for key in keys}
