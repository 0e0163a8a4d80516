"""The plots of judges, as numbers for an SVG. Pure but for the rows that it is given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rubrics.bias import TOLERANCE, Shift
from rubrics.judges import BINS, JudgeRow

WIDTH, HEIGHT, BASE = 240, 84, 66
"""Of a histogram; below BASE stand the numbers of its axis."""

REACH = 0.5
"""The largest shift, either way, that the plot of shifts has room for; a larger one stands at its edge."""


@dataclass(frozen=True, slots=True)
class Bar:
    left: float
    top: float
    width: float
    height: float
    low: float
    high: float
    count: int


@dataclass(frozen=True, slots=True)
class Histogram:
    """The values of one judge from 0 to 1; `mean` is where its mean stands."""

    bars: tuple[Bar, ...]
    mean: float
    width: int = WIDTH
    height: int = HEIGHT
    base: int = BASE


@dataclass(frozen=True, slots=True)
class ShiftRow:
    """A variant with the places, in percent of the plot's width, of its mean and interval."""

    shift: Shift
    at: float | None
    low: float | None
    high: float | None
    tolerance_low: float = 50 - 50 * TOLERANCE / REACH
    tolerance_width: float = 100 * TOLERANCE / REACH

    @property
    def mean(self) -> str:
        return "—" if self.shift.mean is None else f"{self.shift.mean:+.3f}".replace("-", "−")

    @property
    def length(self) -> float:
        return self.high - self.low if self.low is not None and self.high is not None else 0.0


def histogram(row: JudgeRow) -> Histogram:
    most, step = max(row.bins), WIDTH / BINS
    bars = tuple(
        Bar(
            place * step + 1,
            BASE - BASE * count / most,
            step - 2,
            BASE * count / most,
            place / BINS,
            (place + 1) / BINS,
            count,
        )
        for place, count in enumerate(row.bins)
        if count
    )
    return Histogram(bars, WIDTH * (row.mean or 0.0))


def shift_rows(shifts: Sequence[Shift]) -> list[ShiftRow]:
    return [
        ShiftRow(
            shift,
            _place(shift.mean),
            _place(shift.interval.low) if shift.interval else None,
            _place(shift.interval.high) if shift.interval else None,
        )
        for shift in shifts
    ]


def _place(value: float | None) -> float | None:
    return None if value is None else 50 + 50 * max(-REACH, min(REACH, value)) / REACH
