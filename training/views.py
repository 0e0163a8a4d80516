"""Corpus prompts with everything made for them, candidates, and corpus snapshots."""

from __future__ import annotations

import shlex
from pathlib import Path

from django.conf import settings
from django.contrib import messages
from django.db import IntegrityError, transaction
from django.http import FileResponse, Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_http_methods, require_safe

from curation.history import history_shown
from curation.models import CorpusPrompt
from llm.access import Role, role_required
from llm.listing import listing
from llm.web import PageRequest, render_page
from training import selectors, services
from training.choice_page import words_on
from training.forms import SnapshotForm
from training.models import Candidate, CorpusSnapshot
from training.readings import own_summary, with_readings


@role_required(Role.RESEARCHER)
@require_safe
def corpus_prompts(request: PageRequest) -> HttpResponse:
    found = listing(
        request,
        selectors.corpus_prompts(),
        filters=selectors.corpus_prompt_filters(),
        search=selectors.TEXT_SEARCH,
    )
    return render_page(request, "training/corpus_prompts.html", {"rows": found}, parts=["rows"])


@role_required(Role.RESEARCHER)
@require_safe
def corpus_prompt(request: PageRequest, pk: int) -> HttpResponse:
    rows = CorpusPrompt.objects.select_related("reconstruction__source_prompt__source")
    row = get_object_or_404(rows, pk=pk)
    candidates = with_readings(row.candidates.order_by("rubric", "index"))
    context = {
        "prompt": row,
        "item": row.reconstruction,
        "rubrics": row.rubrics.all(),
        "candidates": candidates,
        "demonstration": next((each for each in candidates if each.demonstration), None),
        "history": history_shown(row, request.user),
        "failed_traces": row.mining_traces.exclude(failure="").prefetch_related("completions__endpoint"),
    }
    return render_page(request, "training/corpus_prompt.html", context)


@role_required(Role.RESEARCHER)
@require_safe
def candidates(request: PageRequest) -> HttpResponse:
    found = listing(request, selectors.candidates(), filters=selectors.candidate_filters())
    return render_page(request, "training/candidates.html", {"rows": found}, parts=["rows"])


@role_required(Role.RESEARCHER)
@require_safe
def candidate(request: PageRequest, pk: int) -> HttpResponse:
    rows = Candidate.objects.select_related(
        *("prompt", "rubric", "completion__endpoint", "overruled_by"),
        *("assessment__endpoint", "assessment__completion__endpoint"),
    ).prefetch_related("assessments__endpoint")
    row = get_object_or_404(rows, pk=pk)
    context = {
        "candidate": row,
        "scores": selectors.candidate_scores(row),
        "words": words_on(row),
        "summary": own_summary(row),
        "siblings": row.rubric.candidates.only("index", "demonstration", "rubric"),
    }
    return render_page(request, "training/candidate.html", context)


@role_required(Role.RESEARCHER)
@require_safe
def snapshots(request: PageRequest) -> HttpResponse:
    found = listing(request, selectors.snapshot_rows())
    live = any(snapshot.state in ("pending", "writing") for snapshot in found)
    return render_page(request, "training/snapshots.html", {"rows": found, "live": live}, parts=["rows"])


@role_required(Role.RESEARCHER)
@require_http_methods(["GET", "HEAD", "POST"])
def snapshot_new(request: PageRequest) -> HttpResponse:
    form = SnapshotForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        try:
            with transaction.atomic():
                made = services.request_snapshot(user=request.user, **form.wanted())
        except IntegrityError:
            form.add_error("name", "A snapshot with this name was asked for just now.")
        else:
            messages.success(request, f"Snapshot {made.name} is queued; a worker writes it.")
            return redirect("snapshot", pk=made.pk)
    return render_page(
        request, "training/snapshot_form.html", {"form": form}, status=422 if form.errors else 200
    )


@role_required(Role.RESEARCHER)
@require_safe
def snapshot(request: PageRequest, pk: int) -> HttpResponse:
    row = get_object_or_404(selectors.snapshot_rows(), pk=pk)
    left_out = row.manifest.get("left_out_prompts", [])
    context = {
        "snapshot": row,
        "manifest": row.manifest,
        "quoted": shlex.quote(row.name),
        "live": row.state == "pending" and row.run is not None and row.run.state in ("running", "paused"),
        "left_out": left_out[: selectors.LISTED_LEFT_OUT],
        "left_out_more": max(len(left_out) - selectors.LISTED_LEFT_OUT, 0),
    }
    return render_page(request, "training/snapshot.html", context, parts=["live"])


@role_required(Role.RESEARCHER)
@require_safe
def snapshot_file(request: PageRequest, pk: int, name: str) -> FileResponse:
    """A file that the manifest names, and no other."""
    row = get_object_or_404(CorpusSnapshot, pk=pk, state=CorpusSnapshot.State.DONE)
    if name not in {file["name"] for file in row.manifest.get("files", [])}:
        raise Http404(f"snapshot {pk} has no file of this name")
    path = Path(settings.MEDIA_ROOT) / "snapshots" / str(row.pk) / name
    if not path.is_file():
        raise Http404(f"the file {name} of snapshot {pk} is no longer on this machine")
    return FileResponse(path.open("rb"), as_attachment=True, filename=f"{row.name}-{name}")
