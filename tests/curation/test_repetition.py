"""Loops as small models make them are found, and repetition that a writer means is left alone."""

from __future__ import annotations

import json
import os
import random
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curation.repetition import RepetitionLimits, degenerate_repetition

LETTER = (
    "Write a letter to the parents of our football club about the pitch that will be closed for repairs"
    " from the third of May. Say which training hours move to the school field, who drives the small"
    " children, and that the club pays for the minibus. Keep it friendly, under 250 words, and end"
    " with my name, Karim Aziz."
)
BRIEF = (
    "请为社区图书馆写一份招募志愿者的通知，说明服务时间、主要工作和报名方式，语气亲切，四百字左右。"
    "馆里每周六上午有儿童故事会，需要两位会讲故事的人；周日下午要整理还回来的书，最好有耐心、不怕灰。"
)

DEGENERATE = {
    "one word": "the " * 60,
    "few sentences, nothing else": "The cat sat on the red mat. " * 4,
    "one word after a sound beginning": LETTER + " and" * 40,
    "two words": LETTER + " very good" * 30,
    "short phrase": "I am happy. " * 20,
    "sentence": "The story should be engaging and well written. " * 12,
    "sentence, inside": LETTER
    + " Make sure it is easy to read." * 14
    + "\n\n"
    + LETTER.replace("club", "team"),
    "sentence, cut at the limit": LETTER
    + " The letter should mention the new rules." * 9
    + " The letter sho",
    "long sentence at the end": LETTER
    + (
        " The main character, who has lived alone in the lighthouse since the accident, should discover that"
        " the lamp no longer answers to his hand, and should have to decide what he owes to the ships."
    )
    * 5,
    "paragraph": LETTER + f"\n\n{LETTER.replace('football', 'chess')}" * 4,
    "line": "Please include the following details\n" * 10,
    "two lines in turn": "Describe the setting of the story.\nDescribe the people of the story.\n" * 8,
    "three lines in turn": "Who is she and why?\nWhere does she go now?\nWhat does she find there?\n" * 7,
    "numbered list of one item": "\n".join(f"{n}. The essay should be clear and concise." for n in range(30)),
    "numbered inline": " ".join(f"{n}) Use simple words and short sentences." for n in range(1, 15)),
    "bullets": "- Add a short introduction to the topic\n" * 15,
    "chapters without end": "\n".join(f"Chapter {n}: The Journey Begins" for n in range(1, 60)),
    "counting years": " ".join(
        f"In the year {year} the company grew and opened a new office." for year in range(1990, 2020)
    ),
    "letters": "Write a story " + "a" * 300,
    "syllables in one word": "Write a song: " + "no" * 80,
    "exclamation marks": "!" * 200,
    "exclamation marks after a request": LETTER + "!" * 90,
    "emoji": "Write an ad " + "🎉" * 120,
    "question and answer": "User: Write a poem.\nAssistant: Sure, what about?\n" * 12,
    "small vocabulary": " ".join(random.Random(1).choices(["good", "nice", "very", "story", "the"], k=300)),
    "same sentence between others": " ".join(
        f"{word}? Make it sound natural and friendly to every reader."
        for word in ["Why", "How", "When", "Where", "Who", "Next", "Then", "Later", "Again", "Still", "Also"]
    ),
    "table row": "| Name | Amount | Date |\n" * 80,
    "code without end": "```\n" + "print('hello world')\n" * 150 + "```",
    "中文词": "美丽" * 40,
    "中文短语": "请写一篇关于" * 20,
    "中文句子": "这是一个关于友谊的故事。" * 12,
    "中文句子，开头正常": BRIEF + "请注意语言要生动形象。" * 12,
    "中文长句收尾": BRIEF
    + "主人公在海边小镇上开了一家修钟表的铺子，每天傍晚都去码头等一封没有寄出的信。" * 5,
    "中文列表": "\n".join(f"{n}、内容要积极向上，符合社会主义核心价值观。" for n in range(1, 20)),
    "中文单字": BRIEF + "的" * 80,
    "中文两行交替": "要求语言优美，感情真挚。\n字数不少于八百字，结构完整。\n" * 7,
    "中文标点": BRIEF + "。" * 100,
    "中文截断": BRIEF + "故事要有起伏，人物要有性格。" * 8 + "故事要有",
    "日本語": "この物語は友情についてのものです。" * 12,
    "ไทย": "เขียนเรื่องสั้นเกี่ยวกับมิตรภาพ " * 14,
    "한국어": "우정에 관한 이야기를 써 주세요. " * 14,
}

