"""The small words of every page: rates, durations, shares, chips, bars, times."""

from __future__ import annotations

import datetime as dt

import pytest

from llm.templatetags.workbench import bar, chip, duration, excerpt, moment, over, percent, rate, reading


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0 s"),
        (59.4, "59 s"),
        (60, "1 min"),
        (200, "3 min 20 s"),
        (7_800, "2 h 10 min"),
        (100_800, "1 d 4 h"),
    ],
)
def test_duration(seconds: float, words: str) -> None:
    assert duration(seconds) == words
    assert duration(dt.timedelta(seconds=seconds)) == words


@pytest.mark.parametrize(
    ("value", "words"),
    [(None, "—"), (0.0, "0/s"), (0.02, "1.2/min"), (3.14, "3.1/s"), (42.4, "42/s")],
)
def test_rate(value: float | None, words: str) -> None:
    assert rate(value) == words


def test_shares() -> None:
    assert percent(over(3, 4)) == "75%"
    assert percent(0.1234, 1) == "12.3%"
    assert percent(over(1, 0)) == "—"


def test_a_chip_has_a_sign_and_a_word() -> None:
    assert "✕" in chip("failed")
    assert "failed</span>" in chip("failed")
    assert "chip-plain" in chip("something new")
    assert "&lt;b&gt;" in chip("done", "<b>")


def test_a_bar_stays_within_its_box() -> None:
    assert 'width="50.00"' in bar(1, 2)
    assert 'width="100.00"' in bar(9, 2)
    assert 'width="0.00"' in bar(-1, 2)
    assert 'width="0.00"' in bar(1, 0)


def test_texts_keep_what_they_are() -> None:
    text = "a\n\n  b\u2028c <b>\u00a0d"
    assert reading(text, "en") == (
        '<div class="reading" lang="en" dir="auto">a\n\n  b\u2028c &lt;b&gt;\u00a0d</div>'
    )
    assert 'lang="und"' in reading("x")
    assert excerpt("  one\n two  ", "en", 20) == '<bdi class="excerpt" lang="en" dir="auto">one two</bdi>'
    assert excerpt("abcdef", "en", 3).count("abc…") == 1
    assert "—" in excerpt("", "en")


def test_times_are_utc_for_those_without_a_script() -> None:
    at = dt.datetime(2026, 3, 4, 23, 59, tzinfo=dt.timezone(dt.timedelta(hours=2)))
    assert "2026-03-04 21:59 UTC" in moment(at)
    assert ">21:59 UTC<" in moment(at, "clock")
    assert "—" in moment(None)
