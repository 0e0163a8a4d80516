"""The passages that two texts share, in characters of both."""

from __future__ import annotations

from curation.passages import Span, marked_runs, shared_passages
from curation.tokenizer import qwen3_encoder


def marked(text: str, sample: str) -> tuple[list[str], list[str]]:
    encoder = qwen3_encoder()
    spans, others = shared_passages(text, sample, encoder.encode, encoder.offsets)
    for source, found in ((text, spans), (sample, others)):
        assert "".join(run for run, _ in marked_runs(source, found)) == source
    return [text[s.start : s.end] for s in spans], [sample[s.start : s.end] for s in others]


def test_a_shared_sentence_is_found_in_both() -> None:
    shared = " the lamp in the lighthouse went out at a quarter past nine"
    text, sample = f"Write a story in which{shared}, and nobody saw it.", f"Last night{shared}. Why?"
    assert marked(text, sample) == ([shared], [shared])


def test_chinese_and_emoji_count_by_character() -> None:
    shared = "运河边的手工业者把船修好以后"
    text, sample = f"😀 请写下{shared}继续往北走。", f"👩\u200d🚀 据说{shared}"
    ours, theirs = marked(text, sample)
    assert len(ours) == len(theirs) == 1
    assert shared[2:-2] in ours[0]
    assert shared[2:-2] in theirs[0]


def test_decomposed_letters_keep_their_places() -> None:
    shared = "re\u0301sume\u0301 of the cafe\u0301 owner in the valley"
    ours, theirs = marked(f"Write the {shared} now", f"Here is the {shared}!")
    assert ours == theirs == [f" the {shared}"]


def test_two_words_are_no_passage() -> None:
    assert marked("Write a poem", "Sing a song") == ([], [])


def test_passages_that_touch_are_one() -> None:
    ids = {"a": [1, 2, 3, 4, 9], "b": [1, 2, 3, 4, 8]}
    places = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)]
    found = shared_passages("a", "b", lambda text: ids[text], lambda _: places)
    assert found == ([Span(0, 4)], [Span(0, 4)])
