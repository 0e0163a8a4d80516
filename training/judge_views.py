"""The judges, how far they agree, and whether they can be moved."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_safe

from llm.access import Role, role_required
from llm.web import PageRequest, render_page
from rubrics.bias import LEAST_PAIRS, TOLERANCE
from rubrics.models import Assessment
from training.bias_checks import bias_report, bias_runs
from training.judge_plots import histogram, shift_rows
from training.judge_reports import failure_share, judges_page

LISTED_BIAS_RUNS = 20


@role_required(Role.RESEARCHER)
@require_safe
def judges(request: PageRequest) -> HttpResponse:
    policy = request.GET.get("policy", "")
    policy = policy if policy in Assessment.Policy.values else ""
    page = judges_page(policy)
    context = {
        "page": page,
        "plots": [(line, histogram(line.row)) for line in page.lines if line.row.n],
        "policy": policy,
        "policies": Assessment.Policy.choices,
        "share": failure_share(),
        "bias_runs": bias_runs()[:LISTED_BIAS_RUNS],
    }
    return render_page(request, "training/judges.html", context)


@role_required(Role.RESEARCHER)
@require_safe
def bias_check(request: PageRequest, pk: int) -> HttpResponse:
    report = bias_report(get_object_or_404(bias_runs(), pk=pk))
    context = {
        "report": report,
        "rows": shift_rows(report.shifts),
        "tolerance": TOLERANCE,
        "least": LEAST_PAIRS,
    }
    return render_page(request, "training/bias_check.html", context)
