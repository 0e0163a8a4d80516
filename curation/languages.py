"""Which language a request is written in, and whether its script puts spaces between words."""

from __future__ import annotations

import re
import threading
from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from typing import Any

UNDETERMINED = "und"

MIN_CONFIDENCE = 0.4
"""Below this share of the statistical model's belief a language is not named (ours)."""

EXAMINED_CHARACTERS = 10_000
"""The beginning of a text that is looked at (ours); a request names its language long before."""

UNSPACED_LANGUAGES = frozenset({"zh", "ja", "th", "lo", "km", "my", "bo"})

UNSPACED_RANGES = (
    "\u0e00-\u0eff"  # Thai, Lao
    "\u0f00-\u109f"  # Tibetan, Burmese
    "\u1780-\u17ff"  # Khmer
    "\u3005-\u3007\u3041-\u30ff\u31f0-\u31ff"  # iteration marks, kana
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han
)
"""The scripts written without spaces between words, as the inside of a regular expression's set."""

_UNSPACED = re.compile(f"[{UNSPACED_RANGES}]")
_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_KANA = re.compile("[\u3041-\u30ff\u31f0-\u31ff]")
_SPACED_WORD = re.compile(rf"[^\W\d_{UNSPACED_RANGES}]+")

HAN_PER_WORD = 1.5
"""Han characters to one word of a spaced script, when the two are weighed against each other (ours)."""

KANA_SHARE = 0.1
"""Han text with at least this share of kana is Japanese (ours)."""

# The statistical model knows some languages by three letters; these are varieties of one with two.
_VARIETIES = {"wuu": "zh", "yue": "zh", "arz": "ar", "ary": "ar", "uzs": "uz"}
_NO_LANGUAGE = "zxx"

# Words that settle a request too short for the statistical model. None is common in another language.
_ENGLISH = re.compile(
    "a|about|advertisement|an|and|article|blog|brief|describe|draft|email|essay|explain|for|how|letter|make|my|of"
    "|on|plan|poem|report|review|short|speech|story|summarize|summary|the|thank|to|what|with|write|your"
)
_MIN_ENGLISH_WORDS = 2


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
    characters = len(_UNSPACED.findall(text))
    return characters > HAN_PER_WORD * len(_SPACED_WORD.findall(text))


def detect_language(text: str) -> DetectedLanguage:
    """The language of a request, by script where Han decides and by a statistical model elsewhere.

    'und' when there are no letters or nothing can be told with confidence. A Chinese request that quotes
    English titles is Chinese; one that is followed by a long English text counts as English.
    """
    sample = text[:EXAMINED_CHARACTERS]
    if not any(map(str.isalpha, sample)):
        return DetectedLanguage(UNDETERMINED, 0.0)
    return _by_script(sample) or _by_model(sample)


def _by_script(text: str) -> DetectedLanguage | None:
    han, kana = len(_HAN.findall(text)), len(_KANA.findall(text))
    weight = (han + kana) / HAN_PER_WORD
    words = len(_SPACED_WORD.findall(text))
    if not weight or weight < words:
        return None
    code = "ja" if kana >= KANA_SHARE * (han + kana) else "zh"
    return DetectedLanguage(code, weight / (weight + words))


def _by_model(text: str) -> DetectedLanguage:
    belief: dict[str, float] = defaultdict(float)
    for label, share in _identifier().rank(text):
        belief[_VARIETIES.get(label, label)] += share
    code, confidence = max(belief.items(), key=lambda item: item[1])
    if confidence >= MIN_CONFIDENCE:
        return DetectedLanguage(UNDETERMINED if code == _NO_LANGUAGE else code, confidence)
    words = [word.casefold() for word in _SPACED_WORD.findall(text)]
    english = sum(bool(_ENGLISH.fullmatch(word)) for word in words)
    if english >= _MIN_ENGLISH_WORDS and 2 * english >= len(words):
        return DetectedLanguage("en", english / len(words))
    return DetectedLanguage(UNDETERMINED, confidence)


_loading = threading.Lock()


def _identifier() -> Any:
    with _loading:
        return _load_identifier()


@cache
def _load_identifier() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier  # type: ignore[import-untyped]

    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    known = {label for label in identifier.labels if len(label) == 2}
    identifier.set_languages(known | _VARIETIES.keys() | {_NO_LANGUAGE})
    return identifier
