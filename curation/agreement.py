"""How far raters agree beyond chance, with an interval. Pure.

A value that is missing (None or NaN) is no category of its own. Where a coefficient says nothing, because no
unit has two ratings or all ratings are the same, it is undefined and says why: it is neither 0 nor 1.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Level = Literal["nominal", "ordinal", "interval"]

Numbers = NDArray[np.float64]

NOTHING_SHARED = "no item was rated by two raters"
ONE_CATEGORY = "every rating is the same, so there is no disagreement to expect by chance"

DRAWS = 1_000
"""Resamples for an interval (ours)."""

DEFINED_SHARE = 0.95
"""An interval is given when the coefficient is defined in at least this share of the resamples (ours)."""


@dataclass(frozen=True, slots=True)
class Interval:
    """From `low` to `high` lies the middle `level` of the resamples."""

    low: float
    high: float
    level: float


@dataclass(frozen=True, slots=True)
class Coefficient:
    """`value` is None when undefined, for the `reason` given. `n` counts the units with two ratings or more;
    `observed` is the plain share of pairs of ratings that are the same, None over nothing shared."""

    value: float | None
    n: int
    reason: str = ""
    observed: float | None = None
    interval: Interval | None = None


def cohen_kappa(pairs: Sequence[tuple[Hashable, Hashable]], *, draws: int = 0, seed: int = 0) -> Coefficient:
    """Cohen's kappa of two raters; a pair is what they gave to one unit.

        kappa = (p_o - p_e) / (1 - p_e),   p_e = sum over categories c of p_first(c) * p_second(c)

    `p_o` is the share of pairs that are the same. Pairs with a missing value are left out. With `draws`, the
    interval comes of so many resamples of the pairs. Cohen (1960), Educational and Psychological
    Measurement 20(1), 37-46.
    """
    complete = [pair for pair in pairs if not any(map(_missing, pair))]
    if not complete:
        return Coefficient(None, 0, NOTHING_SHARED)
    place = {
        value: number for number, value in enumerate(dict.fromkeys(v for pair in complete for v in pair))
    }
    patterns = Counter(complete)
    cells = np.zeros((len(patterns), len(place), len(place)))
    for number, (first, second) in enumerate(patterns):
        cells[number, place[first], place[second]] = 1
    counts = np.array(list(patterns.values()), dtype=np.float64)

    def kappas(weights: Numbers) -> Numbers:
        return _kappa(np.tensordot(weights, cells, axes=1))

    observed = sum(count for (a, b), count in patterns.items() if a == b) / len(complete)
    return _coefficient(kappas, counts, len(complete), observed, draws, seed)


def krippendorff_alpha(
    ratings: Sequence[Sequence[Hashable]], level: Level, *, draws: int = 0, seed: int = 0
) -> Coefficient:
    """Krippendorff's alpha of any number of raters; `ratings[r][u]` is what rater r gave to unit u.

        alpha = 1 - D_o / D_e
        D_o = 1/n     * sum over c, k of o(c, k) * d(c, k)
        D_e = 1/(n (n - 1)) * sum over c, k of n(c) * n(k) * d(c, k)

    A unit with m >= 2 ratings adds each of its ordered pairs to o(c, k) with weight 1 / (m - 1); n(c) is the
    sum of row c, n that of all. The
    squared difference d is

        nominal   0 or 1
        ordinal   (n(c) + ... + n(k) - (n(c) + n(k)) / 2)²   over the ranks from c to k
        interval  (c - k)²

    Ordinal and interval levels take numbers. With `draws`, the interval comes of so many resamples of the
    units. Krippendorff (2011), Computing Krippendorff's Alpha-Reliability. Raises ValueError for raters with
    different numbers of units.
    """
    if len({len(row) for row in ratings}) > 1:
        raise ValueError("every rater needs a place for every unit")
    units = [tuple(value for value in unit if not _missing(value)) for unit in zip(*ratings, strict=True)]
    shared = [unit for unit in units if len(unit) > 1]
    if not shared:
        return Coefficient(None, 0, NOTHING_SHARED)
    values = _in_order({value for unit in shared for value in unit}, level)
    patterns = Counter(tuple(sorted(unit, key=values.__getitem__)) for unit in shared)
    coincidences = np.stack([_coincidences(unit, values) for unit in patterns])
    counts = np.array(list(patterns.values()), dtype=np.float64)
    scale = np.arange(float(len(values))) if level == "nominal" else np.array([_number(v) for v in values])

    def alphas(weights: Numbers) -> Numbers:
        return _alpha(np.tensordot(weights, coincidences, axes=1), scale, level)

    total = np.tensordot(counts, coincidences, axes=1)
    observed = float(np.trace(total) / total.sum())
    return _coefficient(alphas, counts, len(shared), observed, draws, seed)


def bootstrap_interval(
    statistic: Callable[[Numbers], Numbers],
    counts: Numbers,
    *,
    draws: int = DRAWS,
    level: float = 0.95,
    seed: int = 0,
) -> Interval | None:
    """The percentile bootstrap over units; None when the statistic is undefined in too many resamples.

    `counts` (shape P) says how many units have each of P patterns of ratings. Drawing the units with
    replacement is drawing these counts from a multinomial distribution: `statistic` takes draws x P of them
    and gives one number a draw, NaN for undefined. Efron and Tibshirani (1993), An Introduction to the
    Bootstrap, chapter 13.
    """
    total = int(counts.sum())
    drawn = np.random.default_rng(seed).multinomial(total, counts / counts.sum(), size=draws)
    values = statistic(drawn.astype(np.float64))
    defined = values[~np.isnan(values)]
    if not draws or len(defined) < DEFINED_SHARE * draws:
        return None
    low, high = np.quantile(defined, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(low), float(high), level)


def _coefficient(
    statistic: Callable[[Numbers], Numbers],
    counts: Numbers,
    n: int,
    observed: float,
    draws: int,
    seed: int,
) -> Coefficient:
    value = float(statistic(counts[np.newaxis])[0])
    if math.isnan(value):
        return Coefficient(None, n, ONE_CATEGORY, observed)
    interval = bootstrap_interval(statistic, counts, draws=draws, seed=seed) if draws else None
    return Coefficient(value, n, "", observed, interval)


def _kappa(tables: Numbers) -> Numbers:
    """For each table (draws x C x C) of counts; NaN where everything lies in one category."""
    shares = tables / tables.sum(axis=(1, 2), keepdims=True)
    observed = np.trace(shares, axis1=1, axis2=2)
    expected = (shares.sum(axis=2) * shares.sum(axis=1)).sum(axis=1)
    return _divide(observed - expected, 1 - expected)


def _alpha(coincidences: Numbers, scale: Numbers, level: Level) -> Numbers:
    """For each matrix of coincidences (draws x C x C); NaN where everything lies in one category."""
    margins = coincidences.sum(axis=2)
    n = margins.sum(axis=1)
    distances = _squared_distances(margins, scale, level)
    observed = (coincidences * distances).sum(axis=(1, 2))
    expected = (margins[:, :, np.newaxis] * margins[:, np.newaxis, :] * distances).sum(axis=(1, 2))
    return 1 - _divide((n - 1) * observed, expected)


def _squared_distances(margins: Numbers, scale: Numbers, level: Level) -> Numbers:
    """Draws x C x C, or 1 x C x C where the ratings themselves have no part in it."""
    if level == "nominal":
        return (1.0 - np.eye(len(scale)))[np.newaxis]
    if level == "interval":
        return np.square(scale[:, np.newaxis] - scale[np.newaxis, :])[np.newaxis]
    middles = np.cumsum(margins, axis=1) - margins / 2
    return np.square(middles[:, :, np.newaxis] - middles[:, np.newaxis, :])


def _coincidences(unit: Sequence[Hashable], place: Mapping[Hashable, int]) -> Numbers:
    """One unit's part of the matrix: all ordered pairs of its ratings, their weight 1 / (m - 1)."""
    given = np.zeros(len(place))
    for value in unit:
        given[place[value]] += 1
    return (np.outer(given, given) - np.diag(given)) / (len(unit) - 1)


def _in_order(values: set[Hashable], level: Level) -> dict[Hashable, int]:
    ordered = sorted(values, key=str if level == "nominal" else _number)
    return {value: number for number, value in enumerate(ordered)}


def _number(value: Hashable) -> float:
    """Raises TypeError for a rating that is no number."""
    if not isinstance(value, (int, float, np.integer, np.floating)):
        raise TypeError(f"{value!r} is no number, so it has no place on a scale")
    return float(value)


def _divide(top: Numbers, bottom: Numbers) -> Numbers:
    """NaN where the divisor is zero, up to rounding."""
    zero = np.abs(bottom) < 1e-12
    return np.where(zero, np.nan, top / np.where(zero, 1.0, bottom))


def _missing(value: Hashable) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))
