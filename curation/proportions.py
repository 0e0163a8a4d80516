"""Shares with their uncertainty: the interval of one, and of the difference between two. Pure.

Both hold for few cases and for shares near 0 or 1, where 'plus or minus two standard errors' does not; with
the correction for continuity they are rather too wide than too narrow.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

Z_95 = 1.959963984540054
"""The normal deviate that leaves 2.5% on either side."""


@dataclass(frozen=True, slots=True)
class Share:
    """`count` of `n`; over nothing there is no value."""

    count: int
    n: int

    @property
    def value(self) -> float | None:
        return self.count / self.n if self.n else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95% interval, None over nothing."""
        return wilson(self.count, self.n) if self.n else None


@dataclass(frozen=True, slots=True)
class Difference:
    """`value` with its 95% interval, in shares from -1 to 1."""

    value: float
    low: float
    high: float

    @property
    def clear(self) -> bool:
        """Whether the interval leaves out 0."""
        return self.low > 0 or self.high < 0

    def __str__(self) -> str:
        """In percentage points.

        >>> print(Difference(0.2, 0.0428, -0.3422))
        +20 [+4, −34]
        """
        return f"{_points(self.value)} [{_points(self.low)}, {_points(self.high)}]"


def wilson(count: int, n: int, z: float = Z_95) -> tuple[float, float]:
    """The score interval of a share p = count / n, corrected for continuity.

        low   (2 n p + z² - 1 - z sqrt(z² - 2 - 1/n + 4 p (n (1 - p) + 1))) / 2 (n + z²),  0 where p is
        high  (2 n p + z² + 1 + z sqrt(z² + 2 - 1/n + 4 p (n (1 - p) - 1))) / 2 (n + z²),  1 where p is

    >>> [round(end, 4) for end in wilson(81, 263)]
    [0.2535, 0.3682]

    Newcombe (1998), Statistics in Medicine 17(8), 857-872, method 4.
    """
    p, square, scale = count / n, z * z, 2 * (n + z * z)
    below = z * math.sqrt(max(square - 2 - 1 / n + 4 * p * (n * (1 - p) + 1), 0.0))
    above = z * math.sqrt(max(square + 2 - 1 / n + 4 * p * (n * (1 - p) - 1), 0.0))
    return (
        max((2 * count + square - 1 - below) / scale, 0.0) if count else 0.0,
        min((2 * count + square + 1 + above) / scale, 1.0) if count < n else 1.0,
    )


def difference(first: Share, second: Share, z: float = Z_95) -> Difference | None:
    """How much larger the first of two independent shares is; None when one is over nothing.

    With p and q the shares, and l, u and m, v the ends of their score intervals:

        from  p - q - sqrt((p - l)² + (v - q)²)  to  p - q + sqrt((u - p)² + (q - m)²)

    >>> found = difference(Share(56, 70), Share(48, 80))
    >>> round(found.value, 4), round(found.low, 4), round(found.high, 4)
    (0.2, 0.0428, 0.3422)

    Newcombe (1998), Statistics in Medicine 17(8), 873-890, method 11.
    """
    if not first.n or not second.n:
        return None
    p, q = first.count / first.n, second.count / second.n
    (low, high), (other_low, other_high) = wilson(first.count, first.n, z), wilson(second.count, second.n, z)
    return Difference(
        p - q,
        p - q - math.hypot(p - low, other_high - q),
        p - q + math.hypot(high - p, q - other_low),
    )


def _points(part: float) -> str:
    return f"{100 * part:+.0f}".replace("-", "−")
