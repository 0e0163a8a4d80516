"""The policy `checked`, repeated readings, the language of the question, and what one nine of ten is."""

from __future__ import annotations

from typing import Any

import pytest

from llm.types import SamplingParams
from rubrics.assessment import ItemScore, departures, first_of_each
from rubrics.judging import AssessmentOutcome, Policy, assess_response
from tests.rubrics.test_judging import GOOD, RUBRIC
from tests.scripted import ScriptedChat

SAMPLING = SamplingParams(temperature=0.1)
HOOK, PRICE = "Hook (first line?)", "价格"
MAXIMA = {HOOK: 10, PRICE: 8}


async def read(reply: Any, policy: Policy, **more: Any) -> AssessmentOutcome:
    return await assess_response(
        "Text.", RUBRIC, ScriptedChat({"assessment": reply}), SAMPLING, policy=policy, **more
    )


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (GOOD.replace(PRICE, "Rhythm"), 'the rubric has no dimension "Rhythm"; "价格" is not scored'),
        (GOOD.split("\n\n")[0], '"价格" is not scored'),
        (GOOD.replace("4/8", "4/10"), '"价格" is scored out of 10, its maximum is 8'),
        (GOOD.replace("4/8", "9/8"), '"价格" has the score 9 of 8'),
        (GOOD.replace("4/8", "4.5/8"), '"价格" is not scored'),
        (
            GOOD + f"\n\nname: {HOOK}\nscore: 3/10\ncomments and suggestions: again",
            f'"{HOOK}" is scored twice, 8 and 3',
        ),
    ],
)
async def test_checked_takes_no_departure_from_the_rubric_for_a_score(reply: str, said: str) -> None:
    outcome = await read(reply, "checked")

    assert outcome.reward is None
    assert said in outcome.failure
    assert "replies read: 3" in outcome.failure
    assert outcome.items
    assert outcome.policy == "checked"


async def test_checked_reports_what_is_missing_and_unknown() -> None:
    outcome = await read(GOOD.replace(PRICE, "Rhythm"), "checked")

    assert (outcome.missing, outcome.unknown) == ((PRICE,), ("Rhythm",))


async def test_checked_asks_again_and_takes_the_first_whole_reply() -> None:
    outcome = await read([GOOD.split("\n\n")[0], GOOD], "checked")

    assert outcome.reward is not None
    assert (outcome.reward.value, outcome.failure) == (12 / 18, "")


async def test_the_same_score_twice_is_no_contradiction_and_counts_once() -> None:
    again = GOOD + f"\n\nname: {HOOK}\nscore: 8/10\ncomments and suggestions: as before"

    outcome = await read(again, "checked")

    assert outcome.reward is not None
    assert outcome.reward.value == 12 / 18
    assert len(outcome.items) == 2


@pytest.mark.parametrize("reply", ["No scores from me.", ""])
async def test_what_is_a_flagged_fallback_to_paper_is_no_value_at_all_to_checked(reply: str) -> None:
    paper, checked = await read(reply, "paper"), await read(reply, "checked")

    assert paper.reward is not None
    assert paper.reward.fallback
    assert paper.failure == ""
    assert (checked.reward, checked.items) == (None, ())
    assert checked.failure


@pytest.mark.parametrize(
    "line",
    [
        "score: 9",
        "score: 9/10",
        "score: 9 /10",
        "score: 9／10",
        "score: **9/10**",
        "分数：9/10",
        "score： 9 / 10",
    ],
)
@pytest.mark.parametrize("policy", ["paper", "checked"])
async def test_nine_is_nine_under_either_policy(line: str, policy: Policy) -> None:
    outcome = await read(GOOD.replace("score: 8/10", line), policy)

    assert outcome.reward is not None
    assert outcome.reward.value == 13 / 18


@pytest.mark.parametrize("written", ["9.5/10", "-1/10", "11/10", "9/0"])
async def test_what_is_no_valid_score_enters_no_mean(written: str) -> None:
    reply = GOOD.replace("8/10", written)

    paper, checked = await read(reply, "paper"), await read(reply, "checked")

    assert paper.reward is not None
    assert (paper.reward.value, paper.reward.valid) == (4 / 8, 1)
    assert checked.reward is None


async def test_samples_are_questions_of_their_own() -> None:
    chat = ScriptedChat({"assessment": {0: GOOD, 1: GOOD.replace("8/10", "6/10")}})

    outcomes = [
        await assess_response("Text.", RUBRIC, chat, SAMPLING, sample_index=number) for number in (0, 1)
    ]

    assert [one.reward.value for one in outcomes if one.reward] == [12 / 18, 10 / 18]
    assert [one.sample_index for one in outcomes] == [0, 1]
    assert len({request.key("m") for request in chat.requests}) == 2


async def test_an_outcome_says_who_read_and_from_which_template() -> None:
    english, chinese = await read(GOOD, "paper"), await _read_chinese()

    assert (english.judge, english.template) == ("scripted-model", "assessment@1")
    assert chinese.template == "assessment.zh@1"


async def _read_chinese() -> AssessmentOutcome:
    chat = ScriptedChat({"assessment.zh": GOOD})
    return await assess_response("正文。", RUBRIC, chat, SAMPLING, language="zh")


def test_departures_by_hand() -> None:
    items = [ItemScore(HOOK, 8, 10, ""), ItemScore("价格 ", 4, 8, "")]

    assert departures(items, MAXIMA) == []
    assert departures([], MAXIMA) == [f'"{HOOK}" is not scored', f'"{PRICE}" is not scored']
    assert first_of_each([*items, ItemScore(PRICE, 4, 8, "again")]) == items
