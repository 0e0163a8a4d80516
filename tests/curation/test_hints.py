"""Hints from code: what they notice in English and in Chinese, and what they leave alone."""

from __future__ import annotations

import json
import os
import time
from dataclasses import asdict
from pathlib import Path

import pytest

from curation.guidelines import GUIDELINES
from curation.hints import Hint, find_hints
from curation.models import CheckVerdict

LETTER = (
    "You look after the archive of a small theatre. Write a letter to the friends of the house in which you "
    "ask for old programmes and photographs, and explain what they will be used for. Keep it under 300 "
    "words, in two parts, and close with the opening hours."
)
REWRITTEN_LETTER = (
    "As the keeper of a village museum, write a letter to former pupils of the closed school asking for "
    "exercise books and class pictures. Say what the planned room is about and how loans are looked after. "
    "Use no more than 320 words in two parts, and end with how to reach you."
)
FOREWORD = (
    "请为一场关于运河手工业的展览写一篇前言。展览由市博物馆主办，面向普通观众，展品包括船模、织机、竹器和老照片。"
    "要求：不少于四百字，分三段，语言平实，不用感叹号。"
)
REWRITTEN_FOREWORD = (
    "请为一场山区茶农的摄影展撰写一篇序言。展览由县文化馆主办，面向外地游客，展品有制茶工具、账本和采茶歌的录音。"
    "要求：五百字左右，分三段，文字朴素，结尾邀请观众品茶。"
)


def hints(source: str, reconstruction: str, check: str, **languages: str) -> list[str]:
    found = find_hints(source, reconstruction, **languages)
    return [hint.sentence for hint in found if hint.check == check]


def pointed_at(source: str, reconstruction: str, hint: Hint) -> str:
    assert hint.passage
    text = source if hint.passage.side == "source" else reconstruction
    return text[hint.passage.start : hint.passage.end]


def test_the_names_are_those_of_the_checks() -> None:
    assert list(GUIDELINES) == CheckVerdict.Check.values
    for guideline in GUIDELINES.values():
        assert all(asdict(guideline).values())


@pytest.mark.parametrize(
    ("source", "reconstruction", "language"),
    [(LETTER, REWRITTEN_LETTER, "en"), (FOREWORD, REWRITTEN_FOREWORD, "zh")],
)
def test_a_good_reconstruction_gets_no_hint(source: str, reconstruction: str, language: str) -> None:
    assert find_hints(source, reconstruction, source_language=language, language=language) == ()


@pytest.mark.parametrize(
    "text",
    [
        "Sure! Here is a letter for the friends of the house.",
        "Dear friends of the house, the archive has grown, and so has our pride in it. The programmes of the "
        "sixties are back in their boxes, and the photographs hang in the foyer again.",
        "Here is the rewritten prompt: Write a letter to former pupils of a school.",
        "Write a letter to former pupils. I have changed the theatre into a school and kept the length.",
        "好的，亲爱的朋友们：档案室的旧节目单已经整理完毕。",
        "以下是改写后的题目：请为茶农的摄影展写一篇序言。",
        "亲爱的观众，茶山的雾在清明前后最重，林师傅在锅前站了五十年，账本上的字迹依然清楚。",
        "请为摄影展写一篇序言。希望以上内容对您有帮助。",
    ],
)
def test_an_answer_or_a_remark_is_no_request(text: str) -> None:
    assert len(hints("", text, "task_clarity")) == 1


@pytest.mark.parametrize(
    "text",
    [
        "A Hong Kong travel guide, about 3000 words",
        "Here is an article on glaciers. Summarise it for children.",
        "What should a speech at a retirement party say?",
        "粤港澳大湾区制造业的现状，2200字",
        "以下是一份会议记录，请整理成新闻稿。",
        "对于雷锋精神的推文，200字以内",
    ],
)
def test_a_bare_request_is_a_request(text: str) -> None:
    assert hints("", text, "task_clarity") == []


def test_another_language_is_named() -> None:
    found = hints(LETTER, FOREWORD, "constraint_consistency", source_language="en", language="zh")
    assert "The source is in English, the reconstruction in Chinese." in found
    for known in ("", "und"):
        found = hints(LETTER, LETTER, "constraint_consistency", source_language="en", language=known)
        assert found == []


