"""Tokenizers by name, and where their tokens lie in a text."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers

from curation.screening import TrigramIndex
from curation.tokenizer import TokenizerError, load_encoder, qwen3_encoder


@pytest.fixture
def own_file(tmp_path: Path) -> Path:
    words = {
        word: number for number, word in enumerate(["the", "lamp", "went", "out", "at", "nine", "[UNK]"])
    }
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    path = tmp_path / "tokenizer.json"
    tokenizer.save(str(path))
    return path


def test_a_tokenizer_file_is_used_and_named(own_file: Path) -> None:
    encoder = load_encoder(str(own_file))
    assert encoder.encode("the lamp went") == [0, 1, 2]
    assert encoder.offsets("the lamp") == [(0, 3), (4, 8)]
    tokens, bounds = encoder.encode_batch(["the lamp", "", "nine"])
    assert (tokens.tolist(), bounds.tolist()) == ([0, 1, 5], [0, 2, 2, 3])
    assert str(own_file) in encoder.identity
    index = TrigramIndex({"s": "the lamp went out"}, encoder.encode, encode_batch=encoder.encode_batch)
    assert index.screen("the lamp went home").shared == 1


def test_what_cannot_be_used_says_why(tmp_path: Path) -> None:
    broken = tmp_path / "tokenizer.json"
    broken.write_text("{}")
    with pytest.raises(TokenizerError, match=r"no tokenizer\.json"):
        load_encoder(str(broken))
    with pytest.raises(TokenizerError, match="no file"):
        load_encoder(str(tmp_path / "missing.json"))


def test_the_batch_agrees_with_the_single_text() -> None:
    encoder = load_encoder("qwen3")
    texts = ["A letter to Anna.", "", "请写一封信 😀", "<|im_start|> is text here"]
    tokens, bounds = encoder.encode_batch(texts)
    for place, text in enumerate(texts):
        assert tokens[bounds[place] : bounds[place + 1]].tolist() == encoder.encode(text)
    with pytest.raises(ValueError, match="lone surrogate"):
        encoder.encode_batch(["fine", "\ud800"])


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=60))
def test_tokens_lie_in_order_and_cover_the_text(text: str) -> None:
    encoder = qwen3_encoder()
    offsets = encoder.offsets(text)
    assert len(offsets) == len(encoder.encode(text))
    assert all(0 <= start < end <= len(text) for start, end in offsets)
    assert [start for start, _ in offsets] == sorted(start for start, _ in offsets)
    if text and unicodedata.is_normalized("NFC", text):
        assert (offsets[0][0], offsets[-1][1]) == (0, len(text))
