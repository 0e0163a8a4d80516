"""Texts in English, Chinese and everything between, the same every time: what screening is compared on."""

from __future__ import annotations

import random
from collections.abc import Sequence

ENGLISH = (
    *("the ferry leaves at nine and nobody on the pier minds", "I'LL write; they'd rather we're brief"),
    *("Please draft a letter to the council about", "a short story set in a closed railway station"),
    *("keep it under", "with three sections, each of about", "don't mention the budget", "in plain words"),
    *("our grandmother's recipe for pickled plums", "minutes of the meeting of the allotment society"),
    *("UNDERSTANDING", "naïve façade", "co-operate", "e.g.", "rock'n'roll", "snake_case_name", "iPhone"),
)
CHINESE = (
    *("请写一封信给社区图书馆", "介绍一下江南水乡的旧码头", "语言平实，不用感叹号", "不少于四百字"),
    *("老师说这篇文章的结构还可以更清楚", "以「雨后的菜市场」为题", "第三段要有对话", "祖母的腌梅子"),
    *("会议纪要：讨论了修缮屋顶的预算", "繁體中文與簡體中文並列", "写", "的", "，", "。", "……", "《》"),
)
NUMBERS = ("800", "1,250.50", "３００字", "2026-01-07", "0x1F", "½", "Ⅳ", "①②③", "١٢٣", "3.14159265358979")
EMOJI = ("😀", "👩‍👩‍👧‍👦", "🏳️‍🌈", "🇨🇳🇩🇪", "👍🏽", "❤️", "🧑🏿‍🚀")
CODE = (
    *(
        "def f(x):\n    return x ** 2  # squared\n",
        "<div class='a'>&nbsp;</div>",
        '{"a": [1, 2, {"b": null}]}',
    ),
    *("SELECT * FROM t WHERE a <> 'b';", "\tfor (;;) { i += 1; }\r\n", "C:\\temp\\new", "\\frac{1}{2}"),
)
COMBINING = (
    *("e\u0301a\u0323\u0302", "Vie\u0323\u0302t Nam", "\u1112\u1161\u11ab\u1100\u1173\u11af", "\u0928\u093f"),
    *("\u09c7\u09be", "n\u0303o\u0308", "A\u030a", "\u212b", "\ufb01", "\u0e19\u0e49\u0e33", "q\u0307\u0323"),
)
ODD = (
    *("\u00a0", "\u2028", "\u3000", "\u200b", "\ufeff", "\u0085", "\0", "\r\n\r\n", "\t \t", "\n \n", "   "),
    *("שלום עולם", "مرحبا", "Привет", "สวัสดี", "ελληνικά", "<|im_end|>", "<think>", "\U00020000", "\ufffd"),
)
LONG_RUNS = ("a", "=", " ", "\n", "哈", "!", "9", "ab", "\u0301", "😂", "-\n", "。")

KINDS: Sequence[tuple[Sequence[str], int]] = (
    *((ENGLISH, 30), (CHINESE, 30), (NUMBERS, 8), (EMOJI, 5), (CODE, 5), (COMBINING, 6), (ODD, 8)),
)
"""Pieces by kind, and how often a kind is drawn."""

WORDS, CHARACTERS = " ".join(ENGLISH).split(), "".join(CHINESE)

JOINTS = (" ", " ", " ", "", "", "\n", "，", ", ")


def mixed_texts(count: int, *, seed: int) -> list[str]:
    """`count` texts of up to some 1,500 characters; a few are empty or of one piece."""
    chance = random.Random(seed)
    return [_text(chance, chance.choice((0, 1, 3, 8, 15, 30, 60))) for _ in range(count)]


def sharing(texts: Sequence[str], samples: Sequence[str], *, seed: int) -> list[str]:
    """The texts, of which three in four have a passage of a sample put in somewhere."""
    chance = random.Random(seed)
    return [_with_passage(text, chance.choice(samples), chance) for text in texts]


def _text(chance: random.Random, pieces: int) -> str:
    kinds, weights = zip(*KINDS, strict=True)
    text = ""
    for kind in chance.choices(kinds, weights, k=pieces):
        text += _piece(chance, kind) + chance.choice(JOINTS)
        if chance.random() < 0.03:
            text += chance.choice(LONG_RUNS) * chance.randrange(2, 120)
        if chance.random() < 0.05:
            text += chr(chance.choice((chance.randrange(0x20, 0x3000), chance.randrange(0x4E00, 0x9FA5))))
    return text


def _piece(chance: random.Random, kind: Sequence[str]) -> str:
    """Mostly words or characters in an order of their own: few trigrams are in two texts by chance."""
    if kind is ENGLISH and chance.random() < 0.9:
        return " ".join(chance.choices(WORDS, k=chance.randrange(2, 9)))
    if kind is CHINESE and chance.random() < 0.9:
        return "".join(chance.choices(CHARACTERS, k=chance.randrange(3, 16)))
    return chance.choice(kind)


def _with_passage(text: str, sample: str, chance: random.Random) -> str:
    if not sample or chance.random() < 0.25:
        return text
    start = chance.randrange(len(sample))
    passage = sample[start : start + chance.randrange(1, 2 + len(sample) // chance.choice((1, 4, 12)))]
    place = chance.randrange(len(text) + 1)
    return text[:place] + passage + text[place:]
