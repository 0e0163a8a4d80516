"""Reading records and intervals as real models write them, and refusing what can be read in two ways."""

from __future__ import annotations

import contextlib
import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llm.types import UnusableReplyError
from rubrics.assessment import parse_assessment
from rubrics.parsing import Dimension, parse_dimensions, parse_intervals, render_dimensions
from rubrics.rubric import name_key

PLAIN = "name: Hook\nreason: Whether the first line pulls the reader in\n\nname: Price\nreason: Names a price"
EXPECTED = [
    Dimension("Hook", "Whether the first line pulls the reader in"),
    Dimension("Price", "Names a price"),
]


@pytest.mark.parametrize(
    "reply",
    [
        PLAIN,
        PLAIN.replace("\n\n", "\n"),
        PLAIN.replace("\n", "\r\n"),
        PLAIN.replace("name:", "Name :").replace("reason:", "REASON："),
        PLAIN.replace("name:", "**Name:**").replace("reason:", "**Reason**:"),
        PLAIN.replace("name:", "- name:").replace("reason:", "  * reason:"),
        PLAIN.replace("name: Hook", "1. name: Hook").replace("name: Price", "2) **name: Price**"),
        PLAIN.replace("name: Hook", "（1）名称：Hook").replace("reason:", "理由："),
        PLAIN.replace("name: Hook", "1、维度名称：`Hook`").replace("reason:", "原因："),
        PLAIN.replace("name: Hook", "### Name 1: Hook").replace("name: Price", "### Name 2: *Price*"),
        PLAIN.replace("name: Hook", "### Dimension 1: Opening\n\nname: Hook"),
        PLAIN.replace("reason:", "\nreason:"),
        PLAIN.replace("name: Price", "name:\nPrice").replace("reason: Names", "reason:\n\nNames"),
        PLAIN.replace("\n\n", "\n\n---\n\n"),
        PLAIN.replace("\n\n", "\n\n**Part two**\n"),
        "Here are the dimensions:\n\n" + PLAIN,
        "# Dimensions\n" + PLAIN + "\n",
        "```\n" + PLAIN + "\n```",
        "Sure!\n```text\n" + PLAIN + "\n```\nI hope that this helps.",
        "\ufeff> " + PLAIN.replace("\n", "\n> ").replace("> \n", "\n"),
    ],
)
def test_dressed_up_records_are_read(reply: str) -> None:
    assert parse_dimensions(reply) == EXPECTED


def test_a_reason_goes_on_over_its_lines() -> None:
    reply = "名称：时代感\n理由：年代细节是否可信：\n- 物件\n- 称呼\n\n名称：节奏\n理由：张弛"

    assert parse_dimensions(reply) == [
        Dimension("时代感", "年代细节是否可信：\n- 物件\n- 称呼"),
        Dimension("节奏", "张弛"),
    ]


def test_repeated_names_are_dropped_and_the_order_stays() -> None:
    reply = "\n".join(f"name: {name}\nreason: r{n}" for n, name in enumerate(["B", "A", " b ", "Ａ", "C"]))

    assert parse_dimensions(reply) == [Dimension("B", "r0"), Dimension("A", "r1"), Dimension("C", "r4")]


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        ("", "no name and reason records"),
        ("I cannot help with that.", "no name and reason records"),
        ("name: A\nname: B\nreason: b", "line 1: name without reason"),
        (PLAIN + "\n\nname: Cut", "line 7: name without reason"),
        (PLAIN + "\nreason: again", "line 6: reason without a name"),
        ("reason: a\nname: A", "line 1: reason without a name"),
        ("name: A\nreason:", "line 2: reason is empty"),
        ("name: <the dimension's name>\nreason: a", "line 1: name is a placeholder"),
        ("name: **\nreason: a", "line 1: name is empty"),
        ("name: A\nB\nreason: c", "line 1: name goes over more than one line"),
        ("name: A reason: b\nreason: c", "line 1: name and reason on one line"),
        ("| name | reason |\n|---|---|\n| A | b |", "line 1: a table"),
        (PLAIN + "\n\nThese cover everything.", "line 7: text after a blank line"),
        (PLAIN + "\n```\nmore\n```", "line 6: a code block"),
        ("name: A\nreason: \0", "line 2: a character that cannot be stored"),
        ("name: A\nreason: x\ud800", "line 2: a character that cannot be stored"),
    ],
)
def test_what_can_be_read_in_two_ways_is_refused_with_its_line(reply: str, message: str) -> None:
    with pytest.raises(UnusableReplyError, match=message):
        parse_dimensions(reply)


WORDS = st.from_regex(r"[A-Za-z一-鿿][A-Za-z0-9一-鿿,.;!?（）' -]{0,30}", fullmatch=True).map(
    lambda text: " ".join(text.split())
)
DIMENSIONS = st.lists(
    st.builds(Dimension, WORDS, st.lists(WORDS, min_size=1, max_size=3).map("\n".join)),
    min_size=1,
    max_size=20,
    unique_by=lambda dimension: name_key(dimension.name),
)


@settings(deadline=None)
@given(DIMENSIONS)
def test_reading_rendered_records_gives_them_back(dimensions: list[Dimension]) -> None:
    assert parse_dimensions(render_dimensions(dimensions)) == dimensions


