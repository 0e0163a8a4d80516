"""Tallies and histograms worked by hand, and the numbers of rubrics in the database."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from curation.tokenizer import qwen3_encoder
from rubrics.lint import LINT_VERSION, Check
from rubrics.models import Rubric
from rubrics.rubric import Rubric as RubricValue
from rubrics.statistics import BASE, MOST_BINS, WIDTH, Tally, axis_of, plot
from rubrics.statistics_reads import groups
from tests.samples import corpus_prompt, dimensions, rubric


def tally(*values: int) -> Tally:
    return Tally(Counter(values))


def test_a_tally_worked_by_hand() -> None:
    numbers = tally(5, 5, 6, 8, 16)
    assert (numbers.n, numbers.mean, numbers.smallest, numbers.largest) == (5, 8.0, 5, 16)
    assert (numbers.median, numbers.quartiles) == (6, (5, 8))
    assert numbers.quantile(1) == 16
    nothing = tally()
    assert (nothing.n, nothing.mean, nothing.median, nothing.largest) == (0, None, None, None)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ((4, 8), (4, 1, 5)),
        ((0, 19), (0, 1, 20)),
        ((0, 20), (0, 2, 11)),
        ((1_013, 2_988), (1_000, 100, 20)),
        ((), (0, 1, 1)),
    ],
)
def test_the_narrowest_round_bins_that_cover_everything(
    values: tuple[int, ...], expected: tuple[int, int, int]
) -> None:
    axis = axis_of([tally(*values), tally()])
    assert (axis.low, axis.width, axis.bins) == expected


def test_heights_are_shares_on_one_scale() -> None:
    drawing = plot([tally(4, 4, 5), tally(4, 4, 4, 4, 5, 6, 6, 6)])
    first, second = drawing.bars
    assert [(bar.first, bar.count) for bar in first] == [(4, 2), (5, 1)]
    assert first[0].height == BASE
    assert second[0].height == pytest.approx(BASE * 0.5 / (2 / 3))
    assert drawing.rows == [((4, 4), [2, 4]), ((5, 5), [1, 1]), ((6, 6), [0, 3])]
    assert plot([tally()]).bars == ((),)


@given(st.lists(st.integers(0, 10**9), max_size=40))
def test_nothing_falls_outside_the_plot(values: list[int]) -> None:
    drawing = plot([tally(*values)])
    assert drawing.axis.bins <= MOST_BINS
    (bars,) = drawing.bars
    assert sum(bar.count for bar in bars) == len(values)
    assert all(bar.left >= 0 and bar.left + bar.width <= WIDTH + 1 and 0 <= bar.top <= BASE for bar in bars)


@pytest.mark.django_db
def test_groups_are_counted_from_the_rows() -> None:
    longer = dimensions(("Voice", "Structure"))
    longer[0]["9-10"] = "better still"
    for shape in (dimensions(), dimensions(), longer):
        rubric(corpus_prompt(), dimensions=shape)
    rubric(corpus_prompt(), method="drg")
    vague = [{"check": "vague"}, {"check": "vague"}, {"check": "maxima"}]
    pks = list(Rubric.objects.filter(method="irg").values_list("pk", flat=True))
    Rubric.objects.filter(pk=pks[0]).update(lint_version=LINT_VERSION, lint=vague)
    Rubric.objects.filter(pk=pks[1]).update(lint_version=LINT_VERSION, lint=[])
    irg, drg = groups()
    assert (irg.method, irg.rubrics, drg.label, drg.rubrics) == ("irg", 3, "DRG", 1)
    assert irg.shapes.dimensions.counts == {3: 2, 2: 1}
    assert irg.shapes.levels.counts == {4: 7, 5: 1}
    assert irg.shapes.maxima.counts == {24: 2, 18: 1}
    text = RubricValue.from_json(longer).serialize()
    assert irg.tokens.counts[len(qwen3_encoder().encode(text))] == 1
    assert (irg.read, irg.clean, irg.findings, irg.findings_each) == (2, 1, 3, 1.5)
    by_check = {each.check: (each.findings, each.rubrics) for each in irg.checks}
    assert by_check[Check.VAGUE] == (2, 1)
    assert by_check[Check.OVERLAP] == (0, 0)
    assert drg.findings_each is None


@pytest.mark.django_db
def test_what_comes_and_goes_is_counted_the_next_time() -> None:
    first = rubric()
    assert groups()[0].shapes.dimensions.counts == {3: 1}
    rubric(corpus_prompt(), dimensions=dimensions(("One", "Two")))
    assert groups()[0].shapes.dimensions.counts == {3: 1, 2: 1}
    first.delete()
    assert groups()[0].shapes.dimensions.counts == {2: 1}
