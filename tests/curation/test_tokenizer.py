"""Tokenizers by name, and where their tokens lie in a text."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers

from curation.screening import TrigramIndex
from curation.tokenizer import LONGEST_NAME, TokenizerError, load_encoder, name_in, qwen3_encoder


@pytest.fixture
def own_file(tmp_path: Path) -> Path:
    words = {
        word: number for number, word in enumerate(["the", "lamp", "went", "out", "at", "nine", "[UNK]"])
    }
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.add_special_tokens(["<end>"])
    path = tmp_path / "a folder" / "tokenizer.json"
    path.parent.mkdir()
    tokenizer.save(str(path))
    return path


def test_a_tokenizer_file_is_used_and_named(own_file: Path) -> None:
    encoder = load_encoder(str(own_file))
    assert encoder.encode("the lamp went") == [0, 1, 2]
    assert encoder.offsets("the lamp") == [(0, 3), (4, 8)]
    tokens, bounds = encoder.encode_batch(["the lamp", "", "nine"])
    assert (tokens.tolist(), bounds.tolist()) == ([0, 1, 5], [0, 2, 2, 3])
    assert name_in(encoder.identity) == str(own_file)
    assert 7 not in encoder.encode("the <end>")
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


def test_the_name_is_in_the_identity_and_a_long_one_is_cut(tmp_path: Path, own_file: Path) -> None:
    assert name_in(load_encoder("qwen3").identity) == "qwen3"
    assert name_in("qwen3 (quicktok 0.4.0)") == "qwen3"
    assert name_in("org/model 0123456789ab (tokenizers 0.23.3)") == "org/model"
    folder = tmp_path.joinpath(*["deep" * 20] * 3)
    folder.mkdir(parents=True)
    long = own_file.rename(folder / "tokenizer.json")
    identity = load_encoder(str(long)).identity
    assert len(identity) < 300
    assert name_in(identity) == "…" + str(long)[1 - LONGEST_NAME :]


JOINING = "e\u0301a\u0323\u0302\u1112\u1161\u11ab\u09c7\u09be\u0bc6\u0bbe\u0cc6\u0cc2\u0cd5 写"


@settings(deadline=None)  # the first call collects what can join
@given(st.text(alphabet=JOINING, max_size=30))
def test_what_nfc_composes_moves_no_token_after_it(text: str) -> None:
    start, end = qwen3_encoder().offsets(f"{text} END")[-1]
    assert (start, end) == (len(text), len(text) + len(" END"))


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=60))
def test_tokens_lie_in_order_and_cover_the_text(text: str) -> None:
    encoder = qwen3_encoder()
    offsets = encoder.offsets(text)
    assert len(offsets) == len(encoder.encode(text))
    assert all(0 <= start < end <= len(text) for start, end in offsets)
    assert [start for start, _ in offsets] == sorted(start for start, _ in offsets)
    if text and unicodedata.is_normalized("NFC", text):
        assert (offsets[0][0], offsets[-1][1]) == (0, len(text))
