"""What a check says of a rubric. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any

from rubrics.lint.terms import content_terms
from rubrics.rubric import Rubric, RubricDimension


class Check(StrEnum):
    """The name of a check, as it is stored and filtered by."""

    OVERLAP = "overlap"
    PROGRESS = "progress"
    VAGUE = "vague"
    CONSTRAINT = "constraint"
    SPECIFIC = "specific"
    MAXIMA = "maxima"


CHECK_LABELS: Mapping[Check, str] = {
    Check.OVERLAP: "dimensions that overlap",
    Check.PROGRESS: "levels that do not progress",
    Check.VAGUE: "levels without anything to observe",
    Check.CONSTRAINT: "a demand of the request that nothing covers",
    Check.SPECIFIC: "dimensions that would suit any request",
    Check.MAXIMA: "maxima that shift the weights",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One remark for a person; it changes nothing by itself.

    `dimension` is the place of the dimension that it is about, counted from 0, None for the whole rubric;
    `level` is the label of one of its levels, '' for all. `evidence` is what it rests on, in the rubric's
    or the request's own words.
    """

    check: Check
    message: str
    dimension: int | None = None
    level: str = ""
    evidence: str = ""


@dataclass(frozen=True)
class Subject:
    """A rubric beside the request that it is for. `language` is the request's, as ISO 639-1 or ''."""

    rubric: Rubric
    request: str
    language: str = ""
    _terms: dict[int, frozenset[str]] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def request_terms(self) -> frozenset[str]:
        return content_terms(self.request)

    @property
    def dimensions(self) -> tuple[RubricDimension, ...]:
        return self.rubric.dimensions

    def dimension_terms(self, place: int) -> frozenset[str]:
        """The content terms of a dimension's name and scope."""
        if place not in self._terms:
            one = self.dimensions[place]
            self._terms[place] = content_terms(f"{one.name.replace('_', ' ')}\n{one.criteria_description}")
        return self._terms[place]

    @cached_property
    def text(self) -> str:
        """All that the rubric says."""
        parts: list[str] = []
        for one in self.dimensions:
            parts += [one.name.replace("_", " "), one.criteria_description]
            parts += [level.description for level in one.levels]
        return "\n".join(parts)

    @cached_property
    def text_terms(self) -> frozenset[str]:
        return content_terms(self.text)


def findings_as_json(findings: Iterable[Finding]) -> list[dict[str, Any]]:
    return [{**asdict(finding), "check": finding.check.value} for finding in findings]


def findings_from_json(stored: Iterable[Mapping[str, Any]]) -> list[Finding]:
    return [Finding(**{**each, "check": Check(each["check"])}) for each in stored]
