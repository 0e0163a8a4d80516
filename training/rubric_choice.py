"""Which of a prompt's rubrics is meant, where only one can be: a prompt may have several.

A line is the first version of a rubric and those that people made of it, whatever their method. A choice
names the method of the first version; of several lines the oldest one is taken, or that of one constructor.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.db.models.functions import Coalesce

from rubrics.models import Rubric

DEFAULT_METHOD = str(Rubric.Method.IRG.value)


@dataclass(frozen=True, slots=True)
class RubricChoice:
    """`constructor` '' takes any. With `revisions` the newest version stands for its line, else the first.
    `max_lint_findings` None takes any number; `excluded_checks` are names of lint checks of which a rubric
    may have no finding."""

    method: str = DEFAULT_METHOD
    constructor: str = ""
    revisions: bool = True
    max_lint_findings: int | None = None
    excluded_checks: tuple[str, ...] = field(default=())

    @classmethod
    def of(cls, parameters: Mapping[str, Any]) -> RubricChoice:
        """The choice in a snapshot's parameters. Snapshots of old name none: theirs is the default one."""
        given = parameters.get("rubrics", {})
        return cls(
            method=given.get("method", DEFAULT_METHOD),
            constructor=given.get("constructor", ""),
            revisions=given.get("revisions", True),
            max_lint_findings=given.get("max_lint_findings"),
            excluded_checks=tuple(given.get("excluded_checks", ())),
        )

    def as_parameters(self) -> dict[str, Any]:
        return {**asdict(self), "excluded_checks": list(self.excluded_checks)}

    @property
    def filters_lint(self) -> bool:
        return self.max_lint_findings is not None or bool(self.excluded_checks)

    def objection(self, rubric: Rubric) -> str:
        """Why lint keeps this rubric out; '' when it does not. One that lint has not read is let through."""
        if not self.filters_lint or not rubric.lint_version:
            return ""
        checks = [str(finding.get("check", "")) for finding in rubric.lint]
        if found := sorted(set(checks) & set(self.excluded_checks)):
            return f"its rubric has lint findings: {', '.join(found)}"
        if self.max_lint_findings is not None and len(checks) > self.max_lint_findings:
            return f"its rubric has more than {self.max_lint_findings} lint findings"
        return ""


DEFAULT_CHOICE = RubricChoice()


def newest_versions(method: str, *, constructor: str = "") -> QuerySet[Rubric]:
    """The newest version of each line whose first version is of a method (and by a constructor)."""
    later = Rubric.objects.filter(
        root=Coalesce(OuterRef("root"), OuterRef("pk")), version__gt=OuterRef("version")
    )
    return lines(method, constructor=constructor).exclude(Exists(later))


def lines(method: str, *, constructor: str = "") -> QuerySet[Rubric]:
    """All versions of the lines whose first version is of a method (and by a constructor)."""
    first = Q(root=None, method=method) | Q(root__method=method)
    if constructor:
        first &= Q(root=None, constructor=constructor) | Q(root__constructor=constructor)
    return Rubric.objects.filter(first)


def chosen_rubrics(choice: RubricChoice, prompts: Collection[Any] | None = None) -> QuerySet[Rubric]:
    """One rubric a line, in the order of the lines; of a prompt's lines the first is the one meant."""
    if choice.revisions:
        rows = newest_versions(choice.method, constructor=choice.constructor)
    else:
        rows = lines(choice.method, constructor=choice.constructor).filter(version=1)
    if prompts is not None:
        rows = rows.filter(prompt__in=prompts)
    return rows.annotate(line=Coalesce(F("root"), F("pk"))).order_by("line")


def one_per_prompt(choice: RubricChoice, prompts: Sequence[Any]) -> dict[int, Rubric]:
    """By prompt the rubric that the choice means, before lint is asked."""
    found: dict[int, Rubric] = {}
    for row in chosen_rubrics(choice, prompts):
        found.setdefault(row.prompt_id, row)
    return found
