"""Judges with what they could not read: how often a server gave nothing, and what a run came to in words."""

from __future__ import annotations

from dataclasses import dataclass

from django.conf import settings
from django.db.models import Count, Exists, OuterRef, Q
from django.db.models.fields.json import KeyTextTransform

from llm.models import Run, RunItem
from rubrics.judges import JudgeRow, JudgesReport, judges_report
from rubrics.models import Assessment
from rubrics.readings import INCOMPLETE_SHARE, incomplete
from training.models import Candidate

Silent = dict[tuple[int | None, str], int]


@dataclass(frozen=True, slots=True)
class JudgeLine:
    """A judge, with `unanswered`: candidates that its endpoint was asked about without an answer. They
    have no score at all."""

    row: JudgeRow
    unanswered: int

    @property
    def left_out(self) -> int:
        """What is in no mean: fallbacks, failures, and what was not answered."""
        return self.row.fallbacks + self.row.failures + self.unanswered

    @property
    def incomplete(self) -> bool:
        return incomplete(self.left_out, self.row.readings + self.unanswered, failure_share())

    @property
    def fallback_share(self) -> float | None:
        return self.row.fallbacks / self.row.readings if self.row.readings else None


@dataclass(frozen=True, slots=True)
class JudgesPage:
    """`silent` are endpoints that were asked and have given nothing at all: (name, policy, candidates)."""

    report: JudgesReport
    lines: tuple[JudgeLine, ...]
    silent: tuple[tuple[str, str, int], ...]


def failure_share() -> float:
    """JUDGING_FAILURE_SHARE: with more failures than this share a judge's readings are called incomplete."""
    return float(getattr(settings, "JUDGING_FAILURE_SHARE", INCOMPLETE_SHARE))


def judges_page(policy: str = "") -> JudgesPage:
    report, unanswered = judges_report(policy), _unanswered()
    lines = tuple(
        JudgeLine(row, unanswered.get((row.judge.endpoint, row.judge.policy), 0)) for row in report.judges
    )
    known = {(row.judge.endpoint, row.judge.policy) for row in report.judges}
    names = dict(Run.objects.filter(kind="assess").values_list("endpoint", "endpoint__name"))
    silent = tuple(
        (names.get(endpoint or 0, ""), by, count)
        for (endpoint, by), count in unanswered.items()
        if (endpoint, by) not in known and policy in ("", by)
    )
    return JudgesPage(report, lines, silent)


def _unanswered() -> Silent:
    """Candidates that were not read for want of an answer, nor since, by endpoint and policy."""
    read = Candidate.assessments.through.objects.filter(
        candidate=OuterRef("subject_id"),
        assessment__endpoint=OuterRef("run__endpoint"),
        assessment__policy=OuterRef("policy"),
    )
    failed = RunItem.objects.filter(run__kind="assess", state=RunItem.State.FAILED)
    failed = (
        failed.annotate(policy=KeyTextTransform("policy", "run__parameters")).exclude(Exists(read)).order_by()
    )
    rows = failed.values_list("run__endpoint", "policy").annotate(Count("subject_id", distinct=True))
    return {(endpoint, policy or Assessment.Policy.PAPER): count for endpoint, policy, count in rows}


def run_summary(run: Run) -> str:
    """What an assessment run came to, in a sentence that says when it is incomplete."""
    policy = run.parameters.get("policy", Assessment.Policy.PAPER)
    counts = Candidate.assessments.through.objects.filter(
        candidate__in=run.items.values("subject_id"),
        assessment__endpoint=run.endpoint,
        assessment__policy=policy,
    ).aggregate(
        fallbacks=Count("pk", filter=Q(assessment__fallback=True)),
        failures=Count("pk", filter=Q(assessment__value=None)),
        all=Count("pk"),
    )
    unanswered = run.items.filter(state=RunItem.State.FAILED).count()
    left_out = counts["fallbacks"] + counts["failures"] + unanswered
    said = (
        f"Readings: {counts['all'] - counts['fallbacks'] - counts['failures']} with a value, "
        f"{counts['fallbacks']} fallback, {counts['failures']} without a usable reply; "
        f"{unanswered} candidates not answered."
    )
    share = failure_share()
    if incomplete(left_out, counts["all"] + unanswered, share):
        said += f" INCOMPLETE: more than {share:.0%} failed, and what failed is in no mean."
    return said
