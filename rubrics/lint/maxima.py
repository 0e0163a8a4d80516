"""A dimension weighs as much as its maximum (paper B.5): uneven maxima shift the weights. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from rubrics.lint.findings import Check, Finding, Subject

UNEVEN = 1.5
"""Ratio of the largest maximum to the smallest from which on it is said (ours)."""


def uneven_maxima(subject: Subject) -> Iterator[Finding]:
    maxima = [dimension.maximum for dimension in subject.dimensions]
    if max(maxima) < UNEVEN * min(maxima):
        return
    heaviest = subject.dimensions[maxima.index(max(maxima))].name
    lightest = subject.dimensions[maxima.index(min(maxima))].name
    yield Finding(
        Check.MAXIMA,
        f"“{heaviest}” ({max(maxima)} points) weighs {max(maxima) / min(maxima):.1f} times as much as "
        f"“{lightest}” ({min(maxima)} points).",
        evidence=", ".join(map(str, maxima)),
    )
