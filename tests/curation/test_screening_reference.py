"""Screening on 500 mixed English and Chinese texts, beside Python sets over a reference tokenizer's ids.

What this proves: the tokenizer in use (quicktok) gives for each text the ids that Hugging Face's
`tokenizers` gives with Qwen3's tokens, merges, pattern and normal form; and screening finds what sets of
trigrams find. That tokens and merges are Qwen3's is held by a digest, worked out once from the
`tokenizer.json` published for Qwen3 (SHA-256 aeb13307a71acd8f…, 151,643 tokens, 151,387 merges); that file
itself is not here.

What it does not prove: anything of the tokens that Qwen3 adds to these, like <|im_end|> and <think>. They are
plain text to screening, as they are not to a model.
"""

from __future__ import annotations

from fractions import Fraction

import pytest

from curation.screening import CONTAMINATION_THRESHOLD, TrigramIndex
from curation.tokenizer import qwen3_encoder
from tests.curation.mixed_texts import mixed_texts, sharing
from tests.curation.reference_tokenizer import digest, reference

PUBLISHED = "c1a5f432f9f1f8766b4fa0a11427d95938c723d8a0944356c5123eee67498d5c"

Trigrams = frozenset[tuple[int, int, int]]


@pytest.fixture(scope="module")
def samples() -> list[str]:
    return mixed_texts(60, seed=1)


@pytest.fixture(scope="module")
def texts(samples: list[str]) -> list[str]:
    return sharing(mixed_texts(500, seed=2), samples, seed=3)


def trigrams(text: str) -> Trigrams:
    ids = reference().encode(text, add_special_tokens=False).ids
    return frozenset(zip(ids, ids[1:], ids[2:], strict=False))


def brute_force(
    text: str, samples: list[Trigrams], minimum: int
) -> tuple[Fraction, str | None, bool, int, int]:
    """Overlap, sample, verdict, shared and total, by sets: one that discards before all, then the largest
    share, then the first."""
    found = []
    own = trigrams(text)
    for number, theirs in enumerate(samples):
        if shared := len(own & theirs):
            overlap = Fraction(shared, len(theirs))
            discards = overlap >= CONTAMINATION_THRESHOLD and shared >= minimum
            found.append((discards, overlap, -number, shared, len(theirs)))
    if not found:
        return Fraction(0), None, False, 0, 0
    discards, overlap, number, shared, total = max(found)
    return overlap, str(-number), discards, shared, total


def test_the_reference_is_the_published_tokenizer() -> None:
    assert digest() == PUBLISHED


def test_every_text_has_the_ids_of_the_reference(samples: list[str], texts: list[str]) -> None:
    every = [*samples, *texts]
    tokens, bounds = qwen3_encoder().encode_batch(every)
    for number, text in enumerate(every):
        expected = reference().encode(text, add_special_tokens=False).ids
        assert qwen3_encoder().encode(text) == expected, text
        assert tokens[bounds[number] : bounds[number + 1]].tolist() == expected, text


@pytest.mark.parametrize("minimum", [0, 8])
def test_screening_finds_what_sets_of_the_references_trigrams_find(
    samples: list[str], texts: list[str], minimum: int
) -> None:
    encoder = qwen3_encoder()
    index = TrigramIndex(
        {str(number): text for number, text in enumerate(samples)},
        encoder.encode,
        encode_batch=encoder.encode_batch,
        minimum_shared=minimum,
    )
    sets = [trigrams(sample) for sample in samples]
    expected = [brute_force(text, sets, minimum) for text in texts]
    for text, found, (overlap, *rest) in zip(texts, index.screen_many(texts), expected, strict=True):
        assert found.overlap == float(overlap), text
        assert [found.sample_id, found.contaminated, found.shared, found.total] == rest, text
    discarded = sum(each[2] for each in expected)
    near = sum(each[0] > 0 and not each[2] for each in expected)
    assert discarded > 50, "the texts must have passages in common with the samples"
    assert near > 50, "and some must stay under the threshold"
    assert any(each[1] is None for each in expected)


def test_the_texts_are_mixed(texts: list[str]) -> None:
    whole = "".join(texts)
    assert len(texts) == 500
    assert 100 < sum("请" in text or "的" in text for text in texts) < 500
    assert 100 < sum("ferry" in text or "letter" in text for text in texts) < 500
    for piece in ("e\u0301", "👩‍👩‍👧‍👦", "def f(x)", "\r\n", "\u1112\u1161", "哈" * 20, "\0", "<|im_end|>"):
        assert piece in whole, piece
