"""How far judges agree on scores, with an interval. Pure.

`curation.agreement.krippendorff_alpha` counts coincidences of categories, of which scores have too many; on
the interval level the same coefficient comes of sums alone.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np

from curation.agreement import (
    DRAWS,
    NOTHING_SHARED,
    ONE_CATEGORY,
    Coefficient,
    Numbers,
    bootstrap_interval,
)

FEWEST_DRAWS, MOST_DRAWN = 200, 1_000_000
"""Of very many different units fewer resamples are drawn: about MOST_DRAWN numbers in all (ours)."""


def interval_alpha(units: Sequence[Sequence[float]], *, draws: int = DRAWS, seed: int = 0) -> Coefficient:
    """Krippendorff's alpha on the interval level; a unit is what the judges gave to one thing, in any order.

        alpha = 1 - D_o / D_e
        D_o = 1/n           * sum over units of 2 (m q - s²) / (m - 1)
        D_e = 1/(n (n - 1)) * 2 (n Q - S²)

    m, s and q are the number, the sum and the sum of squares of a unit's ratings; n, S and Q their totals.
    Units with fewer than two ratings are left out. It is `krippendorff_alpha(…, "interval")`.

    >>> round(interval_alpha([(1, 1), (2, 2), (3, 4), (4, 4)], draws=0).value, 4)
    0.9263
    """
    patterns = Counter(tuple(sorted(unit)) for unit in units if len(unit) > 1)
    if not patterns:
        return Coefficient(None, 0, NOTHING_SHARED)
    sums = np.array([_sums(unit) for unit in patterns], dtype=np.float64)
    counts = np.array(list(patterns.values()), dtype=np.float64)

    def alphas(weights: Numbers) -> Numbers:
        n, total, squares, within = (weights @ sums).T
        expected = n * squares - total**2
        return np.where(
            expected < 1e-9, np.nan, 1 - (n - 1) * within / np.where(expected < 1e-9, 1, expected)
        )

    n = int(counts.sum())
    same = sum(count * _same(unit) for unit, count in patterns.items())
    observed = same / sum(count * len(unit) for unit, count in patterns.items())
    value = float(alphas(counts[np.newaxis])[0])
    if math.isnan(value):
        return Coefficient(None, n, ONE_CATEGORY, observed)
    drawn = min(draws, max(FEWEST_DRAWS, MOST_DRAWN // len(patterns)))
    interval = bootstrap_interval(alphas, counts, draws=drawn, seed=seed) if draws else None
    return Coefficient(value, n, "", observed, interval)


def _sums(unit: Sequence[float]) -> tuple[float, float, float, float]:
    """m, s, q, and half of the sum over its ordered pairs of squared differences over m - 1."""
    m, s, q = len(unit), math.fsum(unit), math.fsum(value * value for value in unit)
    return m, s, q, (m * q - s * s) / (m - 1)


def _same(unit: Sequence[float]) -> float:
    """The ordered pairs of equal ratings, each with the weight 1 / (m - 1)."""
    return sum(count * (count - 1) for count in Counter(unit).values()) / (len(unit) - 1)
