"""Two rubrics side by side: alike dimensions stand beside each other, and nothing is lost or shown twice."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rubrics.comparison import Pair, compare
from rubrics.rubric import Rubric
from tests.samples import dimensions


def rubric(*scopes: tuple[str, str]) -> Rubric:
    shapes = dimensions(tuple(name for name, _ in scopes))
    return Rubric.from_json(
        [shape | {"criteria_description": scope} for shape, (_, scope) in zip(shapes, scopes, strict=True)]
    )


LEFT = rubric(
    ("The night ferry", "which sailings of the ferry have stopped"),
    ("An island for strangers", "what a reader sees of Inishmore"),
    ("Rhyme", "whether lines rhyme"),
)
RIGHT = rubric(
    ("Dates and length", "three dates within 300 words"),
    ("Sailings", "whether the stopped sailings of the night ferry are named"),
    ("an ISLAND for strangers", "nothing else in common"),
)


def names(pairs: list[Pair]) -> list[tuple[str | None, str | None]]:
    return [
        (pair.left.name if pair.left else None, pair.right.name if pair.right else None) for pair in pairs
    ]


def test_alike_dimensions_stand_side_by_side() -> None:
    pairs = compare(LEFT, RIGHT)
    assert names(pairs) == [
        ("The night ferry", "Sailings"),
        ("An island for strangers", "an ISLAND for strangers"),
        ("Rhyme", None),
        (None, "Dates and length"),
    ]
    assert 0.15 <= pairs[0].likeness < 1
    assert pairs[1].likeness == 1
    assert not any(pair.same for pair in pairs)


def test_a_rubric_beside_itself_is_the_same_in_every_row() -> None:
    assert all(pair.same and pair.likeness == 1 for pair in compare(LEFT, LEFT))


@given(st.permutations(range(3)), st.permutations(range(3)))
def test_the_order_of_dimensions_makes_no_other_pairs(mine: list[int], theirs: list[int]) -> None:
    left = Rubric(tuple(LEFT.dimensions[at] for at in mine))
    right = Rubric(tuple(RIGHT.dimensions[at] for at in theirs))
    assert set(names(compare(left, right))) == set(names(compare(LEFT, RIGHT)))
    turned = {(other, one) for one, other in names(compare(right, left))}
    assert turned == set(names(compare(left, right)))
