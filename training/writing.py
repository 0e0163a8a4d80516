"""The question that a writer model is asked: request and rubric, nothing else (paper A.1). Pure."""

from __future__ import annotations

from llm.forms import bounded_text
from llm.prompts import load_template
from llm.types import ChatRequest, SamplingParams, Structure
from rubrics.rubric import Rubric

CANDIDATE_STRUCTURE = Structure(bounded_text(120, 300))
"""Length in characters that a small model under constrained decoding keeps to; ours."""


def candidate_request(
    request_text: str, rubric: Rubric, sample_index: int, sampling: SamplingParams
) -> ChatRequest:
    """The request for one candidate; `sample_index` (from 0) tells the candidates of a prompt apart."""
    template = load_template("training", "writer", 1)
    return ChatRequest(
        messages=template.render(request=request_text, rubric=rubric.serialize()),
        template=template.identity,
        sampling=sampling,
        structure=CANDIDATE_STRUCTURE,
        sample_index=sample_index,
    )
