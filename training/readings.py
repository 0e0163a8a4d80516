"""The readings of candidates as rows: whose they are, what they come to, and whose word selects.

`rubrics.readings` decides; this module turns rows into its values and back.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from django.db.models import Prefetch, QuerySet

from rubrics.models import Assessment
from rubrics.readings import Judge, Reading, Summary, by_judge, selecting_judge, summarise
from training.models import Candidate
from training.selection import ScoredCandidate


def with_readings(rows: QuerySet[Candidate]) -> QuerySet[Candidate]:
    """The rows with what this module reads of them, in two further queries, without the judges' comments."""
    lean = Assessment.objects.defer("items", "missing", "unknown")
    return rows.prefetch_related(Prefetch("assessments", lean), Prefetch("assessment", lean))


def reading(row: Assessment) -> Reading:
    return Reading(row.pk, judge_of(row), row.sample_index, row.value, row.fallback)


def judge_of(row: Assessment) -> Judge:
    return Judge(row.endpoint_id, row.judge, row.policy)


def assessments_of(candidate: Candidate) -> list[Assessment]:
    """Every reading of a candidate, the oldest first; fetch `assessments` and `assessment` beforehand."""
    rows = {row.pk: row for row in candidate.assessments.all()}
    if candidate.assessment is not None:
        rows.setdefault(candidate.assessment.pk, candidate.assessment)
    return [rows[pk] for pk in sorted(rows)]


def readings_of(candidate: Candidate) -> list[Reading]:
    return [reading(row) for row in assessments_of(candidate)]


def own_summary(candidate: Candidate) -> Summary | None:
    """What the readings of the selecting judge come to; None for a candidate that it has not read."""
    if candidate.assessment is None:
        return None
    judge = judge_of(candidate.assessment)
    return summarise(one for one in readings_of(candidate) if one.judge == judge)


def scored(candidates: Sequence[Candidate]) -> list[ScoredCandidate]:
    """A rubric's candidates as selection looks at them: each with the mean of the one judge's readings."""
    judge = selecting_judge(readings_of(candidate) for candidate in candidates)
    return [_scored(candidate, judge) for candidate in candidates]


def _scored(candidate: Candidate, judge: Judge | None) -> ScoredCandidate:
    found = summarise(one for one in readings_of(candidate) if one.judge == judge)
    return ScoredCandidate(
        index=candidate.index,
        value=found.value,
        fallback=found.is_fallback,
        cut=candidate.cut,
        empty=not candidate.text.strip(),
        readings=found.n,
        failed=found.value is None and found.failures > 0,
    )


def first_readings(candidates: Sequence[Candidate]) -> dict[int, int | None]:
    """Of each candidate of one rubric the first reading by the judge that selects, one with a value before
    one without: what `Candidate.assessment` is to be."""
    judge = selecting_judge(readings_of(candidate) for candidate in candidates)
    return {candidate.pk: _first(readings_of(candidate), judge) for candidate in candidates}


def _first(readings: Iterable[Reading], judge: Judge | None) -> int | None:
    own = by_judge(readings).get(judge, []) if judge else []
    return next((one.number for one in sorted(own, key=lambda one: (one.value is None, one.sample))), None)
