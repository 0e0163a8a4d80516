"""Text and signs can be read on what they stand on: WCAG 2.2 AA (4.5 to 1), in light and in dark.

contrast = (L1 + 0.05) / (L2 + 0.05), L the relative luminance of the lighter and the darker colour
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

SHEET = Path(__file__).resolve().parents[2] / "static" / "workbench.css"
COLOURS = {
    name: (light, dark)
    for name, light, dark in re.findall(
        r"--([\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\);", SHEET.read_text(encoding="utf-8")
    )
}
MEANINGS = ("good", "warn", "bad", "info")
PAIRS = [
    *((ink, ground) for ink in ("ink", "ink-soft") for ground in ("paper", "surface", "raised", "sunk")),
    *(("accent", ground) for ground in ("paper", "surface", "raised", "accent-soft")),
    ("accent-ink", "accent"),
    *((meaning, ground) for meaning in MEANINGS for ground in ("paper", "surface", f"{meaning}-soft")),
    *(("ink", f"{meaning}-soft") for meaning in MEANINGS),
]


def luminance(colour: str) -> float:
    channels = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def test_the_formula_by_hand() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize(("ink", "ground"), PAIRS)
def test_every_pair_is_readable(ink: str, ground: str, theme: int) -> None:
    assert contrast(COLOURS[ink][theme], COLOURS[ground][theme]) >= 4.5
