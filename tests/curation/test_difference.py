"""What differs between two texts: exact, readable, and quick however long the texts are."""

from __future__ import annotations

import random
import time
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curation.difference import Run, difference


def shown(runs: tuple[Run, ...]) -> str:
    return "".join(f"[{text}]" if changed else text for text, changed in runs)


def whole(runs: tuple[Run, ...]) -> str:
    return "".join(text for text, _ in runs)


@pytest.mark.parametrize(
    ("source", "reconstruction", "left", "right"),
    [
        ("Write a poem.", "Write a poem.", "Write a poem.", "Write a poem."),
        ("", "", "", ""),
        ("", "New.", "", "[New.]"),
        ("Keep it under 300 words.", "Keep it under 350 words.", "Keep it under [300] words.", None),
        ("Write to Anna", "Write a letter to Anna", "Write to Anna", "Write [a letter] to Anna"),
        ("a  b\n\nc", "a b c", "a  b\n\nc", "a b c"),
        (
            "请为一场关于运河的展览写前言。",
            "请为一场关于茶山的展览写前言。",
            "请为一场关于[运河]的展览写前言。",
            "请为一场关于[茶山]的展览写前言。",
        ),
        ("用Python写一首诗", "用Rust写一首诗", "用[Python]写一首诗", "用[Rust]写一首诗"),
    ],
)
def test_what_is_changed(source: str, reconstruction: str, left: str, right: str | None) -> None:
    found = difference(source, reconstruction)
    assert shown(found.source) == left
    assert right is None or shown(found.reconstruction) == right


def test_words_that_fall_into_line_by_chance_are_no_islands() -> None:
    found = difference(
        "Describe the colour of the river at dawn for a class of painters.",
        "Explain the working of a steam engine to the children of engineers.",
    )
    assert sum(not changed for _, changed in found.reconstruction) <= 1


def test_a_taken_over_sentence_stays_unchanged_between_new_ones() -> None:
    kept = "Every guest brings one thing that no longer works."
    found = difference(f"Write a speech. {kept} Be brief.", f"Draft an invitation. {kept} Use a warm tone.")
    assert any(kept.rstrip(".") in text and not changed for text, changed in found.reconstruction)


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="ab 字诗\n.\r\u2028\U0001f469\u200d'", max_size=60), st.text(max_size=60))
def test_the_runs_are_the_exact_texts(source: str, reconstruction: str) -> None:
    found = difference(source, reconstruction)
    for text, runs in ((source, found.source), (reconstruction, found.reconstruction)):
        assert whole(runs) == text
        assert all(part for part, _ in runs)
        assert all(one[1] != other[1] for one, other in pairwise(runs))


def words(count: int, seed: int) -> str:
    chance = random.Random(seed)
    vocabulary = ["".join(chance.choices("etaoinshrdlu", k=chance.randint(2, 9))) for _ in range(3_000)]
    return " ".join(chance.choices(vocabulary, k=count))


@pytest.mark.parametrize("unspaced", [False, True])
def test_two_texts_of_the_greatest_length_take_moments(unspaced: bool) -> None:
    one, other = words(8_000, 1), words(8_000, 2)
    if unspaced:
        one, other = ("".join(chr(0x4E00 + ord(c)) for c in text if c != " ") for text in (one, other))
    started = time.process_time()
    found = difference(one, other)
    assert time.process_time() - started < 5
    assert whole(found.source) == one
    assert whole(found.reconstruction) == other


def test_past_one_window_the_texts_are_still_whole_and_compared() -> None:
    one = words(30_000, 3)
    other = one.replace("e", "E", 1)
    found = difference(one, other)
    assert whole(found.reconstruction) == other
    assert sum(len(text) for text, changed in found.reconstruction if changed) < 20