@pytest.mark.parametrize(
    ("demand", "kept", "named"),
    [
        ("Write at most 300 words on tea.", "Write 500-word notes on coffee.", "a length"),
        ("写一篇不少于400字的短文。", "写一篇六百字的短文。", "a length"),
        ("Write a report in three sections.", "Write a report in five sections.", "a number of parts"),
        ("请分三段写一篇短文。", "请分四个部分写一篇短文。", "a number of parts"),
        ("Write a plan with a table of costs.", "Write an offer with tables.", "a table"),
        ("写一份方案，费用用表格列出。", "写一份计划，附表格。", "a table"),
        ("Give it as a bullet list, please.", "Write it with bullets.", "a list"),
        ("Return the story as JSON.", "Write Markdown.", "a format"),
        ("请用第一人称写一篇日记。", "请用第三人称写一篇游记。", "a person to write in"),
        ("Write a poem that rhymes.", "Write a sonnet.", "rhyme or a verse form"),
    ],
)
def test_a_demand_that_is_gone(demand: str, kept: str, named: str) -> None:
    gone = "Write something about the sea. 请写一篇关于大海的短文。"
    found = [h for h in find_hints(demand, gone) if h.check == "constraint_consistency"]
    assert any(f"asks for {named} (" in hint.sentence for hint in found)
    assert pointed_at(demand, gone, found[0]) in demand
    assert not any(named in sentence for sentence in hints(demand, kept, "constraint_consistency"))


@pytest.mark.parametrize(
    "text",
    [
        "Summarise the following article in five sentences. Keep the names, and use plain words.",
        "Continue the story above in the voice of the younger sister.",
        "Correct the attached letter, and say what was wrong with it.",
        "请根据以下材料写一篇评论，不少于八百字。",
        "请把上述文章缩写成三百字。",
        "阅读所给材料，写一封回信。",
    ],
)
def test_a_passage_that_is_spoken_of_and_missing(text: str) -> None:
    found = [h for h in find_hints("", text) if h.check == "contextual_coherence"]
    assert len(found) == 1
    assert pointed_at("", text, found[0])[:20] in text


@pytest.mark.parametrize(
    "text",
    [
        f"Summarise the following article.\n\n{LETTER}",
        f"{REWRITTEN_LETTER}\n\nContinue the letter above in the voice of a pupil.",
        f"请根据以下材料写一篇评论。\n\n{FOREWORD}{REWRITTEN_FOREWORD}",
        "Write a report below 300 words on the following points: cost, time, people.",
        "写一篇文章，包括以下要点：成本、时间、人员。",
    ],
)
def test_a_passage_that_is_there_or_not_spoken_of(text: str) -> None:
    assert hints("", text, "contextual_coherence") == []


def test_wording_that_is_taken_over() -> None:
    copied = LETTER.replace("theatre", "cinema").replace("Keep it", "Stay")
    (found,) = (h for h in find_hints(LETTER, copied) if h.check == "substantive_variation")
    assert "% of its words" in found.sentence
    assert pointed_at(LETTER, copied, found) in LETTER
    zh = FOREWORD.replace("运河", "丝绸")
    (found,) = (h for h in find_hints(FOREWORD, zh) if h.check == "substantive_variation")
    assert "% of its characters" in found.sentence
    assert pointed_at(FOREWORD, zh, found) in FOREWORD


def test_one_long_passage_that_is_taken_over_among_new_text() -> None:
    new = " ".join(f"The {n}th shelf holds letters from the year {1900 + n} and one map." for n in range(40))
    text = f"{new} {LETTER} {new[::-1]}"
    (sentence,) = hints(LETTER, text, "substantive_variation")
    assert sentence.startswith("A passage of 49 words stands in the source")


def test_length_and_a_sudden_end() -> None:
    (sentence,) = hints(LETTER, LETTER[:120] + ".", "usable_length")
    assert sentence == f"It is much shorter than its source: 121 of {len(LETTER)} characters (47%)."
    (sentence,) = hints(FOREWORD, REWRITTEN_FOREWORD * 4, "usable_length")
    assert "times as long as its source" in sentence
    assert hints(LETTER, FOREWORD, "usable_length", source_language="en", language="zh") == []
    for ending in ("and then the", "because of the rain,", "以及学生的", "包括：材料、"):
        assert hints("", f"Write a story. {ending}", "usable_length") == [
            "It ends in the middle of a sentence."
        ]
    for ending in ("The end.", "请写一首诗。", "Title: The Sea", "写一首诗"):
        assert hints("", f"Write a story. {ending}", "usable_length") == []


def test_long_texts_take_moments() -> None:
    source, text = (" ".join(f"{word}{n % 97}" for n in range(8_000)) for word in ("one", "two"))
    started = time.process_time()
    find_hints(source, text)
    find_hints("字" * 50_000 + "。", "诗" * 50_000)
    assert time.process_time() - started < 5


def test_real_requests_hardly_ever_look_like_answers_or_miss_their_material() -> None:
    folder = os.environ.get("BENCHMARK_DATA")
    if not folder:
        pytest.skip("BENCHMARK_DATA is not set: no real requests to look at")
    lines = (Path(folder) / "longbench_write" / "longbench_write.jsonl").read_text(encoding="utf-8")
    requests = [json.loads(line)["prompt"] for line in lines.splitlines()]
    noticed = [text for text in requests if find_hints("", text)]
    assert len(noticed) <= len(requests) * 0.02, noticed
