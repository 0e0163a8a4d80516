"""The numbers of many rubrics: tallies of whole values, their quantiles, and histograms on one axis. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

MOST_BINS = 20
"""Bars of a histogram (ours); values that lie further apart share a bar."""

_STEPS = (1, 2, 5)

WIDTH, HEIGHT, BASE = 240, 96, 76
"""Of a histogram; below BASE stand the numbers of its axis."""

WIDEST_BAR = 28


@dataclass(slots=True)
class Tally:
    """How often each whole number came up."""

    counts: Counter[int] = field(default_factory=Counter)

    @property
    def n(self) -> int:
        return self.counts.total()

    @property
    def mean(self) -> float | None:
        """Sum of the values over their number; None without any."""
        return sum(value * count for value, count in self.counts.items()) / self.n if self.n else None

    @property
    def smallest(self) -> int | None:
        return min(self.counts, default=None)

    @property
    def largest(self) -> int | None:
        return max(self.counts, default=None)

    def quantile(self, share: float) -> int | None:
        """The smallest value that at least `share` of all values do not exceed; None without any.

        >>> Tally(Counter([1, 2, 2, 9])).quantile(0.5)
        2
        """
        values = sorted(self.counts)
        running = accumulate(self.counts[value] for value in values)
        return next(
            (value for value, below in zip(values, running, strict=True) if below >= share * self.n), None
        )

    @property
    def median(self) -> int | None:
        return self.quantile(0.5)

    @property
    def quartiles(self) -> tuple[int | None, int | None]:
        return self.quantile(0.25), self.quantile(0.75)


@dataclass(frozen=True, slots=True)
class Axis:
    """`bins` stretches of `width` whole numbers each, the first one from `low` on."""

    low: int
    width: int
    bins: int

    def place(self, value: int) -> int:
        return (value - self.low) // self.width

    def span(self, place: int) -> tuple[int, int]:
        """The first and the last value of a bin."""
        first = self.low + place * self.width
        return first, first + self.width - 1


@dataclass(frozen=True, slots=True)
class Bar:
    """`share` of the tally's values lie from `first` to `last`; places in the plot's own units."""

    left: float
    top: float
    width: float
    height: float
    first: int
    last: int
    count: int
    share: float


@dataclass(frozen=True, slots=True)
class Plot:
    """Histograms of several tallies with one axis and one height, so that they can be compared by eye."""

    axis: Axis
    bars: tuple[tuple[Bar, ...], ...]
    ticks: tuple[tuple[float, int], ...]
    width: int = WIDTH
    height: int = HEIGHT
    base: int = BASE

    @property
    def rows(self) -> list[tuple[tuple[int, int], list[int]]]:
        """As a table: each bin that is not empty everywhere, with the counts of every tally."""
        found = []
        for place in range(self.axis.bins):
            span = self.axis.span(place)
            counts = [sum(bar.count for bar in bars if bar.first == span[0]) for bars in self.bars]
            if any(counts):
                found.append((span, counts))
        return found


def axis_of(tallies: Iterable[Tally]) -> Axis:
    """The narrowest bins of 1, 2, 5, 10, … values that cover all tallies with MOST_BINS of them."""
    values = [value for tally in tallies for value in tally.counts] or [0]
    size, step = 1, 0
    while True:
        width = _STEPS[step % 3] * size
        low = min(values) // width * width
        bins = (max(values) - low) // width + 1
        if bins <= MOST_BINS:
            return Axis(low, width, bins)
        step += 1
        size = 10 ** (step // 3)


def plot(tallies: Sequence[Tally]) -> Plot:
    axis = axis_of(tallies)
    shares = [_shares(tally, axis) for tally in tallies]
    highest = max((share for each in shares for _, share in each.values()), default=0.0)
    step = WIDTH / axis.bins
    thick = min(step - 2, WIDEST_BAR)
    bars = tuple(
        tuple(
            Bar(
                (place + 0.5) * step - thick / 2,
                BASE - BASE * share / highest,
                thick,
                BASE * share / highest,
                *axis.span(place),
                count,
                share,
            )
            for place, (count, share) in sorted(each.items())
        )
        for each in shares
    )
    every = max(1, -(-axis.bins // 6))
    ticks = tuple(
        ((place + 0.5) * step if axis.width == 1 else place * step, axis.span(place)[0])
        for place in range(0, axis.bins, every)
    )
    return Plot(axis, bars, ticks)


def _shares(tally: Tally, axis: Axis) -> dict[int, tuple[int, float]]:
    """Bin -> how many values lie in it, and their share of the tally."""
    counts = Counter[int]()
    for value, count in tally.counts.items():
        counts[axis.place(value)] += count
    return {place: (count, count / tally.n) for place, count in counts.items()}
