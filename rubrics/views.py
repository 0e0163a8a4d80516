"""Rubrics: the list, and one as a table with how it came to be."""

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
def rubric(request: PageRequest, pk: int) -> HttpResponse:
    row = get_object_or_404(Rubric.objects.select_related("prompt"), pk=pk)
    trace = selectors.trace_of(row)
    context = {
        "rubric": row,
        "prompt": row.prompt,
        "table": selectors.rubric_table(row),
        "trace": trace,
        "calls": sorted(trace.completions.all(), key=lambda call: call.created_at) if trace else [],
        "kept": {each["name"] for each in row.dimensions},
    }
    return render_page(request, "rubrics/rubric.html", context)