REFRAIN_POEM = "\n\n".join(
    f"{first}\n{second}\nAnd the tide comes in, and the tide goes out again."
    for first, second in [
        ("My father mended nets beside the wall,", "his fingers knew the knot before the rope."),
        ("My mother counted boats against the dusk,", "one lamp for every name that she could say."),
        ("My brother took the cannery's night shift", "and learned to sleep with engines in his ears."),
        ("My sister married inland, where the wheat", "moves like a thing that once had been the sea."),
        ("I stayed to keep the ledger and the keys,", "to salt the steps, to write the weather down."),
        ("They come on Sundays now with city shoes,", "and ask me what there is to do all day."),
        ("The nets are hung for tourists in the inn,", "the lamp is wired and answers to a switch."),
        ("Still something in the evening takes my arm", "and walks me to the wall to hear it said:"),
    ]
)

CHORUS = "Turn the radio on, let the kitchen shine,\nwe were broke and young but the night was mine,\n"
LYRICS = (
    "".join(
        f"[Verse {number}]\n{verse}\n\n[Chorus]\n{CHORUS}Oh oh oh, the night was mine.\n\n"
        for number, verse in enumerate(
            [
                "Two chairs, one lamp, a window on the tram,\nyou burned the rice and sang it to the lamp.",
                "Your sister called to say the rent was due,\nwe paid in coins and half a jar of glue.",
                "The landlord knocked, we turned the music low,\nhe stayed for soup and never seemed to go.",
            ],
            start=1,
        )
    )
    + f"[Outro]\n{CHORUS}{CHORUS}"
)

LITANY = "\n".join(
    f"{line}\nand his kindness has no end."
    for line in [
        "He hung the lanterns over every street,",
        "he taught the river where to lay its stones,",
        "he led the herders out of the dry land,",
        "he broke the lock upon the granary door,",
        "he shared the salt among the nine poor towns,",
        "he gave the orphan's field a wall of thorn,",
        "he turned the raiders at the narrow bridge,",
        "he kept the lamp alight until the thaw,",
        "he wrote our names upon the cedar board,",
        "he closed the well against the bitter year,",
    ]
)

