"""Item scores out of a judge's reply, and the reward that they make (paper B.5)."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rubrics.assessment import FALLBACK_REWARD, ItemScore, parse_assessment, reward

PLAIN = (
    "name: Hook\nscore: 9/10\ncomments and suggestions: Vivid; trim the second clause.\n\n"
    "name: Price\nscore: 3/8\ncomments and suggestions: Named once; compare it."
)
EXPECTED = [
    ItemScore("Hook", 9, 10, "Vivid; trim the second clause."),
    ItemScore("Price", 3, 8, "Named once; compare it."),
]


@pytest.mark.parametrize(
    "reply",
    [
        PLAIN,
        PLAIN.replace("\n\n", "\n"),
        PLAIN.replace("\n", "\r\n"),
        "```\n" + PLAIN + "\n```",
        "Here is my assessment.\n\n" + PLAIN,
        PLAIN.replace("name:", "**Name:**").replace("score:", "**Score**:"),
        PLAIN.replace("name: Hook", "1. name: **Hook**").replace("comments and", "- Comments &"),
        PLAIN.replace("name:", "名称：")
        .replace("score:", "得分：")
        .replace("comments and suggestions:", "评语："),
        PLAIN.replace("name:", "### 维度名称：").replace("comments and suggestions:", "评论与建议："),
        PLAIN.replace("score: 9/10", "score:  9 / 10 "),
    ],
)
def test_dressed_up_items_are_read(reply: str) -> None:
    assert parse_assessment(reply) == EXPECTED


@pytest.mark.parametrize(
    "line",
    [
        "score: 9/10",
        "score: 9 /10",
        "score: 9／10",
        "score: **9/10**",
        "**score: 9/10**",
        "分数：9/10",
        "score： 9 / 10",
        "得分：９／１０",
        "分数：9分/10分",
    ],
)
def test_nine_of_ten_is_nine_however_it_is_written(line: str) -> None:
    assert parse_assessment(f"name: A\n{line}\ncomments: x") == [ItemScore("A", 9, 10, "x")]


def test_a_score_without_a_maximum_takes_the_rubrics_and_is_not_valid_without_one() -> None:
    reply = "name: A\nscore: 9\ncomments and suggestions: x"

    assert parse_assessment(reply) == [ItemScore("A", 9, None, "x")]
    assert reward(parse_assessment(reply)).fallback
    assert parse_assessment(reply, maxima={" a": 12}) == [ItemScore("A", 9, 12, "x")]
    assert reward(parse_assessment(reply, maxima={"A": 12})).value == 0.75


@pytest.mark.parametrize("written", ["-1/10", "−1/10", "11/10", "9/0", "0/0", "9/-10"])
def test_numbers_out_of_range_are_reported_and_make_no_reward(written: str) -> None:
    items = parse_assessment(f"name: A\nscore: {written}\ncomments: x")

    assert len(items) == 1
    assert not items[0].valid
    assert reward(items).fallback
    assert reward(items).dropped == 1


@pytest.mark.parametrize(
    "written",
    [
        "9.5/10",
        "9/10.0",
        "9.5",
        "nine",
        "9/10 or 8/10",
        "9-10",
        "about 9/10",
        "9/",
        "/10",
        "",
        "1" * 5000,
        "9²/10",
    ],
)
def test_what_is_no_whole_number_is_no_item(written: str) -> None:
    assert parse_assessment(
        f"name: A\nscore: {written}\ncomments: x\n\nname: B\nscore: 1/2\ncomments: y"
    ) == [ItemScore("B", 1, 2, "y")]


def test_a_score_inside_the_comments_neither_changes_nor_removes_the_score() -> None:
    reply = (
        "name: A\nscore: 3/10\ncomments and suggestions: The text asks for\nscore: 10/10\n**score: 9/10**\n\n"
        "and earns it not.\n\nname: B\nscore: 4/10\ncomments and suggestions: y"
    )

    items = parse_assessment(reply)

    assert [(item.name, item.score) for item in items] == [("A", 3), ("B", 4)]
    assert items[0].comment == "The text asks for\nscore: 10/10\n**score: 9/10**\n\nand earns it not."


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "score: 9/10\ncomments: no name",
        "name: A\ncomments: score after the comments\nscore: 9/10",
        "name: A\nscore: 3/10\nscore: 9/10\ncomments: two scores",
        "name:\nscore: 9/10\ncomments: nameless",
        "name: A score: 9/10\ncomments: one line",
        "| A | 9/10 | fine |",
        '[{"name": "A", "score": "9/10"}]',
    ],
)
def test_what_is_in_doubt_is_no_item(reply: str) -> None:
    assert parse_assessment(reply) == []


def test_characters_that_cannot_be_stored_are_replaced() -> None:
    items = parse_assessment("name: A\0\nscore: 1/2\ncomments: \ud800")

    assert items == [ItemScore("A\ufffd", 1, 2, "\ufffd")]


def test_reward_by_hand() -> None:
    items = [
        ItemScore("A", 9, 10, ""),
        ItemScore("B", 3, 8, ""),
        ItemScore("C", 0, 2, ""),
        ItemScore("D", 11, 10, ""),
        ItemScore("E", -1, 10, ""),
        ItemScore("F", 5, 0, ""),
        ItemScore("G", 5, None, ""),
    ]

    earned = reward(items)

    assert earned.value == (9 + 3 + 0) / (10 + 8 + 2)
    assert (earned.fallback, earned.valid, earned.dropped) == (False, 3, 4)


def test_without_a_valid_item_the_fallback_is_given_and_flagged() -> None:
    assert FALLBACK_REWARD == 0.4
    assert (reward([]).value, reward([]).fallback) == (0.4, True)


def test_an_earned_two_fifths_is_not_the_fallback() -> None:
    assert reward([ItemScore("A", 4, 10, "")]).value == FALLBACK_REWARD
    assert not reward([ItemScore("A", 4, 10, "")]).fallback


@settings(deadline=None)
@given(
    st.lists(
        st.builds(
            ItemScore,
            st.just("A"),
            st.integers(-3, 10**6),
            st.none() | st.integers(-3, 10**6),
            st.just(""),
        )
    )
)
def test_a_reward_is_always_within_its_bounds(items: list[ItemScore]) -> None:
    earned = reward(items)

    assert 0.0 <= earned.value <= 1.0
    assert earned.valid + earned.dropped == len(items)
    assert earned.fallback == (earned.valid == 0)


def test_mutated_replies_never_raise() -> None:
    dice = random.Random(18)
    for _ in range(3000):
        reply = PLAIN
        for _ in range(dice.randint(1, 6)):
            at = dice.randint(0, len(reply))
            new = dice.choice(
                ["\n", "score:", "**", "/", "-", "９", ".", "\0", "\ud800", chr(dice.randint(0, 0x2FFF))]
            )
            reply = reply[:at] + new + reply[min(len(reply), at + dice.randint(0, 20)) :]
        assert 0.0 <= reward(parse_assessment(reply)).value <= 1.0
