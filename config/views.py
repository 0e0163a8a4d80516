"""Home, signing in and out, starting a run, and the health check."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import PermissionDenied
from django.db import connection
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods, require_safe

from config.forms import StartForm
from config.overview import overview
from config.pipeline import STAGES, start_stage
from curation.services import preview_plan
from llm.access import Role, role_required, roles_of
from llm.models import Endpoint
from llm.web import PageRequest, render_page


@role_required(*Role)
@require_safe
def home(request: PageRequest) -> HttpResponse:
    """The pipeline for researchers; everyone else goes to the place of their work."""
    roles = roles_of(request.user)
    if Role.RESEARCHER in roles:
        return render_page(request, "home.html", {"overview": overview()}, parts=["pipeline"])
    if Role.ANNOTATOR in roles:
        return redirect("review")
    if Role.EXPERT in roles:
        return redirect("my-study")
    raise PermissionDenied


@role_required(Role.RESEARCHER)
@require_http_methods(["GET", "HEAD", "POST"])
def run_start(request: PageRequest) -> HttpResponse:
    """Starts a run; the button `preview` says first what a plan would add, and starts nothing."""
    endpoints = list(Endpoint.objects.all()[:2])
    only_one = endpoints[0] if len(endpoints) == 1 else None
    initial = {name: request.GET.get(name, "") for name in ("stage", "source")} | {"endpoint": only_one}
    form = StartForm(request.POST if request.method == "POST" else None, initial=initial)
    valid = request.method == "POST" and form.is_valid()
    if valid and not form.previews:
        run = start_stage(user=request.user, **form.cleaned_data)
        if run.total == 0:
            messages.info(request, "Nothing waits for this stage, so the run ended at once.")
        return redirect("run", pk=run.pk)
    context = {
        "form": form,
        "stages": STAGES.values(),
        "chosen": form["stage"].value(),
        "no_endpoint": not endpoints,
        "preview": preview_plan(**form.plan()) if valid else None,
    }
    status = 422 if form.errors else 200
    return render_page(request, "run_start.html", context, parts=["start"], status=status)


@login_not_required
@require_safe
def healthz(request: HttpRequest) -> HttpResponse:
    """200 'ok' when the process answers and the database does; an error status otherwise."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return HttpResponse("ok", content_type="text/plain")
