"""What the screening report shows: how overlap is spread, and the candidates by it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from django.db.models import Count, Q, QuerySet
from django.db.models.expressions import RawSQL

from curation.models import Reconstruction, ScreeningMatch, ScreeningSample
from curation.screening import CONTAMINATION_THRESHOLD
from curation.tokenizer import BUNDLED, Encoder, TokenizerError, load_encoder, name_in
from llm.listing import Filter, equals, narrow_by

BINS = 20
HIGHEST = 0.5
"""The histogram's bins are of equal width up to here; the last one holds everything above."""

SHORT_SAMPLE = 50
"""Distinct trigrams below which a handful of shared ones decides (ours)."""


@dataclass(frozen=True, slots=True)
class Bin:
    """How many candidates have an overlap from `low` on and under `high` (None: no end)."""

    low: float
    high: float | None
    count: int


@dataclass(frozen=True, slots=True)
class ScreeningReport:
    """`compared` = `without` + the sum of the bins; `discarded` are those that were left out for overlap."""

    compared: int
    without: int
    discarded: int
    samples: int
    bins: tuple[Bin, ...]


def screening_report() -> ScreeningReport:
    screened = Reconstruction.objects.filter(overlap__isnull=False)
    counts = screened.aggregate(
        compared=Count("pk"),
        without=Count("pk", filter=Q(overlap=0)),
        discarded=Count("pk", filter=Q(state=Reconstruction.State.CONTAMINATED)),
    )
    bucket = RawSQL("width_bucket(overlap, 0, %s, %s)", (HIGHEST, BINS))
    found = dict(
        screened.filter(overlap__gt=0)
        .annotate(bucket=bucket)
        .order_by()
        .values_list("bucket")
        .annotate(Count("pk"))
    )
    width = HIGHEST / BINS
    bins = [
        Bin(number * width, (number + 1) * width if number < BINS else None, found.get(number + 1, 0))
        for number in range(BINS + 1)
    ]
    return ScreeningReport(**counts, samples=ScreeningSample.objects.count(), bins=tuple(bins))


def matches() -> QuerySet[ScreeningMatch]:
    """The nearest sample of each candidate that shares anything, the largest overlap first."""
    return (
        ScreeningMatch.objects.select_related("reconstruction", "sample")
        .defer("reconstruction__search", "sample__text")
        .order_by("-reconstruction__overlap", "pk")
    )


def match_filters() -> tuple[Filter, ...]:
    contaminated = Q(reconstruction__state=Reconstruction.State.CONTAMINATED)
    named = ScreeningSample.objects.order_by("benchmark").values_list("benchmark", flat=True)
    benchmarks = list(named.distinct())
    return (
        narrow_by(
            "discarded",
            "Discarded",
            [
                ("yes", "discarded for overlap", lambda rows: rows.filter(contaminated)),
                ("no", "not for overlap", lambda rows: rows.exclude(contaminated)),
            ],
        ),
        narrow_by(
            "samples",
            "Sample",
            [
                (
                    "short",
                    f"under {SHORT_SAMPLE} trigrams",
                    lambda rows: rows.filter(total__lt=SHORT_SAMPLE),
                ),
                ("long", f"{SHORT_SAMPLE} or more", lambda rows: rows.filter(total__gte=SHORT_SAMPLE)),
            ],
        ),
        equals("benchmark", "Benchmark", [(name, name) for name in benchmarks], lookup="sample__benchmark"),
    )


def threshold() -> float:
    return float(CONTAMINATION_THRESHOLD)


def encoder_of(match: ScreeningMatch) -> tuple[Encoder, str]:
    """The tokenizer that the match was counted in, if it is here; else the bundled one, and why."""
    name = name_in(match.tokenizer)
    problem = f"The tokenizer {name} is not on this machine; the passages are those of the bundled one."
    if name != BUNDLED and not Path(name).is_file():
        return load_encoder(BUNDLED), problem
    try:
        return load_encoder(name), ""
    except TokenizerError:
        return load_encoder(BUNDLED), problem
