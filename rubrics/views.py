"""Rubrics: the list, one as a table with how it came to be, and two in comparison."""

from __future__ import annotations

from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.views.decorators.http import require_safe

from curation.history import history_shown
from curation.models import CorpusPrompt
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
    """Two rubrics, named by `left` and `right` in the address; most useful for two of one prompt.

    The list names the two that are picked there as `pick`.
    """
    if picked := request.GET.getlist("pick"):
        if len(picked) != 2:
            messages.info(request, f"{len(picked)} rubrics were picked; a comparison takes two.")
            return redirect("rubrics")
        return redirect(f"{reverse('rubric-compare')}?{urlencode({'left': picked[0], 'right': picked[1]})}")
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
        "left_name": _side_name(left),
        "right_name": _side_name(right),
        "others": selectors.rubrics_of(left.prompt_id) if left else [],
    }
    return render_page(request, "rubrics/comparison.html", context)


@role_required(Role.RESEARCHER)
@require_safe
def prompt_rubrics(request: PageRequest, pk: int) -> HttpResponse:
    """All rubrics of one prompt, each as a column."""
    prompt = get_object_or_404(CorpusPrompt, pk=pk)
    rows = selectors.rubrics_of(prompt.pk)
    context = {"prompt": prompt, "tables": [(row, selectors.rubric_table(row)) for row in rows]}
    return render_page(request, "rubrics/prompt_rubrics.html", context)


@role_required(Role.RESEARCHER)
@require_safe
def rubric(request: PageRequest, pk: int) -> HttpResponse:
    row = get_object_or_404(Rubric.objects.select_related("prompt", "endpoint", "root", "parent"), pk=pk)
    trace = selectors.trace_of(row)
    calls = sorted(trace.completions.all(), key=lambda call: call.created_at) if trace else []
    fates = selectors.fates_in(trace) if trace else []
    versions = selectors.versions_of(row)
    context = {
        "rubric": row,
        "prompt": row.prompt,
        "table": selectors.rubric_table(row),
        "trace": trace,
        "others": [each for each in selectors.rubrics_of(row.prompt_id) if each.pk != row.pk],
        "calls": calls,
        "cost": selectors.cost_of(calls),
        "fates": fates,
        "fate_counts": selectors.fates_counted(fates),
        "kept": {each["name"] for each in row.dimensions},
        "versions": versions,
        "newest": versions[0].rubric,
        "history": history_shown(row, request.user),
    }
    return render_page(request, "rubrics/rubric.html", context)


def _side_name(row: Rubric | None) -> str:
    return f"Rubric {row.pk}" if row else ""
