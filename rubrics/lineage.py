"""The rubrics that were mined for corpus prompts, and what was read with them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from curation.lineage import Touched, register
from llm.listing import count_of
from rubrics.models import Assessment, Rubric


def rubrics_of(corpus_prompt_ids: Sequence[int]) -> Iterator[Touched]:
    """Each rubric of these corpus prompts, with the number of assessments made with it."""
    rubrics = Rubric.objects.filter(prompt__in=corpus_prompt_ids).defer("dimensions")
    for rubric in rubrics.annotate(assessment_count=count_of(Assessment.objects.all(), "rubric")):
        count = rubric.assessment_count
        note = f"{count:,} {'assessment' if count == 1 else 'assessments'} made with it" if count else ""
        yield Touched("rubric", f"Rubric {rubric.pk}", "rubric", rubric.pk, note)


register("Rubrics", rubrics_of)
