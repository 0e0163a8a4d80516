"""Who trains what, and rows that survive being written and read."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rubrics.rubric import Rubric, writer_input
from training.corpora import json_line, rl_row, rubricgen_row, sft_row, split_prompts

RUBRIC = Rubric.from_json(
    [
        {
            "name": "语气",
            "criteria_description": "称呼\u2028得体",
            "1-2": "a",
            "3-4": "b",
            "5-6": "c",
            "7-8": "d",
        }
    ]
)
REQUEST = "写一封信，“敬启”\r\n\u2028 end"


def test_the_papers_19000_prompts_split_into_15000_and_4000() -> None:
    split = split_prompts(range(19_000), seed=1)

    assert (len(split.sft), len(split.rl)) == (15_000, 4_000)


@settings(deadline=None)
@given(
    st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=5), unique=True, max_size=40),
    st.integers(0, 5),
    st.fractions(0, 1),
)
def test_splits_are_disjoint_complete_and_exact(ids: list[str], seed: int, share: Fraction) -> None:
    split = split_prompts(ids, seed=seed, sft_share=share)

    assert sorted(split.sft + split.rl) == sorted(ids)
    assert abs(len(split.sft) - len(ids) * share) <= Fraction(1, 2)
    assert split_prompts(ids, seed=seed, sft_share=share) == split
    assert set(split_prompts(ids[::-1], seed=seed, sft_share=share).sft) == set(split.sft)


def test_half_a_prompt_is_rounded_up() -> None:
    assert len(split_prompts([1, 2, 3], seed=0, sft_share=Fraction(1, 2)).sft) == 2


def test_another_seed_gives_another_split() -> None:
    assert split_prompts(range(100), seed=1).sft != split_prompts(range(100), seed=2).sft


def test_a_prompt_more_moves_at_most_one_other() -> None:
    for count in range(1, 60):
        before, after = split_prompts(range(count), seed=3), split_prompts(range(count + 1), seed=3)
        assert len(set(before.sft) - set(after.sft)) + len(set(before.rl) - set(after.rl)) <= 1


def test_a_bad_split_is_refused() -> None:
    with pytest.raises(ValueError, match="twice"):
        split_prompts([1, 2, 1], seed=0)
    with pytest.raises(ValueError, match="share"):
        split_prompts([1, 2], seed=0, sft_share=Fraction(3, 2))


def test_sft_row_has_request_with_rubric_and_the_demonstration() -> None:
    row = sft_row(7, REQUEST, RUBRIC, "尊敬的\u2029老师：")

    assert row["id"] == 7
    assert row["messages"] == [
        {"role": "user", "content": writer_input(REQUEST, RUBRIC)},
        {"role": "assistant", "content": "尊敬的\u2029老师："},
    ]
    assert row["rubric_digest"] == RUBRIC.digest


def test_rl_row_has_only_the_users_turn_and_a_rubric_to_score_by() -> None:
    row = rl_row("p7", REQUEST, RUBRIC)

    assert [turn["role"] for turn in row["messages"]] == ["user"]
    assert row["messages"][0]["content"] == writer_input(REQUEST, RUBRIC)
    assert Rubric.from_json(row["rubric"]) == RUBRIC


def test_rubricgen_row_learns_the_serialized_rubric_from_the_request() -> None:
    row = rubricgen_row(7, REQUEST, RUBRIC)

    user, assistant = row["messages"]
    assert REQUEST in user["content"]
    assert RUBRIC.serialize() not in user["content"]
    assert Rubric.from_json(assistant["content"]) == RUBRIC


def test_rubricgen_row_instructs_in_the_language_of_the_request() -> None:
    rows = [rubricgen_row(7, REQUEST, RUBRIC, language=code) for code in ("de", "zh-Hant")]
    starts = [row["messages"][0]["content"].split("\n")[0] for row in rows]
    assert starts[0].startswith("Your task is")
    assert starts[1].startswith("你的任务是")


@pytest.mark.parametrize("response", ["", " \n", "<think></think>Dear", "Dear</think>"])
def test_what_must_not_be_learned_is_refused(response: str) -> None:
    with pytest.raises(ValueError, match="to be learned"):
        sft_row(7, REQUEST, RUBRIC, response)


JSON_TEXTS = st.text(
    st.characters(exclude_categories=["Cs"])
    | st.sampled_from('\x85\u2028\u2029\n\r\t\x0b\x0c\x1c\x1e\xa0\u202e",\\😀')
)


@settings(deadline=None)
@given(st.lists(st.dictionaries(st.sampled_from(["id", "text"]), JSON_TEXTS), max_size=5))
def test_rows_come_back_whichever_way_the_reader_splits_lines(rows: list[dict[str, Any]]) -> None:
    written = b"".join(json_line(row) for row in rows)

    for lines in (written.split(b"\n")[:-1], written.decode("utf-8").splitlines()):
        assert [json.loads(line) for line in lines] == rows


def test_lines_are_readable_unicode() -> None:
    assert json_line({"text": "时代感"}) == '{"text": "时代感"}\n'.encode()


@pytest.mark.parametrize("row", [{"id": 3, "text": "\ud800"}, {"id": 3, "text": float("nan")}])
def test_what_json_lines_cannot_hold_is_refused(row: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        json_line(row)
