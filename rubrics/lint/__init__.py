"""What code notices about a rubric, without asking a model. Pure.

    rubric, request ─┬─► overlap: two dimensions speak of the same
                     ├─► progress: a level says what a lower one says
                     ├─► vague: levels name nothing to look for
                     ├─► constraint: a demand of the request that no dimension covers
                     ├─► specific: a dimension would suit any request
                     └─► maxima: weights that nobody chose

A finding is for a person and changes nothing. All limits are ours; they are set so that a careful rubric
gets few.
"""

from __future__ import annotations

from rubrics.lint.constraints import uncovered
from rubrics.lint.findings import (
    CHECK_LABELS,
    Check,
    Finding,
    Subject,
    findings_as_json,
    findings_from_json,
)
from rubrics.lint.maxima import uneven_maxima
from rubrics.lint.overlap import overlapping
from rubrics.lint.progress import not_progressing
from rubrics.lint.specific import not_specific
from rubrics.lint.vague import vague
from rubrics.rubric import Rubric

__all__ = [
    "CHECK_LABELS",
    "LINT_VERSION",
    "Check",
    "Finding",
    "findings_as_json",
    "findings_from_json",
    "lint_rubric",
]

LINT_VERSION = 2
"""Raised with every change of what is found, so that stored findings can be made again."""

_CHECKS = (overlapping, not_progressing, vague, uncovered, not_specific, uneven_maxima)


def lint_rubric(rubric: Rubric, request: str, language: str = "") -> list[Finding]:
    """Everything noticed, check by check, within a check in the rubric's order."""
    subject = Subject(rubric, request, language)
    return [finding for check in _CHECKS for finding in check(subject)]