@pytest.mark.parametrize(
    "label",
    [
        "{}-{}:",
        "{} - {} :",
        "{}–{}：",
        "{}—{}:",
        "{}~{}:",
        "{} to {}:",
        "{}到{}分：",
        "{}～{} 分：",
        "**{}-{}**:",
        "**{}-{}:**",
        "[{}-{}]",
        "【{}-{}】：",
        "({}-{}):",
        "Score {}-{}:",
        "- {}-{} points:",
        "得分：{}-{}：",
        "### {}-{}\n",
        "* **{}–{}**",
    ],
)
def test_interval_labels_as_models_write_them(label: str) -> None:
    lines = [f"{label.format(low, low + 1)} text {low}, 3 of 4" for low in (1, 3, 5, 7)]

    intervals = parse_intervals("\n".join(lines))

    assert [(one.low, one.high, one.description) for one in intervals] == [
        (low, low + 1, f"text {low}, 3 of 4") for low in (1, 3, 5, 7)
    ]


def test_full_width_digits_numbering_notes_and_several_lines() -> None:
    reply = "评分标准：\n1. １－２：没有论据\n2. 3-4（较差）：有论据，\n   但不相关\n\n3. 5-6: **都相关**"

    assert [(one.low, one.description) for one in parse_intervals(reply)] == [
        (1, "没有论据"),
        (3, "（较差） 有论据，\n但不相关"),
        (5, "都相关"),
    ]


@pytest.mark.parametrize("lows", [(0, 2, 4, 6), (1, 3, 7, 9), (3, 5, 7, 9)])
def test_a_scale_that_starts_elsewhere_or_has_a_gap_keeps_its_labels(lows: tuple[int, ...]) -> None:
    intervals = parse_intervals("\n".join(f"{low}-{low + 1}: text" for low in lows))

    assert tuple(interval.low for interval in intervals) == lows


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        ("", "no score intervals"),
        ("Only a remark.", "no score intervals"),
        ("1-2: a\n1-2: b", "line 2: interval 1-2 does not come after 2"),
        ("1-2: a\n2-3: b", "line 2: interval 2-3 does not come after 2"),
        ("3-4: a\n1-2: b", "line 2: interval 1-2 does not come after 4"),
        ("1-3: a", "line 1: interval 1-3 does not hold two consecutive scores"),
        ("2-1: a", "line 1: interval 2-1 does not hold"),
        ("1-2: a\n3-4 b", "line 2: two numbers without a colon"),
        ("1-2 a\n3-4: b", "line 1: two numbers without a colon"),
        ("1-2: a\n3: b", "line 2: a single score"),
        ("1-2:\n3-4: b", "line 1: description of interval 1-2 is empty"),
        ("1-2: a 3-4: b\n5-6: c", "line 1: two intervals on one line"),
        ("1-2: <what it is like>", "line 1: description of interval 1-2 is a placeholder"),
        ("| 1-2 | a |", "line 1: a table"),
        ("1-2: a\n\nThat is all.", "line 3: text after a blank line"),
    ],
)
def test_intervals_in_doubt_are_refused_with_their_line(reply: str, message: str) -> None:
    with pytest.raises(UnusableReplyError, match=message):
        parse_intervals(reply)


@settings(deadline=None)
@given(st.lists(WORDS, min_size=4, max_size=8))
def test_reading_plain_intervals_gives_their_descriptions(descriptions: list[str]) -> None:
    lines = [f"{2 * order + 1}-{2 * order + 2}: {text}" for order, text in enumerate(descriptions)]

    assert [interval.description for interval in parse_intervals("\n".join(lines))] == descriptions


FRAGMENTS = [
    "\n",
    "\n\n",
    "name:",
    "**",
    "reason：",
    "1-2:",
    "3–4",
    "|",
    "```",
    "#",
    "\0",
    "\ud800",
    "：",
    "9" * 9,
]


def mutated(reply: str, dice: random.Random) -> str:
    """A few cuts, repeats and insertions at random places."""
    for _ in range(dice.randint(1, 6)):
        start = dice.randint(0, len(reply))
        end = min(len(reply), start + dice.randint(0, 30))
        middle = dice.choice(["", reply[start:end] * 2, dice.choice(FRAGMENTS), chr(dice.randint(0, 0x2FFF))])
        reply = reply[:start] + middle + reply[end:]
    return reply


def test_mutated_replies_are_read_or_refused_and_nothing_else() -> None:
    dice = random.Random(4)
    intervals = "**1–2 分**：没有论据\n3-4: some\n[5-6] more\nScore 7 to 8: all of it"
    for _ in range(3000):
        for parse, reply in ((parse_dimensions, PLAIN), (parse_intervals, intervals)):
            try:
                found = parse(mutated(reply, dice))
            except UnusableReplyError:
                continue
            assert found


@pytest.mark.parametrize("run", [" ", "*", "- ", "1.", "（1）", "> ", "1-2", "9", "_", "分 ", "name "])
@pytest.mark.parametrize("start", ["", "name: ", "score ", "1-2 ", "```"])
def test_a_long_run_of_one_sign_is_read_in_time(start: str, run: str) -> None:
    reply = start + run * 20_000 + "x"
    begun = time.process_time()

    for parse in (parse_dimensions, parse_intervals):
        with contextlib.suppress(UnusableReplyError):
            parse(reply)
    parse_assessment(reply.replace("1-2", "score:"))

    assert time.process_time() - begun < 2
