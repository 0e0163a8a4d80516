"""Qwen3's tokenizer once more, by another program: Hugging Face's `tokenizers`, put together from its parts.

The bytes of each token come from the installed vocabulary. The merges follow from them: a token's merge is
the last step of encoding the token itself with the tokens of lower numbers. Pattern and normal form are those
that Qwen publishes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import pairwise

import quicktok  # type: ignore[import-untyped]
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers

TOKENS = 151_643
"""Ordinary tokens; the special ones have the numbers after them."""

PATTERN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)

Merge = tuple[bytes, bytes]


@cache
def vocabulary() -> Mapping[bytes, int]:
    encoding = quicktok.get_encoding("qwen3")
    return {encoding.decode_single_token_bytes(number): number for number in range(TOKENS)}


@cache
def merges() -> Sequence[Merge]:
    """In the order of the tokens that they make; the single bytes need none."""
    ranks = vocabulary()
    return [_merge_of(token, rank, ranks) for token, rank in ranks.items() if len(token) > 1]


def _merge_of(token: bytes, rank: int, ranks: Mapping[bytes, int]) -> Merge:
    ways = [
        (token[:cut], token[cut:])
        for cut in range(1, len(token))
        if ranks.get(token[:cut], rank) < rank and ranks.get(token[cut:], rank) < rank
    ]
    if len(ways) == 1:
        return ways[0]
    parts = [token[place : place + 1] for place in range(len(token))]
    while len(parts) > 2:
        joined = [ranks.get(one + other, rank) for one, other in pairwise(parts)]
        first = joined.index(min(joined))
        parts[first : first + 2] = [parts[first] + parts[first + 1]]
    one, other = parts
    return one, other


def digest() -> str:
    """SHA-256 of all tokens and merges, in hexadecimal digits for bytes."""
    lines = [*(token.hex() for token in vocabulary()), *(f"{one.hex()} {two.hex()}" for one, two in merges())]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


@cache
def reference() -> Tokenizer:
    tokenizer = Tokenizer(
        models.BPE(
            vocab={_spelt(token): number for token, number in vocabulary().items()},
            merges=[(_spelt(one), _spelt(other)) for one, other in merges()],
        )
    )
    tokenizer.normalizer = normalizers.NFC()
    split = pre_tokenizers.Split(Regex(PATTERN), "isolated")
    bytewise = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([split, bytewise])
    return tokenizer


def _spelt(token: bytes) -> str:
    letters = _letters()
    return "".join(letters[byte] for byte in token)


@cache
def _letters() -> Sequence[str]:
    """The visible character that stands for each byte: itself where it is one, else one from U+0100 on."""
    visible = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = iter(range(0x100, 0x200))
    return [chr(byte if byte in visible else next(others)) for byte in range(0x100)]
