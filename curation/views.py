"""Sources, source prompts and reconstructions: what came in and what became of it."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_safe

from curation import selectors
from curation.bulk_actions import actions_on
from curation.history import history_shown
from curation.models import Reconstruction, Source, SourcePrompt
from llm.access import Role, role_required
from llm.listing import count_of, listing
from llm.web import PageRequest, render_page


@role_required(Role.RESEARCHER)
@require_safe
def sources(request: PageRequest) -> HttpResponse:
    rows = Source.objects.annotate(
        prompt_count=count_of(SourcePrompt.objects.all(), "source"),
        excluded_count=count_of(SourcePrompt.objects.exclude(excluded_because=""), "source"),
    )
    return render_page(request, "curation/sources.html", {"rows": listing(request, rows)}, parts=["rows"])


@role_required(Role.RESEARCHER)
@require_safe
def source(request: PageRequest, pk: int) -> HttpResponse:
    row = get_object_or_404(Source.objects.select_related("imported_by"), pk=pk)
    reports = [
        ("Refused", row.report.get("refused", 0), row.report.get("refused_lines", [])),
        ("Duplicates", row.report.get("duplicates", 0), row.report.get("duplicate_lines", [])),
        ("Taken, with a note", row.report.get("noted", 0), row.report.get("noted_lines", [])),
    ]
    context = {"source": row, "reports": reports, "prompt_count": row.prompts.count()}
    return render_page(request, "curation/source.html", context)


@role_required(Role.RESEARCHER)
@require_safe
def source_prompts(request: PageRequest) -> HttpResponse:
    found = listing(
        request,
        selectors.source_prompt_rows(),
        filters=selectors.source_prompt_filters(),
        search=selectors.TEXT_SEARCH,
    )
    context = {"rows": found, "bulk_actions": actions_on(SourcePrompt)}
    return render_page(request, "curation/source_prompts.html", context, parts=["rows"])


@role_required(Role.RESEARCHER)
@require_safe
def source_prompt(request: PageRequest, pk: int) -> HttpResponse:
    row = get_object_or_404(SourcePrompt.objects.select_related("source"), pk=pk)
    context = {
        "prompt": row,
        "reconstructions": row.reconstructions.order_by("index").defer("text"),
        "history": history_shown(row, request.user),
    }
    return render_page(request, "curation/source_prompt.html", context)


@role_required(Role.RESEARCHER)
@require_safe
def reconstructions(request: PageRequest) -> HttpResponse:
    found = listing(
        request,
        selectors.reconstruction_rows(),
        filters=selectors.reconstruction_filters(),
        search=selectors.TEXT_SEARCH,
    )
    context = {"rows": found, "bulk_actions": actions_on(Reconstruction)}
    return render_page(request, "curation/reconstructions.html", context, parts=["rows"])


@role_required(Role.RESEARCHER)
@require_safe
def reconstruction(request: PageRequest, pk: int) -> HttpResponse:
    rows = Reconstruction.objects.select_related("source_prompt__source", "match__sample", "corpus_prompt")
    row = get_object_or_404(rows, pk=pk)
    context = {
        "item": row,
        "source": row.source_prompt,
        "drafts": row.drafts.select_related("completion__endpoint"),
        "match": getattr(row, "match", None),
        "corpus_prompt": getattr(row, "corpus_prompt", None),
        "reviews": selectors.reviews_for(row, request.user),
        "withdrawn": selectors.withdrawn_reviews(row),
        "open_flag": row.flags.filter(resolved_at__isnull=True).select_related("reviewer").first(),
        "history": history_shown(row, request.user),
    }
    return render_page(request, "curation/reconstruction.html", context)
