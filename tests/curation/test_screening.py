"""The index agrees with the definition, worked out with sets, on every text."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curation.screening import BLOCK_TEXTS, CONTAMINATION_THRESHOLD, TrigramIndex
from curation.tokenizer import qwen3_encoder


def characters(text: str) -> list[int]:
    return [ord(character) for character in text]


def trigrams(ids: Sequence[int]) -> set[tuple[int, ...]]:
    return {tuple(ids[place : place + 3]) for place in range(len(ids) - 2)}


def by_definition(
    samples: Mapping[str, set[tuple[int, ...]]], ids: Sequence[int]
) -> tuple[Fraction, str | None, bool, int, int]:
    """Overlap, first sample that has it, verdict, counts: with sets and exact fractions."""
    worst: tuple[Fraction, str | None, bool, int, int] = (Fraction(0), None, False, 0, 0)
    mine = trigrams(ids)
    for sample_id, theirs in samples.items():
        shared = len(mine & theirs)
        if shared and Fraction(shared, len(theirs)) > worst[0]:
            overlap = Fraction(shared, len(theirs))
            worst = (overlap, sample_id, overlap >= Fraction(1, 10), shared, len(theirs))
    return worst


def test_threshold_is_a_tenth() -> None:
    assert Fraction(1, 10) == CONTAMINATION_THRESHOLD


def test_worked_example() -> None:
    # 'abcde' has abc, bcd, cde; 'xbcdx' shares bcd.
    found = TrigramIndex({"one": "abcde", "two": "vwxyz"}, characters).screen("xbcdx")
    assert (found.sample_id, found.shared, found.total) == ("one", 1, 3)
    assert found.overlap == pytest.approx(1 / 3)
    assert found.contaminated


def test_the_sample_is_the_denominator_and_repeats_count_once() -> None:
    index = TrigramIndex({"s": "abcabcabcabc"}, characters)  # abc, bca, cab
    found = index.screen("abc" + "-" * 500 + "abc")
    assert (found.shared, found.total, found.contaminated) == (1, 3, True)


def test_a_tenth_is_too_much_and_less_is_not() -> None:
    sample = "abcdefghijkl"  # ten trigrams
    assert TrigramIndex({"s": sample}, characters).screen("abc").contaminated
    assert TrigramIndex({"s": sample}, characters).screen("abc").overlap == 0.1
    below = TrigramIndex({"s": sample + "m"}, characters).screen("abc")
    assert (below.sample_id, below.shared, below.total, below.contaminated) == ("s", 1, 11, False)


def test_threshold_can_be_set() -> None:
    index = TrigramIndex({"s": "abcdef"}, characters, threshold=Fraction(1, 2))
    assert not index.screen("abc").contaminated
    assert index.screen("abcd").contaminated


def test_of_equal_overlaps_the_first_sample_is_named() -> None:
    samples = {"z": "qqqabcd", "b": "abcdqqq", "a": "abcdqqq"}
    assert TrigramIndex(samples, characters).screen("abcd").sample_id == "z"


def test_a_short_sample_beats_a_long_one_by_share() -> None:
    samples = {"long": "abcdefghijklmnopqrstuvwxyz", "short": "xyz1"}
    found = TrigramIndex(samples, characters).screen("abcdefgh xyz")
    assert (found.sample_id, found.shared, found.total) == ("short", 1, 2)


@pytest.mark.parametrize("text", ["", "a", "ab", "zzz"])
def test_nothing_shared(text: str) -> None:
    found = TrigramIndex({"short": "ab", "empty": "", "s": "abcdef"}, characters).screen(text)
    assert (found.overlap, found.sample_id, found.contaminated, found.shared, found.total) == (
        0.0,
        None,
        False,
        0,
        0,
    )


@pytest.mark.parametrize("samples", [{}, {"a": "", "b": "xy"}])
def test_an_index_without_trigrams_matches_nothing(samples: dict[str, str]) -> None:
    assert TrigramIndex(samples, characters).screen("abcdef").sample_id is None


def test_ids_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="2097151"):
        TrigramIndex({"s": "abc"}, lambda text: [1, 2, 1 << 21])
    with pytest.raises(ValueError, match="2097151"):
        TrigramIndex({}, lambda text: [-1, 2, 3]).screen("x")


def test_the_largest_ids_do_not_run_into_each_other() -> None:
    top = (1 << 21) - 1
    ids = {"s": [top, top, top, 0, top], "same": [top, top, top, 0, top], "other": [0, top, top, top, 0]}
    found = TrigramIndex({"s": "s"}, ids.__getitem__)
    assert found.screen("same").shared == 3
    assert found.screen("other").shared == 2


small = st.lists(st.integers(0, 3), max_size=30)


@given(samples=st.dictionaries(st.text("abcdef", min_size=1, max_size=2), small, max_size=8), ids=small)
def test_agrees_with_the_definition(samples: dict[str, list[int]], ids: list[int]) -> None:
    texts = {**{f"sample {name}": sample for name, sample in samples.items()}, "candidate": ids}
    index = TrigramIndex({name: f"sample {name}" for name in samples}, texts.__getitem__)
    found = index.screen("candidate")
    overlap, *rest = by_definition({name: trigrams(sample) for name, sample in samples.items()}, ids)
    assert [found.sample_id, found.contaminated, found.shared, found.total] == rest
    assert found.overlap == float(overlap)


@given(
    samples=st.dictionaries(st.text("abcdef", min_size=1, max_size=2), small, max_size=8),
    candidates=st.lists(small, max_size=12),
    minimum=st.integers(0, 4),
)
def test_many_at_once_agree_with_the_definition_and_with_one_by_one(
    samples: dict[str, list[int]], candidates: list[list[int]], minimum: int
) -> None:
    # Texts stand in one row of tokens, so that trigrams across their borders would be found.
    texts = {f"sample {name}": sample for name, sample in samples.items()}
    texts |= {f"text {number}": ids for number, ids in enumerate(candidates)}
    index = TrigramIndex(
        {name: f"sample {name}" for name in samples}, texts.__getitem__, minimum_shared=minimum
    )
    names = [f"text {number}" for number in range(len(candidates))]
    found = list(index.screen_many(names))
    assert found == [index.screen(name) for name in names]
    owned = {name: trigrams(sample) for name, sample in samples.items()}
    for ids, each in zip(candidates, found, strict=True):
        shared = {name: len(trigrams(ids) & theirs) for name, theirs in owned.items()}
        tenth = {name for name, count in shared.items() if count and 10 * count >= len(owned[name])}
        discarding = {name for name in tenth if shared[name] >= minimum}
        assert each.contaminated == bool(discarding)
        overlap, name, *_ = by_definition(
            {name: theirs for name, theirs in owned.items() if not discarding or name in discarding}, ids
        )
        assert (each.overlap, each.sample_id) == (float(overlap), name)


def test_blocks_leave_no_seam() -> None:
    sample = "abcdefghij" * 3
    texts = ["abc" if number % 5 else "xyz" for number in range(2 * BLOCK_TEXTS + 3)]
    index = TrigramIndex({"s": sample}, characters)
    shared = [found.shared for found in index.screen_many(iter(texts))]
    assert shared == [1 if number % 5 else 0 for number in range(len(texts))]
    assert list(index.screen_many([])) == []


def test_a_match_that_discards_is_named_before_a_larger_one_that_does_not() -> None:
    samples = {"short": "abcd", "long": "efghijklmnopqrstuvwxyz"}
    text = "abcd efghijklmno"
    assert TrigramIndex(samples, characters).screen(text).sample_id == "short"
    found = TrigramIndex(samples, characters, minimum_shared=5).screen(text)
    assert (found.sample_id, found.shared, found.contaminated) == ("long", 9, True)
    kept = TrigramIndex(samples, characters, minimum_shared=50).screen(text)
    assert (kept.sample_id, kept.overlap, kept.contaminated) == ("short", 1.0, False)


mixed = st.lists(
    st.sampled_from(
        ["写一封信", "给老师", "about", "the", "weather", "请用", "English", "写", "，。", "800", "字"]
    ),
    max_size=40,
)


@settings(deadline=None)  # the first call loads the vocabulary
@given(samples=st.lists(mixed, max_size=6), text=mixed)
def test_agrees_with_the_definition_on_tokens_of_mixed_texts(
    samples: list[list[str]], text: list[str]
) -> None:
    encode = qwen3_encoder().encode
    texts = {str(number): " ".join(sample) for number, sample in enumerate(samples)}
    found = TrigramIndex(texts, encode).screen("".join(text))
    overlap, *rest = by_definition(
        {name: trigrams(encode(sample)) for name, sample in texts.items()}, encode("".join(text))
    )
    assert [found.sample_id, found.contaminated, found.shared, found.total] == rest
    assert found.overlap == float(overlap)


def test_the_encoder_reads_special_tokens_as_text_and_names_itself() -> None:
    encoder = qwen3_encoder()
    assert len(encoder.encode("<|im_end|><think>")) > 2
    assert max(encoder.encode("<|im_end|>")) < 151_643
    assert encoder.encode("") == []
    assert encoder.encode("a\0b")
    assert re.fullmatch(r"qwen3 [0-9a-f]{12} \(quicktok [\d.]+\)", encoder.identity)


def test_the_encoder_knows_qwen3s_ids() -> None:
    # From the published vocabulary: 'Hello', ' world', '你好', ',', and one id for both forms of é (NFC).
    assert qwen3_encoder().encode("Hello world") == [9707, 1879]
    assert qwen3_encoder().encode("你好") == [108386]
    assert qwen3_encoder().encode("e\u0301") == qwen3_encoder().encode("\u00e9") == [963]


def test_the_encoder_refuses_a_lone_surrogate_in_words() -> None:
    with pytest.raises(ValueError, match=r"lone surrogate \(U\+D83D at position 2\)"):
        qwen3_encoder().encode("ab\ud83d")


@settings(deadline=None)
@given(st.text(st.characters(codec="utf-8"), max_size=200))
def test_the_encoder_takes_any_text(text: str) -> None:
    assert all(0 <= token < 1 << 21 for token in qwen3_encoder().encode(text))


def test_the_encoder_may_be_shared_by_threads() -> None:
    texts = [f"请写一篇关于 number {number} 的 story, please. " * 20 for number in range(64)]
    expected = [qwen3_encoder().encode(text) for text in texts]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(qwen3_encoder().encode, texts)) == expected


def test_agrees_with_the_definition_on_real_texts() -> None:
    folder = os.environ.get("BENCHMARK_DATA")
    if not folder:
        pytest.skip("BENCHMARK_DATA does not name a folder with the public benchmarks")

    def column(path: Path, field: str) -> list[str]:
        return [json.loads(line)[field] for line in path.read_text(encoding="utf-8").rstrip("\n").split("\n")]

    held_out = column(Path(folder) / "writingbench/length_subset.jsonl", "query")
    for path in sorted((Path(folder) / "hellobench").glob("*.jsonl")):
        held_out += column(path, "instruction")
    candidates = column(Path(folder) / "longbench_write/longbench_write.jsonl", "prompt") + held_out[:20]
    encode = qwen3_encoder().encode
    samples = {str(number): text for number, text in enumerate(held_out)}
    index = TrigramIndex(samples, encode)
    ids = {sample_id: trigrams(encode(text)) for sample_id, text in samples.items()}
    for text in candidates:
        found = index.screen(text)
        overlap, *rest = by_definition(ids, encode(text))
        assert [found.sample_id, found.contaminated, found.shared, found.total] == rest
        assert found.overlap == float(overlap)
    assert all(index.screen(text).overlap == 1 for text in held_out[:20])
