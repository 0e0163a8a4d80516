"""Qwen3's tokenizer, which the paper's screening counts in (3.3)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version


@dataclass(frozen=True, slots=True)
class Encoder:
    """`encode` turns a text into token ids, special tokens being plain text to it; ValueError for a text
    with a lone surrogate, which has no UTF-8 form. `identity` names vocabulary and software."""

    encode: Callable[[str], list[int]]
    identity: str


@cache
def qwen3_encoder() -> Encoder:
    """All Qwen3 models share the vocabulary; texts are brought to Unicode's NFC, as by the models."""
    import quicktok  # type: ignore[import-untyped]

    encoding = quicktok.get_encoding("qwen3")

    def encode(text: str) -> list[int]:
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as error:
            code = f"U+{ord(text[error.start]):04X}"
            raise ValueError(f"the text holds a lone surrogate ({code} at position {error.start})") from None
        ids: list[int] = encoding.encode_ordinary(text)
        return ids

    return Encoder(encode, f"qwen3 (quicktok {version('quicktok-v1')})")
