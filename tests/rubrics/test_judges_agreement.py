"""Alpha out of sums is Krippendorff's alpha."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curation.agreement import NOTHING_SHARED, ONE_CATEGORY, krippendorff_alpha
from rubrics.agreement import interval_alpha


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(*[st.none() | st.integers(0, 6)] * 3), min_size=1, max_size=12))
def test_it_is_the_coefficient_of_coincidences(units: list[tuple[int | None, ...]]) -> None:
    expected = krippendorff_alpha([list(row) for row in zip(*units, strict=True)], "interval")
    found = interval_alpha([[value for value in unit if value is not None] for unit in units], draws=0)

    assert (found.n, found.reason) == (expected.n, expected.reason)
    assert found.value == (None if expected.value is None else pytest.approx(expected.value))
    assert found.observed == (None if expected.observed is None else pytest.approx(expected.observed))


def test_four_units_by_hand() -> None:
    """Eight ratings, S = 21 and Q = 67, one pair a point apart: D_o = 2 / 8, D_e = 2 (8 * 67 - 441) / 56."""
    found = interval_alpha([(1, 1), (2, 2), (3, 4), (4, 4)], draws=0)
    assert found.value == pytest.approx(1 - (2 / 8) / (2 * (8 * 67 - 441) / 56))


def test_over_nothing_shared_and_over_one_value_it_is_undefined_with_its_reason() -> None:
    assert (interval_alpha([(1,), ()]).value, interval_alpha([]).reason) == (None, NOTHING_SHARED)
    assert interval_alpha([(0.5, 0.5), (0.5, 0.5)]).reason == ONE_CATEGORY


def test_the_interval_holds_the_value_and_narrows_with_units() -> None:
    dice = np.random.default_rng(3)
    truth = dice.random(400)
    units = [(value, value + noise) for value, noise in zip(truth, dice.normal(0, 0.1, 400), strict=True)]

    few, many = interval_alpha(units[:20]), interval_alpha(units)

    assert few.interval
    assert many.interval
    assert many.value is not None
    assert many.interval.low < many.value < many.interval.high
    assert many.interval.high - many.interval.low < few.interval.high - few.interval.low
