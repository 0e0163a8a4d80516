"""The screening report: how near the corpus is to the benchmarks, and where."""

from __future__ import annotations

import math
from dataclasses import dataclass

from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_safe

from curation.models import ScreeningMatch
from curation.passages import marked_runs, shared_passages
from curation.screening_reads import (
    HIGHEST,
    SHORT_SAMPLE,
    Bin,
    ScreeningReport,
    encoder_of,
    match_filters,
    matches,
    screening_report,
    threshold,
)
from llm.access import Role, role_required
from llm.listing import listing
from llm.web import PageRequest, render_page

WIDTH, HEIGHT, FOOT = 720, 196, 40
"""Of the plot, in units of its own."""


@dataclass(frozen=True, slots=True)
class Bar:
    """One bin as drawn; `top` and `height` on a logarithmic scale, so that single candidates are seen."""

    bin: Bin
    left: float
    width: float
    top: float
    height: float
    discards: bool


@role_required(Role.RESEARCHER)
@require_safe
def screening(request: PageRequest) -> HttpResponse:
    report = screening_report()
    context = {
        "report": report,
        "bars": _bars(report),
        "line": WIDTH * threshold() / (HIGHEST + HIGHEST / (len(report.bins) - 1)),
        "plot": {"width": WIDTH, "height": HEIGHT, "bottom": HEIGHT - FOOT},
        "threshold": threshold(),
        "short": SHORT_SAMPLE,
        "rows": listing(request, matches(), filters=match_filters()),
    }
    return render_page(request, "curation/screening.html", context, parts=["rows"])


@role_required(Role.RESEARCHER)
@require_safe
def screening_item(request: PageRequest, pk: int) -> HttpResponse:
    rows = ScreeningMatch.objects.select_related("reconstruction__source_prompt", "sample")
    match = get_object_or_404(rows, reconstruction=pk)
    text, sample = match.reconstruction.text, match.sample.text
    encoder, problem = encoder_of(match)
    spans, others = shared_passages(text, sample, encoder.encode, encoder.offsets)
    context = {
        "match": match,
        "item": match.reconstruction,
        "text": marked_runs(text, spans),
        "sample": marked_runs(sample, others),
        "passages": len(spans),
        "problem": problem,
        "threshold": threshold(),
        "short": SHORT_SAMPLE,
    }
    return render_page(request, "curation/screening_item.html", context)


def _bars(report: ScreeningReport) -> list[Bar]:
    most = max((each.count for each in report.bins), default=0)
    width = WIDTH / len(report.bins)
    room = HEIGHT - FOOT
    bars = []
    for place, each in enumerate(report.bins):
        share = math.log1p(each.count) / math.log1p(most) if most else 0.0
        height = round(share * (room - 8), 1)
        left, discards = round(place * width + 1, 1), each.low >= threshold() - 1e-9
        bars.append(Bar(each, left, round(width - 2, 1), room - height, height, discards))
    return bars
