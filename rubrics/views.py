"""Rubrics: the list, one as a table with how it came to be, and two in comparison."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_safe

from llm.access import Role, role_required
from llm.listing import listing
from llm.web import PageRequest, render_page
from rubrics import selectors
from rubrics.models import Rubric


@role_required(Role.RESEARCHER)
@require_safe
def rubrics(request: PageRequest) -> HttpResponse:
    found = listing(
        request,
        selectors.rubrics_with_counts(),
        filters=selectors.rubric_filters(),
        search=selectors.REQUEST_SEARCH,
    )
    return render_page(request, "rubrics/rubrics.html", {"rows": found}, parts=["rows"])


@role_required(Role.RESEARCHER)
@require_safe
def comparison(request: PageRequest) -> HttpResponse:
    """Two rubrics, named by `left` and `right` in the address; most useful for two of one prompt."""
    rows = Rubric.objects.select_related("prompt", "endpoint")
    left, right = (
        get_object_or_404(rows, pk=each) if each.isdecimal() and len(each) < 10 else None
        for each in (request.GET.get("left", ""), request.GET.get("right", ""))
    )
    context = {
        "left": left,
        "right": right,
        "sides": (left, right),
        "prompt": left.prompt if left else None,
        "pairs": selectors.compared(left, right) if left and right else [],
        "others": selectors.rubrics_of(left.prompt_id) if left else [],
    }
    return render_page(request, "rubrics/comparison.html", context)


@role_required(Role.RESEARCHER)
@require_safe
def rubric(request: PageRequest, pk: int) -> HttpResponse:
    row = get_object_or_404(Rubric.objects.select_related("prompt", "endpoint", "root", "parent"), pk=pk)
    trace = selectors.trace_of(row)
    calls = sorted(trace.completions.all(), key=lambda call: call.created_at) if trace else []
    context = {
        "rubric": row,
        "prompt": row.prompt,
        "table": selectors.rubric_table(row),
        "trace": trace,
        "others": [each for each in selectors.rubrics_of(row.prompt_id) if each.pk != row.pk],
        "calls": calls,
        "cost": {
            "calls": len(calls),
            "prompt_tokens": sum(call.prompt_tokens for call in calls),
            "completion_tokens": sum(call.completion_tokens for call in calls),
        },
        "fates": selectors.fates_in(trace) if trace else [],
        "kept": {each["name"] for each in row.dimensions},
    }
    return render_page(request, "rubrics/rubric.html", context)
