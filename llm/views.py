"""Runs, endpoints and stored calls."""

from __future__ import annotations

import os
from collections.abc import Callable

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from llm import selectors, services
from llm.access import Role, role_required
from llm.endpoint_form import EndpointForm
from llm.limits_form import LimitsForm
from llm.listing import count_of, equals, listing
from llm.models import Completion, Endpoint, Run, RunItem
from llm.probing import probe, server_metrics
from llm.web import PageRequest, render_page

RECENT_CALLS = 25


@role_required(Role.RESEARCHER)
@require_safe
def runs(request: PageRequest) -> HttpResponse:
    rows = Run.objects.select_related("endpoint").annotate(
        done=count_of(RunItem.objects.filter(state=RunItem.State.DONE), "run"),
        failed=count_of(RunItem.objects.filter(state=RunItem.State.FAILED), "run"),
    )
    found = listing(request, rows, filters=selectors.run_filters())
    context = {"rows": found, "live": any(run.state == Run.State.RUNNING for run in found)}
    return render_page(request, "llm/runs.html", context, parts=["rows"])


@role_required(Role.RESEARCHER)
@require_safe
def run(request: PageRequest, pk: int) -> HttpResponse:
    row = get_object_or_404(Run.objects.select_related("endpoint", "created_by"), pk=pk)
    progress = selectors.run_progress(row)
    context = {
        "run": row,
        "label": selectors.kind_label(row.kind),
        "progress": progress,
        "estimate": selectors.run_estimate(row, progress),
        "limits": LimitsForm(initial={"max_calls": row.max_calls, "max_tokens": row.max_tokens}),
        "chart": selectors.run_chart(row),
        "failures": selectors.run_failures(row),
        "rows": listing(request, row.items.all(), filters=[equals("state", "State", RunItem.State.choices)]),
        "live": row.state == Run.State.RUNNING,
    }
    return render_page(request, "llm/run.html", context, parts=["live", "rows"])


def _act(
    request: PageRequest, pk: int, action: Callable[..., bool], done: str, otherwise: str
) -> HttpResponse:
    get_object_or_404(Run, pk=pk)
    if action(run_id=pk):
        messages.success(request, done)
    else:
        messages.warning(request, otherwise)
    return redirect("run", pk=pk)


@role_required(Role.RESEARCHER)
@require_POST
def run_pause(request: PageRequest, pk: int) -> HttpResponse:
    return _act(
        request, pk, services.pause_run, f"Run {pk} is paused.", f"Run {pk} was not running; nothing changed."
    )


@role_required(Role.RESEARCHER)
@require_POST
def run_continue(request: PageRequest, pk: int) -> HttpResponse:
    return _act(
        request, pk, services.continue_run, f"Run {pk} goes on.", f"Run {pk} was not paused; nothing changed."
    )


@role_required(Role.RESEARCHER)
@require_POST
def run_cancel(request: PageRequest, pk: int) -> HttpResponse:
    return _act(
        request, pk, services.cancel_run, f"Run {pk} is cancelled.", f"Run {pk} had ended; nothing changed."
    )


@role_required(Role.RESEARCHER)
@require_POST
def run_retry(request: PageRequest, pk: int) -> HttpResponse:
    """Failed items again: of one kind when the form names it, otherwise all."""
    get_object_or_404(Run, pk=pk)
    count = services.retry_failed(run_id=pk, kind=request.POST.get("kind"))
    if count:
        messages.success(
            request, f"{count} failed item{'s' if count != 1 else ''} of run {pk} will be tried again."
        )
    else:
        messages.warning(request, f"Run {pk} has no such failed items any more.")
    return redirect("run", pk=pk)


