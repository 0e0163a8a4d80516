"""The tokenizer that screening counts in: Qwen3's, as in the paper (3.3), or another that is named."""

from __future__ import annotations

import hashlib
import re
import sys
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from curation.screening import EncodeBatch

BUNDLED = "qwen3"

LONGEST_NAME = 240
"""Of a name in an identity; of a longer one the end is kept."""

_IDENTITY = re.compile(r"(.*?)(?: [0-9a-f]{12})? \([^()]*\)", re.DOTALL)

Offsets = Callable[[str], list[tuple[int, int]]]


class TokenizerError(Exception):
    """The tokenizer that was named cannot be used; the message says why and what can."""


@dataclass(frozen=True, slots=True)
class Encoder:
    """`encode` turns a text into token ids, special tokens being plain text to it; ValueError for a text
    with a lone surrogate, which has no UTF-8 form. `encode_batch` does so for many texts.
    `offsets` gives for each token where it begins and ends in the text, in characters. `identity` names
    vocabulary and software."""

    encode: Callable[[str], list[int]]
    encode_batch: EncodeBatch
    offsets: Offsets
    identity: str


def name_in(identity: str) -> str:
    """The name that an encoder of this identity was loaded by."""
    found = _IDENTITY.fullmatch(identity)
    return found[1] if found else identity


def _identity(name: str, vocabulary: bytes, software: str) -> str:
    shown = name if len(name) <= LONGEST_NAME else "…" + name[1 - LONGEST_NAME :]
    return f"{shown} {hashlib.sha256(vocabulary).hexdigest()[:12]} ({software})"


def load_encoder(name: str) -> Encoder:
    """`qwen3` (bundled), the path of a tokenizer.json, or a name on the hub. Raises TokenizerError."""
    return qwen3_encoder() if name == BUNDLED else _other_encoder(name)


@cache
def qwen3_encoder() -> Encoder:
    """All Qwen3 models share the vocabulary; texts are brought to Unicode's NFC, as by the models."""
    import quicktok  # type: ignore[import-untyped]

    encoding = quicktok.get_encoding("qwen3")

    def encode(text: str) -> list[int]:
        _require_utf8(text)
        ids: list[int] = encoding.encode_ordinary(text)
        return ids

    def encode_batch(texts: Sequence[str]) -> Any:
        for text in texts:
            _require_utf8(text)
        return encoding.encode_batch(list(texts), threads=1)

    def offsets(text: str) -> list[tuple[int, int]]:
        return _offsets(text, (encoding.decode_single_token_bytes(one) for one in encode(text)))

    tokens = map(encoding.decode_single_token_bytes, range(encoding.n_vocab))
    vocabulary = b"\n".join(token.hex().encode() for token in tokens)
    identity = _identity(BUNDLED, vocabulary, f"quicktok {version('quicktok-v1')}")
    return Encoder(encode, encode_batch, offsets, identity)


@cache
def _other_encoder(name: str) -> Encoder:
    from tokenizers import Tokenizer

    try:
        path = Path(name)
        tokenizer = Tokenizer.from_file(name) if path.is_file() else _from_hub(name)
    except TokenizerError:
        raise
    except Exception as error:
        raise TokenizerError(f"{name} is no tokenizer.json that can be read: {error}") from error
    tokenizer.encode_special_tokens = True  # as plain text
    tokenizer.no_truncation()
    tokenizer.no_padding()

    def encode(text: str) -> list[int]:
        _require_utf8(text)
        return list(tokenizer.encode(text, add_special_tokens=False).ids)

    def encode_batch(texts: Sequence[str]) -> Any:
        encoded = [encode(text) for text in texts]
        bounds = np.zeros(len(encoded) + 1, dtype=np.int64)
        np.cumsum([len(ids) for ids in encoded], out=bounds[1:])
        return np.array([one for ids in encoded for one in ids], dtype=np.uint32), bounds

    def offsets(text: str) -> list[tuple[int, int]]:
        return list(tokenizer.encode(text, add_special_tokens=False).offsets)

    identity = _identity(name, tokenizer.to_str().encode(), f"tokenizers {version('tokenizers')}")
    return Encoder(encode, encode_batch, offsets, identity)


def _from_hub(name: str) -> Any:
    from tokenizers import Tokenizer

    if name.endswith(".json") or name.startswith(("/", "./", "~")):
        raise TokenizerError(f"There is no file {name}. Give '{BUNDLED}', a tokenizer.json, or a hub name.")
    try:
        return Tokenizer.from_pretrained(name)
    except Exception as error:
        raise TokenizerError(
            f"The tokenizer {name!r} could not be had from the hub ({type(error).__name__}). Give "
            f"'{BUNDLED}', which is bundled, or the path of a tokenizer.json."
        ) from error


def _require_utf8(text: str) -> None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        code = f"U+{ord(text[error.start]):04X}"
        raise ValueError(f"the text holds a lone surrogate ({code} at position {error.start})") from None


def _offsets(text: str, tokens: Iterator[bytes]) -> list[tuple[int, int]]:
    """Where tokens lie, from their bytes, which are those of the text in NFC. A character that is split
    between tokens belongs to each of them."""
    place_of_byte: list[int] = []
    for start, end, normalized in _clusters(text):
        whole = len(normalized) != end - start  # composed: its characters have no places of their own
        for offset, character in enumerate(normalized):
            place_of_byte += [start if whole else start + offset] * len(character.encode())
    place_of_byte.append(len(text))
    found, byte = [], 0
    for token in tokens:
        last = min(byte + len(token), len(place_of_byte) - 1)
        start, end = place_of_byte[min(byte, len(place_of_byte) - 1)], place_of_byte[last]
        found.append((start, max(end, place_of_byte[last - 1] + 1 if last else end)))
        byte += len(token)
    return found


def _clusters(text: str) -> Iterator[tuple[int, int, str]]:
    """Stretches that NFC treats by themselves, a character with those that may join it, and their NFC."""
    if unicodedata.is_normalized("NFC", text):
        yield from ((place, place + 1, character) for place, character in enumerate(text))
        return
    joining = _joining_characters()
    start = 0
    for place in range(1, len(text) + 1):
        if place == len(text) or not (unicodedata.combining(text[place]) or text[place] in joining):
            yield start, place, unicodedata.normalize("NFC", text[start:place])
            start = place


@cache
def _joining_characters() -> frozenset[str]:
    """Characters that can compose with what stands before them: marks, Indic vowels, Korean vowels and
    finals."""
    korean = map(chr, range(0x1160, 0x1200))
    pairs = (unicodedata.decomposition(chr(code)).split() for code in range(sys.maxunicode + 1))
    return frozenset(
        [*korean, *(chr(int(pair[1], 16)) for pair in pairs if len(pair) == 2 and pair[0][0] != "<")]
    )
