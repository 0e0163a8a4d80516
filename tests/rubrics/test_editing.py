"""The editor's operations on a draft, each by itself, and what no order of them can bring about."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rubrics.editing import (
    Draft,
    DraftDimension,
    OperationError,
    apply,
    draft_as_json,
    draft_from_json,
    draft_of,
    merged_levels,
    problems,
    rubric_of,
    with_texts_of,
)
from rubrics.rubric import Rubric, level_labels
from tests.samples import dimensions

RUBRIC = Rubric.from_json(dimensions(("Voice", "Structure", "Restraint")))
DRAFT = draft_of(RUBRIC)


def names(draft: Draft) -> list[str]:
    return [one.name for one in draft.dimensions]


def after(*operations: str, draft: Draft = DRAFT) -> Draft:
    for operation in operations:
        draft = apply(draft, operation).draft
    return draft


def test_a_draft_is_the_rubric_again() -> None:
    assert rubric_of(DRAFT) == RUBRIC
    assert draft_from_json(draft_as_json(DRAFT)) == DRAFT


def test_dimensions_move_one_place_and_the_work_stays_with_them() -> None:
    assert names(after("up:2")) == ["Voice", "Restraint", "Structure"]
    assert names(after("down:0")) == ["Structure", "Voice", "Restraint"]
    moved = apply(DRAFT, "up:2")
    assert (moved.place, moved.control) == (1, "up")
    at_the_edge = apply(DRAFT, "up:1")
    assert (at_the_edge.place, at_the_edge.control) == (0, "name")  # its button is disabled there


def test_dimensions_are_added_and_removed() -> None:
    longer = after("level-add:0:4", "level-add:1:4")
    assert after("add", draft=longer).dimensions[3] == DraftDimension(levels=("",) * 5)
    assert names(after("remove:1")) == ["Voice", "Restraint"]
    assert apply(DRAFT, "remove:2").place == 1
    assert after("remove:0", "remove:0", "remove:0") == Draft()
    assert after("remove:0", "remove:0", "remove:0", "add") == Draft((DraftDimension(),))


def test_a_merger_keeps_both_texts_where_the_other_stood() -> None:
    edited = apply(DRAFT, "merge:2:0")
    whole = edited.draft.dimensions[0]
    assert names(edited.draft) == ["Voice / Restraint", "Structure"]
    assert whole.scope == "About Voice.\nAbout Restraint."
    assert whole.levels == ("weak", "fair", "good", "strong")  # the same words are not said twice
    assert edited.place == 0
    assert apply(DRAFT, "merge:0:2").place == 1


def test_scales_of_different_lengths_meet_at_both_ends() -> None:
    assert merged_levels("abcd", "wxyz") == ("a\nw", "b\nx", "c\ny", "d\nz")
    assert merged_levels("abcde", "wxyz") == ("a\nw", "b\nx", "c", "d\ny", "e\nz")
    assert merged_levels("wxyz", "abcde") == ("w\na", "x\nb", "c", "y\nd", "z\ne")
    assert merged_levels("abcd", "z") == ("a\nz", "b", "c", "d")
    assert merged_levels("", "ab") == ("a", "b")


def test_a_split_dimension_stands_twice_under_two_names() -> None:
    once = after("split:0")
    assert names(once) == ["Voice", "Voice (2)", "Structure", "Restraint"]
    assert once.dimensions[1].levels == once.dimensions[0].levels
    assert names(after("split:0", draft=once))[:2] == ["Voice", "Voice (3)"]
    assert not problems(once)


def test_levels_are_added_and_removed_and_their_labels_follow() -> None:
    draft = after("level-add:0:1")
    assert draft.dimensions[0].levels == ("weak", "", "fair", "good", "strong")
    assert problems(draft) == {"0-level-1": "Say what a response is like that earns 3-4."}
    assert after("level-remove:0:1", draft=draft) == DRAFT
    fewer = after("level-remove:0:0")
    assert problems(fewer) == {"0-levels": "At least 4 levels are needed."}


def test_each_problem_stands_at_the_field_that_can_mend_it() -> None:
    draft = Draft(
        (
            DraftDimension("", " ", ("a", "b", "c", "d")),
            DraftDimension("Voice", "x", ("a", "", "c", "d")),
            DraftDimension("ＶＯＩＣＥ", "y", ("a", "b", "c", "d")),
            DraftDimension("Nul", "y\0", ("a", "b", "c", "d")),
        )
    )
    assert list(problems(draft)) == ["0-name", "0-scope", "1-level-1", "2-name", "3-name"]
    assert problems(draft)["2-name"] == "Dimension 2 has this name already."
    assert "cannot be stored" in problems(draft)["3-name"]
    assert problems(Draft()) == {"": "A rubric needs at least one dimension."}


@pytest.mark.parametrize(
    "operation",
    [
        *("", "nothing", "up", "up:0", "down:2", "up:x", "up:-1", "remove:3", "merge:1:1", "merge:1:9"),
        *("merge:1:", "level-add:0:9", "level-remove:0:4", "level-remove:0", "add:1", "split:99999999999999"),
    ],
)
def test_what_the_draft_has_no_place_for_is_refused(operation: str) -> None:
    with pytest.raises(OperationError):
        apply(DRAFT, operation)


@pytest.mark.parametrize("text", ["", "{", "[1]", '[["a","b"]]', '[["a","b",[1]]]', '{"a":1}', "[" * 100_000])
def test_a_tampered_draft_is_refused(text: str) -> None:
    with pytest.raises(OperationError):
        draft_from_json(text)


def test_texts_that_a_form_cannot_hold_stay_what_they_were() -> None:
    shape = dimensions(("Voice",))
    shape[0]["criteria_description"] = "one\r\ntwo\rthree"
    rubric = Rubric.from_json(shape)
    sent = Draft((DraftDimension("Voice", "one\ntwo\nthree", ("weak", "fair", "good", "new\nline")),))
    back = rubric_of(with_texts_of(sent, rubric)).dimensions[0]
    assert back.criteria_description == "one\r\ntwo\rthree"
    assert back.levels[3].description == "new\nline"


PLACES = st.integers(0, 5)
OPERATIONS = st.one_of(
    st.just("add"),
    st.builds("{}:{}".format, st.sampled_from(["up", "down", "remove", "split"]), PLACES),
    st.builds(
        "{}:{}:{}".format, st.sampled_from(["merge", "level-add", "level-remove"]), PLACES, st.integers(0, 6)
    ),
)


@given(st.lists(OPERATIONS, max_size=30))
def test_no_order_of_operations_makes_labels_that_are_not_consecutive(operations: list[str]) -> None:
    draft = DRAFT
    for operation in operations:
        try:
            edited = apply(draft, operation)
        except OperationError:
            continue
        draft = edited.draft
        assert edited.place < max(len(draft.dimensions), 1)
    filled = Draft(
        tuple(
            DraftDimension(f"{place}", "scope", tuple(text or "text" for text in one.levels) or ("text",))
            for place, one in enumerate(draft.dimensions)
        )
    )
    if not problems(filled):
        for dimension in rubric_of(filled).dimensions:
            assert [level.label for level in dimension.levels] == level_labels(len(dimension.levels))