@role_required(Role.RESEARCHER)
@require_POST
def run_limit(request: PageRequest, pk: int) -> HttpResponse:
    """Sets what the run may cost; a paused one goes on only when somebody says so."""
    row = get_object_or_404(Run, pk=pk)
    form = LimitsForm(request.POST)
    if form.is_valid():
        services.limit_run(run_id=pk, pilot_items=row.pilot_items, **form.cleaned_data)
        messages.success(request, f"The limits of run {pk} are set.")
    else:
        said = {form[name].label: " ".join(map(str, errors)) for name, errors in form.errors.items()}
        wrong = "; ".join(f"{label}: {errors}" for label, errors in said.items())
        messages.error(request, f"The limits stay as they were. {wrong}")
    return redirect("run", pk=pk)


@role_required(Role.RESEARCHER)
@require_POST
def run_clone(request: PageRequest, pk: int) -> HttpResponse:
    """A new run like this one, over all of its items or those that failed."""
    get_object_or_404(Run, pk=pk)
    made = services.clone_run(run_id=pk, failed_only="failed" in request.POST, user=request.user)
    if made.total == 0:
        messages.info(request, "Nothing of that run can be done again, so this one ended at once.")
    return redirect("run", pk=made.pk)


@role_required(Role.RESEARCHER)
@require_safe
def endpoints(request: PageRequest) -> HttpResponse:
    rows = Endpoint.objects.annotate(run_count=count_of(Run.objects.all(), "endpoint"))
    return render_page(request, "llm/endpoints.html", {"rows": listing(request, rows)}, parts=["rows"])


@role_required(Role.RESEARCHER)
@require_safe
def endpoint(request: PageRequest, pk: int) -> HttpResponse:
    row = get_object_or_404(Endpoint, pk=pk)
    context = {
        "endpoint": row,
        "key_is_set": bool(row.api_key_env and os.environ.get(row.api_key_env)),
        "models": selectors.models_seen(row),
        "speed": selectors.endpoint_speed(row),
        "calls": row.completions.defer("text", "request")[:RECENT_CALLS],
        "runs": row.runs.all()[:10],
    }
    return render_page(request, "llm/endpoint.html", context)


@role_required(Role.RESEARCHER)
@require_POST
def endpoint_test(request: PageRequest, pk: int) -> HttpResponse:
    """Asks the server one short question, while the page waits."""
    row = get_object_or_404(Endpoint, pk=pk)
    return render_page(
        request, "llm/endpoint_test.html", {"endpoint": row, "probe": probe(row)}, parts=["probe"]
    )


@role_required(Role.RESEARCHER)
@require_safe
def endpoint_metrics(request: PageRequest, pk: int) -> HttpResponse:
    """What the server says of itself, loaded by its page once that is there."""
    row = get_object_or_404(Endpoint, pk=pk)
    context = {"endpoint": row, "metrics": server_metrics(row)}
    return render_page(request, "llm/endpoint_metrics.html", context, parts=["metrics"])


@role_required(Role.RESEARCHER)
@require_http_methods(["GET", "HEAD", "POST"])
def endpoint_new(request: PageRequest) -> HttpResponse:
    return _edit(request, None)


@role_required(Role.RESEARCHER)
@require_http_methods(["GET", "HEAD", "POST"])
def endpoint_edit(request: PageRequest, pk: int) -> HttpResponse:
    return _edit(request, get_object_or_404(Endpoint, pk=pk))


def _edit(request: PageRequest, row: Endpoint | None) -> HttpResponse:
    form = EndpointForm(request.POST if request.method == "POST" else None, instance=row)
    if request.method == "POST" and form.is_valid():
        saved = form.save()
        messages.success(request, f"Endpoint {saved.name} is saved.")
        return redirect("endpoint", pk=saved.pk)
    context = {"form": form, "endpoint": row}
    return render_page(request, "llm/endpoint_form.html", context, status=422 if form.errors else 200)


@role_required(Role.RESEARCHER)
@require_safe
def call(request: PageRequest, key: str) -> HttpResponse:
    row = get_object_or_404(Completion.objects.select_related("endpoint", "run"), pk=key)
    return render_page(request, "llm/call.html", {"call": row})
