"""The whole response stands in the question, or the row says that it does not."""

from __future__ import annotations

import dataclasses
import re

import pytest

from curation.tokenizer import qwen3_encoder
from llm.types import RefusedError, SamplingParams
from rubrics.fitting import Window, cut_middle, question_tokens
from rubrics.judging import assess_response, judge_request
from tests.rubrics.test_judging import GOOD, RUBRIC
from tests.scripted import ScriptedChat

SAMPLING = SamplingParams()
TEXTS = {
    "en": "Beginning. " + "The river ran on past the mill. " * 400 + "The end.",
    "zh": "开头。" + "河水流过磨坊，长桥上没有行人。" * 300 + "结尾。",
}


def shown(chat: ScriptedChat) -> str:
    question = chat.requests[0].messages[0].content
    marker = re.search(r"^=== response [0-9a-f]+ ===$", question, re.MULTILINE)
    assert marker
    return question.split(marker[0])[1].strip("\n")


def length(text: str) -> int:
    return len(qwen3_encoder().encode(text))


@pytest.mark.parametrize("language", TEXTS)
async def test_without_a_window_the_longest_response_stands_whole(language: str) -> None:
    chat = ScriptedChat([(lambda request: True, GOOD)])

    outcome = await assess_response(TEXTS[language] * 20, RUBRIC, chat, SAMPLING, language=language)

    assert shown(chat) == TEXTS[language] * 20
    assert not outcome.response_cut


async def test_what_fits_exactly_is_not_cut_and_one_token_less_cuts_it() -> None:
    exact = length(judge_request(TEXTS["en"], RUBRIC, SAMPLING).messages[0].content)
    for tokens, cut in ((exact, False), (exact - 1, True)):
        chat = ScriptedChat({"assessment": GOOD})
        outcome = await assess_response(
            TEXTS["en"], RUBRIC, chat, SAMPLING, window=Window(tokens, qwen3_encoder())
        )
        assert outcome.response_cut is cut
        assert length(chat.requests[0].messages[0].content) <= tokens


@pytest.mark.parametrize(("language", "words"), [("en", "left out here"), ("zh", "此处略去")])
async def test_a_cut_response_keeps_both_ends_and_says_how_much_is_gone(language: str, words: str) -> None:
    chat = ScriptedChat([(lambda request: True, GOOD)])

    outcome = await assess_response(
        TEXTS[language], RUBRIC, chat, SAMPLING, language=language, window=Window(1500, qwen3_encoder())
    )

    text = shown(chat)
    assert outcome.response_cut
    assert length(chat.requests[0].messages[0].content) <= 1500
    assert text[:8] == TEXTS[language][:8]
    assert text[-3:] == TEXTS[language][-3:]
    before, gap, after = re.split(r"\n([\[［].*[\]］])\n", text)
    assert words in gap
    missing = int(re.sub(r"[^0-9]", "", gap))
    assert missing == len(TEXTS[language]) - len(before) - len(after)
    assert TEXTS[language] == before + TEXTS[language][len(before) : len(before) + missing] + after


async def test_a_rubric_that_leaves_no_room_is_refused_and_nothing_asked() -> None:
    chat = ScriptedChat({"assessment": GOOD})

    with pytest.raises(RefusedError, match="leaves no room"):
        await assess_response(TEXTS["en"], RUBRIC, chat, SAMPLING, window=Window(300, qwen3_encoder()))
    assert chat.requests == []


def test_a_reply_has_its_room_in_the_window() -> None:
    assert question_tokens(32_768, None) == 32_768 - 2_048 - 64
    assert question_tokens(4_096, None) == 4_096 - 1_024 - 64
    assert question_tokens(4_096, 100) == 4_096 - 100 - 64


def test_cutting_takes_the_middle() -> None:
    encoder = dataclasses.replace(
        qwen3_encoder(), offsets=lambda text: [(place, place + 1) for place in range(len(text))]
    )
    assert cut_middle("0123456789", 5, encoder).startswith("012\n[… 5 characters")
    assert cut_middle("0123456789", 5, encoder).endswith("]\n89")