SOUND = {
    "request": LETTER,
    "中文请求": BRIEF,
    "empty": "",
    "one word": "Help",
    "short emphasis": "Write something very very very funny, please please please!",
    "laughter": "She wrote back: ha ha ha ha ha ha ha ha, you did not! " + LETTER,
    "中文笑声": BRIEF + "他回了一句：哈哈哈哈哈哈哈哈哈哈哈哈，你可真行。",
    "refrain poem": "Here is a poem of mine. Write a review of it.\n\n" + REFRAIN_POEM,
    "lyrics": "Translate the feeling of this song into a short story.\n\n" + LYRICS,
    "litany": LITANY,
    "coda": LETTER + "\nLa la la la, la la la la, hey now.\n" * 4,
    "dashes": f"Title\n{'-' * 120}\n{LETTER}\n{'=' * 120}\n{LETTER.replace('May', 'June')}",
    "dots of a contents page": "\n".join(
        f"{title} {'.' * 60} {page}" for page, title in enumerate(["Aims", "Methods", "Costs", "People"])
    ),
    "省略号": "他想了很久……还是没有说话…………" + BRIEF,
    "markdown table": "Sum this up.\n\n| Hour | Mon | Tue | Wed | Thu | Fri |\n|---|---|---|---|---|---|\n"
    + "\n".join(f"| {hour}:00 | free | free | free | free | free |" for hour in range(8, 20)),
    "yes and no": "\n".join(f"| Item {n} | Yes | No | Yes | Yes | No |" for n in range(1, 40)),
    "form": "Design a form like this one.\n" + "Name: ________ Signature: ________ Date: ________\n" * 25,
    "labels": "\n".join(
        f"Name: {name}\nAge: {age}\nCity: {city}"
        for name, age, city in [
            ("Ines Duarte", 34, "Porto"),
            ("Li Wen", 52, "Xian"),
            ("Tom Okafor", 27, "Jos"),
            ("Ana Ruiz", 61, "Lima"),
            ("Per Lund", 45, "Bergen"),
            ("Mei Ito", 19, "Nara"),
            ("Sam Hale", 38, "Leeds"),
            ("Zoé Roux", 70, "Lyon"),
        ]
    ),
    "empty days": "Fill in a diary for me.\n" + "\n".join(f"Day {n}:" for n in range(1, 31)),
    "training plan": "\n".join(
        f"Day {n}: run {3 + n * 7 % 5} km, {20 + n * 3 % 11} push-ups, stretch {5 + n * n % 7} minutes"
        for n in range(1, 31)
    ),
    "sensor log": "Write an incident report from this log.\n"
    + "\n".join(f"At {n:02d}:00 the cold room stood at {2 + n * n % 5} degrees." for n in range(24)),
    "dialogue": "\n".join(
        f"{'Anna' if n % 2 else 'Bruno'}: {line}"
        for n, line in enumerate(
            [
                "Yes.",
                "No.",
                "Yes.",
                "Why not?",
                "Because.",
                "Yes.",
                "That is no reason.",
                "Yes.",
                "No.",
                "Then go.",
            ]
        )
    ),
    "code": "Explain this code to a beginner.\n```html\n<table>\n"
    + "<tr><td></td><td></td><td></td></tr>\n" * 20
    + "</table>\n```",
    "bare code": "\n".join(f"    values[{n}] = values[{n}] + 1" for n in range(20)) + "\n" + LETTER,
    "zeros": LETTER + "\n" + "0 0 0 0 0 0 0 0 0 0\n" * 10,
    "checklist": LETTER + "\n" + "[ ] done\n" * 12,
    "中文复沓": "\n".join(
        f"{line}\n归去吧，归去，山路已经黄昏。"
        for line in [
            "我把犁头挂在老屋的檐下，",
            "我把雨水还给屋后的池塘，",
            "母亲在灶前添最后一把柴，",
            "弟弟的书信停在去年冬天，",
            "村口的石桥记得每双草鞋，",
            "纺车的声音比月光还要细长，",
        ]
    ),
    "中文对话": "\n".join(
        f"{'甲' if n % 2 else '乙'}：{line}"
        for n, line in enumerate(["好。", "不好。", "为什么？", "不为什么。", "好吧。", "真的？", "真的。"])
    ),
    "中文表单": "姓名：________ 电话：________ 住址：________\n" * 20,
    "quoted twice": f"{LETTER}\n\nHere it is again, so that nothing is lost:\n\n{LETTER}",
}


@pytest.mark.parametrize("name", DEGENERATE)
def test_loop_is_found(name: str) -> None:
    report = degenerate_repetition(DEGENERATE[name])
    assert report.degenerate
    assert report.reason
    assert report.rule
    assert report.passage


@pytest.mark.parametrize("name", SOUND)
def test_meant_repetition_is_left_alone(name: str) -> None:
    report = degenerate_repetition(SOUND[name])
    assert not report.degenerate, report
    assert (report.reason, report.rule, report.passage) == ("", "", "")


def test_reason_names_the_passage_and_its_count() -> None:
    report = degenerate_repetition(LETTER + " Please write with great care." * 20)
    assert report.rule == "loop"
    assert report.passage == "Please write with great care"
    assert report.reason == "'Please write with great care' stands 20 times in a row to the end of the text."


