"""Agreement beyond chance: published examples, worked by hand where they are small enough."""

from __future__ import annotations

import math

import numpy as np
import pytest

from curation.agreement import Level, bootstrap_interval, cohen_kappa, krippendorff_alpha

MISSING = None

OBSERVERS = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, MISSING, MISSING, MISSING],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, MISSING, 3],
    [MISSING, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, MISSING],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, MISSING],
]
"""Krippendorff (2011), section C: four observers, twelve units, values missing."""


@pytest.mark.parametrize(("level", "alpha"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)])
def test_krippendorffs_own_example_with_missing_values(level: Level, alpha: float) -> None:
    found = krippendorff_alpha(OBSERVERS, level)
    assert found.value is not None
    assert round(found.value, 3) == alpha
    assert found.n == 11, "the twelfth unit has one rating: nothing to compare it with"


def test_krippendorffs_binary_and_nominal_examples() -> None:
    binary = krippendorff_alpha([[0, 1, 0, 0, 0, 0, 0, 0, 1, 0], [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]], "nominal")
    assert binary.value == pytest.approx(0.095, abs=5e-4)
    nominal = krippendorff_alpha([list("aabbdcccedda"), list("babbbcccuddd".replace("u", "e"))], "nominal")
    assert nominal.value == pytest.approx(0.692, abs=5e-4)


def test_missing_as_nan_is_missing_too() -> None:
    with_nan = [[math.nan if value is None else value for value in row] for row in OBSERVERS]
    assert krippendorff_alpha(with_nan, "ordinal") == krippendorff_alpha(OBSERVERS, "ordinal")


def test_alpha_of_two_raters_by_hand() -> None:
    """Units aa, ab, bb: o(a,a) = 2, o(a,b) = o(b,a) = 1, o(b,b) = 2, so n(a) = n(b) = 3 and n = 6.

    D_o = 2 / 6 and D_e = 2 * 3 * 3 / (6 * 5) = 3 / 5: alpha = 1 - (1/3) / (3/5) = 4 / 9.
    """
    found = krippendorff_alpha([["a", "a", "b"], ["a", "b", "b"]], "nominal")
    assert found.value == pytest.approx(4 / 9)
    assert found.observed == pytest.approx(2 / 3)


def test_kappa_by_hand() -> None:
    """20 yes-yes, 5 yes-no, 10 no-yes, 15 no-no: p_o = 35/50 = 0.7.

    First says yes in 25 of 50, second in 30 of 50: p_e = 0.5 * 0.6 + 0.5 * 0.4 = 0.5; kappa = 0.2 / 0.5.
    """
    pairs = [("y", "y")] * 20 + [("y", "n")] * 5 + [("n", "y")] * 10 + [("n", "n")] * 15
    found = cohen_kappa(pairs)
    assert found.value == pytest.approx(0.4)
    assert (found.n, found.observed) == (50, 0.7)


def test_unsure_is_a_category_and_missing_is_none() -> None:
    pairs: list[tuple[str | None, str | None]] = [("pass", "pass"), ("unsure", "unsure"), ("fail", "pass")]
    assert cohen_kappa([*pairs, ("pass", None), (None, "fail")]) == cohen_kappa(pairs)
    assert cohen_kappa(pairs).value != cohen_kappa([p for p in pairs if "unsure" not in p]).value


@pytest.mark.parametrize(
    "found",
    [
        cohen_kappa([]),
        cohen_kappa([("pass", None)]),
        krippendorff_alpha([["a", None], [None, "b"]], "nominal"),
    ],
)
def test_nothing_shared_is_undefined(found: object) -> None:
    assert (found.value, found.n, found.observed) == (None, 0, None)  # type: ignore[attr-defined]
    assert "two raters" in found.reason  # type: ignore[attr-defined]


def test_one_category_only_is_undefined_and_says_so() -> None:
    for found in (
        cohen_kappa([("pass", "pass")] * 9, draws=50),
        krippendorff_alpha([[3, 3, 3], [3, 3, 3]], "interval", draws=50),
    ):
        assert found.value is None
        assert found.interval is None
        assert found.observed == 1
        assert "every rating is the same" in found.reason


def test_the_interval_holds_the_value_and_narrows_with_more_items() -> None:
    few = [("p", "p")] * 12 + [("p", "f")] * 4 + [("f", "f")] * 6
    small, large = cohen_kappa(few, draws=1_000), cohen_kappa(few * 30, draws=1_000)
    assert small.interval is not None
    assert large.interval is not None
    assert small.value is not None
    assert small.interval.low < small.value < small.interval.high
    width = (small.interval.high - small.interval.low, large.interval.high - large.interval.low)
    assert width[1] < width[0] / 4
    assert cohen_kappa(few, draws=1_000) == small, "the same seed draws the same"


def test_the_bootstrap_of_a_share_is_the_binomial_one() -> None:
    """60 of 100: the standard error is sqrt(0.6 * 0.4 / 100) = 0.049, so 95% lies within about ±0.096."""
    found = bootstrap_interval(
        lambda weights: weights[:, 0] / weights.sum(axis=1), np.array([60.0, 40.0]), draws=4_000
    )
    assert found is not None
    assert found.low == pytest.approx(0.504, abs=0.02)
    assert found.high == pytest.approx(0.696, abs=0.02)


def test_no_interval_where_the_resamples_are_mostly_undefined() -> None:
    found = cohen_kappa([("p", "p")] * 50 + [("p", "f")], draws=500)
    assert found.value == 0
    assert found.interval is None


def test_raters_need_a_place_for_every_unit() -> None:
    with pytest.raises(ValueError, match="every rater"):
        krippendorff_alpha([[1, 2], [1]], "nominal")
    with pytest.raises(TypeError, match="no number"):
        krippendorff_alpha([["a", "b"], ["a", "c"]], "ordinal")
