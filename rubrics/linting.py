"""Keeping findings with the rubrics that they are about."""

from __future__ import annotations

from dataclasses import dataclass

from rubrics.lint import LINT_VERSION, findings_as_json, lint_rubric
from rubrics.models import Rubric
from rubrics.rubric import Rubric as RubricValue

BATCH = 200


@dataclass(slots=True)
class LintReport:
    """Rubrics that were looked at, and those among them whose findings are others now."""

    read: int = 0
    changed: int = 0


def lint_again() -> LintReport:
    """Looks at every rubric whose `lint_version` is not today's, a batch at a time."""
    report = LintReport()
    waiting = Rubric.objects.exclude(lint_version=LINT_VERSION).select_related("prompt").order_by("pk")
    while rows := list(waiting[:BATCH]):
        for row in rows:
            findings = findings_as_json(
                lint_rubric(RubricValue.from_json(row.dimensions), row.prompt.text, row.prompt.language)
            )
            report.read += 1
            report.changed += findings != row.lint
            row.lint, row.lint_version = findings, LINT_VERSION
        Rubric.objects.bulk_update(rows, ["lint", "lint_version"])
    return report