def test_long_passage_is_shortened_in_the_reason_only() -> None:
    report = degenerate_repetition(f"{LETTER} " * 5)
    assert len(report.passage) > 250
    assert len(report.reason) < 140


def test_case_and_spacing_do_not_hide_a_loop() -> None:
    spoken = "".join(
        f"please write MORE about it{' ' * (n % 3 + 1)}Please Write more About It\n" for n in range(8)
    )
    assert degenerate_repetition(spoken).rule == "loop"


def test_limits_can_be_changed() -> None:
    text = LETTER + " Describe the garden of the palace in the morning." * 4
    assert not degenerate_repetition(text).degenerate
    assert degenerate_repetition(text, RepetitionLimits(loop_repeats=((100, 4),))).degenerate


words = st.lists(
    st.sampled_from(["river", "stone", "lamp", "winter", "quiet", "market", "broken", "honest", "yellow"]),
    min_size=8,
    max_size=40,
)


@settings(deadline=None)
@given(unit=words, repeats=st.integers(10, 30), before=st.booleans())
def test_any_sentence_repeated_is_found(unit: list[str], repeats: int, before: bool) -> None:
    sentence = " ".join(unit) + ". "
    assert degenerate_repetition((LETTER + "\n" if before else "") + sentence * repeats).degenerate


@settings(deadline=None)
@given(unit=st.text("春夏秋冬山水花鸟风月人间灯火书信", min_size=8, max_size=40), repeats=st.integers(10, 30))
def test_any_chinese_sentence_repeated_is_found(unit: str, repeats: int) -> None:
    assert degenerate_repetition(BRIEF + f"{unit}。" * repeats).degenerate


@settings(deadline=None)
@given(st.text(max_size=400))
def test_any_text_gets_a_verdict(text: str) -> None:
    report = degenerate_repetition(text)
    assert report.degenerate == bool(report.reason)


def test_a_megabyte_takes_well_under_two_seconds() -> None:
    rng = random.Random(7)
    lexicon = ["".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=rng.randint(2, 9))) for _ in range(20_000)]
    english = " ".join(rng.choices(lexicon, k=160_000))[:1_000_000]
    chinese = "".join(chr(rng.randrange(0x4E00, 0x6E00)) if n % 17 else "。" for n in range(333_000))
    for text in (english, chinese):
        start = time.process_time()
        assert not degenerate_repetition(text).degenerate
        assert time.process_time() - start < 2


def _benchmark_folder() -> Path:
    folder = os.environ.get("BENCHMARK_DATA")
    if not folder:
        pytest.skip("BENCHMARK_DATA does not name a folder with the public benchmarks")
    return Path(folder)


def _flagged(path: Path, field: str) -> dict[str, str]:
    lines = path.read_text(encoding="utf-8").rstrip("\n").split("\n")
    reports = {
        f"{path.parent.name}/{path.stem}:{number}": degenerate_repetition(json.loads(line)[field] or "")
        for number, line in enumerate(lines, start=1)
    }
    return {place: report.reason for place, report in reports.items() if report.degenerate}


def test_real_requests_are_not_flagged() -> None:
    folder = _benchmark_folder()
    assert _flagged(folder / "longbench_write/longbench_write.jsonl", "prompt") == {}
    assert _flagged(folder / "writingbench/length_subset.jsonl", "query") == {}
    for path in sorted((folder / "hellobench").glob("*.jsonl")):
        assert _flagged(path, "instruction") == {}


def test_real_loops_are_found_and_real_answers_are_not() -> None:
    """Of 1,294 answers of two models these eight run into a loop, six of them to over 100,000 characters."""
    paths = sorted((_benchmark_folder() / "hellobench/judgements").glob("*/*.jsonl"))
    flagged = [place for path in paths for place in _flagged(path, "response")]
    assert flagged == [
        "llama31_8b/chat_results:79",
        *(f"llama31_8b/text_completion_results:{number}" for number in (21, 29, 35, 42, 49, 63)),
        "qwen2_7b/text_completion_results:57",
    ]
