"""Reads of corpus prompts, candidates and snapshots."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Exists, OuterRef, QuerySet

from curation.models import CorpusPrompt
from llm.listing import Filter, Search, equals, narrow_by
from rubrics.models import Rubric
from training.models import Candidate, CorpusSnapshot
from training.readings import with_readings

LISTED_LEFT_OUT = 200
"""Left-out prompts that a snapshot's page lists; the manifest has them all."""


@dataclass(frozen=True, slots=True)
class CandidateScore:
    """One assessed dimension of a candidate, `share` its score over its maximum."""

    name: str
    score: float
    maximum: float
    comment: str
    share: float


def _has_rubric() -> Exists:
    return Exists(Rubric.objects.filter(prompt=OuterRef("pk")))


def _has_demonstration() -> Exists:
    return Exists(Candidate.objects.filter(prompt=OuterRef("pk"), demonstration=True))


def language_choices() -> list[tuple[str, str]]:
    codes = CorpusPrompt.objects.order_by("language").values_list("language", flat=True).distinct()
    return [(code, code) for code in codes if code]


def corpus_prompts() -> QuerySet[CorpusPrompt]:
    return CorpusPrompt.objects.annotate(has_rubric=_has_rubric(), has_demonstration=_has_demonstration())


def corpus_prompt_filters() -> tuple[Filter, ...]:
    return (
        narrow_by(
            "excluded",
            "Exclusion",
            [
                ("yes", "excluded", lambda rows: rows.exclude(excluded_because="")),
                ("no", "not excluded", lambda rows: rows.filter(excluded_because="")),
            ],
        ),
        narrow_by(
            "acceptance",
            "Acceptance",
            [
                ("standing", "standing", lambda rows: rows.filter(withdrawn_at=None)),
                ("withdrawn", "withdrawn", lambda rows: rows.exclude(withdrawn_at=None)),
            ],
        ),
        narrow_by(
            "rubric",
            "Rubric",
            [
                ("yes", "with a rubric", lambda rows: rows.filter(has_rubric=True)),
                ("no", "without a rubric", lambda rows: rows.filter(has_rubric=False)),
            ],
        ),
        narrow_by(
            "demonstration",
            "Demonstration",
            [
                ("yes", "with a demonstration", lambda rows: rows.filter(has_demonstration=True)),
                ("no", "without a demonstration", lambda rows: rows.filter(has_demonstration=False)),
            ],
        ),
        equals("language", "Language", language_choices()),
    )


TEXT_SEARCH = Search(lambda rows, query: rows.filter(text__icontains=query))


def candidates() -> QuerySet[Candidate]:
    """Candidates with the readings that their reward comes of."""
    return with_readings(Candidate.objects.select_related("prompt")).order_by("pk")


def candidate_filters() -> tuple[Filter, ...]:
    return (
        narrow_by(
            "kind",
            "Selection",
            [
                ("demonstration", "demonstrations", lambda rows: rows.filter(demonstration=True)),
                ("by-hand", "chosen by hand", lambda rows: rows.exclude(overruled_at=None)),
                ("other", "not selected", lambda rows: rows.filter(demonstration=False)),
            ],
        ),
        narrow_by(
            "assessment",
            "Assessment",
            [
                (
                    "assessed",
                    "read by a judge",
                    lambda rows: rows.filter(assessment__fallback=False, assessment__value__isnull=False),
                ),
                ("fallback", "fallback value", lambda rows: rows.filter(assessment__fallback=True)),
                (
                    "failed",
                    "no usable reply",
                    lambda rows: rows.filter(assessment__isnull=False, assessment__value=None),
                ),
                ("any", "asked about", lambda rows: rows.filter(assessment__isnull=False)),
                ("none", "not assessed yet", lambda rows: rows.filter(assessment__isnull=True)),
            ],
        ),
        narrow_by(
            "cut",
            "Ending",
            [
                ("yes", "cut at the token limit", lambda rows: rows.filter(cut=True)),
                ("no", "complete", lambda rows: rows.filter(cut=False)),
            ],
        ),
        equals("language", "Language", language_choices(), lookup="prompt__language"),
    )


def candidate_scores(candidate: Candidate) -> list[CandidateScore]:
    """The judge's items as stored; none for an unassessed candidate."""
    if candidate.assessment is None:
        return []
    return [
        CandidateScore(
            str(each["name"]),
            float(each["score"]),
            float(each["maximum"] or 0),
            str(each.get("comment", "")),
            float(each["score"]) / float(each["maximum"]) if each["maximum"] else 0.0,
        )
        for each in candidate.assessment.items
    ]


def snapshot_rows() -> QuerySet[CorpusSnapshot]:
    return CorpusSnapshot.objects.select_related("created_by", "run")
