"""Short requests in English and Chinese above all; no guess where nothing can be told."""

from __future__ import annotations

import json
import os
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curation.languages import detect_language, mostly_unspaced, unspaced

REQUESTS = [
    ("en", "Write a poem"),
    ("en", "Write a short story about a cat."),
    ("en", "Draft an email to my landlord about the broken heating."),
    ("en", "Explain the water cycle to a class of nine-year-olds in 300 words."),
    ("en", "Write an essay comparing 《红楼梦》 with Buddenbrooks, for readers who know neither book."),
    ("en", "WRITE A LETTER TO THE COUNCIL ABOUT THE CLOSED FOOTBRIDGE"),
    ("zh", "写一首诗"),
    ("zh", "法真简介，200字左右"),
    ("zh", "寫一封信給老師，說明請假原因。"),
    ("zh", "写一篇关于The Great Gatsby和To Kill a Mockingbird的读书笔记，800字"),
    ("zh", "请用English写一封cover letter给Google"),
    ("zh", "基于OpenStack和Ceph的高可用存储集群的搭建毕业论文的结论写5000字"),
    ("ja", "東京の春について短い詩を書いてください。"),
    ("ko", "한국어로 편지를 써 주세요"),
    ("de", "Schreibe einen kurzen Brief an meine Tante."),
    ("fr", "Écris une lettre à mon propriétaire."),
    ("es", "Escribe un cuento corto sobre un perro perdido."),
    ("ru", "Напиши короткое письмо моему учителю о поездке."),
    ("ar", "اكتب رسالة قصيرة إلى صديقي عن السفر"),
    ("th", "เขียนเรื่องสั้นเกี่ยวกับแมว"),
]


@pytest.mark.parametrize(("code", "text"), REQUESTS)
def test_language_of_a_request(code: str, text: str) -> None:
    found = detect_language(text)
    assert found.code == code
    assert 0 < found.confidence <= 1 + 1e-6


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   \n",
        "1234 5678",
        "😀😀😀",
        "!!! --- ???",
        "a",
        "qwkjhz xcvmnb poiuyt lkjh",
        "asdf qwer zxcv uiop",
        "\0\0",
        "\ud800",
        "q\ud800",
    ],
)
def test_undetermined(text: str) -> None:
    assert detect_language(text).code == "und"


def test_varieties_have_the_code_of_their_language() -> None:
    assert detect_language("你好").code == "zh"  # the statistical model says Cantonese


@settings(deadline=None)  # the first call loads the model
@given(st.text(st.characters(), max_size=200))
def test_any_text_gets_a_code_of_two_letters_or_und(text: str) -> None:
    found = detect_language(text)
    assert re.fullmatch("[a-z]{2}|und", found.code)
    assert 0 <= found.confidence <= 1 + 1e-6


def test_detection_may_be_shared_by_threads() -> None:
    texts = [text for _, text in REQUESTS] * 10
    with ThreadPoolExecutor(8) as pool:
        assert [found.code for found in pool.map(detect_language, texts)] == [
            code for code, _ in REQUESTS
        ] * 10


def test_only_scripts_without_spaces_are_unspaced() -> None:
    assert all(unspaced(code) for code in ("zh", "ja", "th", "lo", "km", "my", "bo"))
    assert not any(unspaced(code) for code in ("en", "ko", "de", "ar", "und", ""))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("写一首诗", True),
        ("请写一篇关于 The Great Gatsby 的读书笔记", True),
        ("Write an essay about 《红楼梦》 for beginners", False),
        ("เขียนเรื่องสั้น", True),
        ("한국어로 편지를 써 주세요", False),
        ("12345", False),
        ("", False),
    ],
)
def test_script_of_a_text_of_unknown_language(text: str, expected: bool) -> None:
    assert mostly_unspaced(text) is expected


def _by_hand(text: str) -> str:
    """English or Chinese, in a file of nothing else: Chinese as soon as some characters are."""
    return "zh" if len(re.findall("[\u4e00-\u9fff]", text)) > 3 else "en"


def test_real_requests() -> None:
    folder = os.environ.get("BENCHMARK_DATA")
    if not folder:
        pytest.skip("BENCHMARK_DATA does not name a folder with the public benchmarks")
    path = Path(folder) / "longbench_write/longbench_write.jsonl"
    prompts = [
        json.loads(line)["prompt"] for line in path.read_text(encoding="utf-8").rstrip("\n").split("\n")
    ]
    assert len(prompts) == 120
    wrong = [
        (prompt, found) for prompt in prompts if (found := detect_language(prompt)).code != _by_hand(prompt)
    ]
    assert wrong == []
