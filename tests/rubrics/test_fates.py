"""What became of the candidates of discovery, told by their wording."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rubrics.fates import Kind, fates
from rubrics.parsing import Dimension, parse_dimensions

REPLIES = Path(__file__).parents[1] / "replies" / "large_language_model.jsonl"


def recorded(language: str) -> tuple[list[Dimension], list[Dimension]]:
    """Discovery and consolidation of one request, as a large language model answered."""
    rows = [json.loads(line) for line in REPLIES.read_text(encoding="utf-8").split("\n") if line]
    found = []
    for stage in ("irg-discovery", "irg-consolidation"):
        replies = [parse_dimensions(row["reply"]) for row in rows if row["template"].startswith(stage)]
        found.append(next(one for one in replies if one[0].name.isascii() == (language == "en")))
    return found[0], found[1]


@pytest.mark.parametrize(
    ("language", "candidate", "kind", "into"),
    [
        ("en", "Order that leads to the offer", "kept", "Order that leads to the offer"),
        ("en", "Dad asking about the roof", "merged", "Dad's questions and the tobacco tin"),
        ("en", 'Ending with "Declan"', "merged", "Length, bans and sign-off"),
        ("zh", "结尾两问的数量与观察要求", "merged", "结尾两问与连日观察"),
        ("zh", "无算式与篇幅合度", "merged", "篇幅、无算式与全文接续"),
    ],
)
def test_candidates_of_a_real_trace(language: str, candidate: str, kind: str, into: str) -> None:
    discovered, consolidated = recorded(language)
    (fate,) = [one for one in fates(discovered, consolidated) if one.candidate.name == candidate]
    assert (fate.kind.value, fate.into) == (kind, into)
    assert 0 < fate.share <= 1


def test_every_candidate_has_one_fate_in_its_order() -> None:
    discovered, consolidated = recorded("en")
    found = fates(discovered, consolidated)
    assert [fate.candidate for fate in found] == discovered
    assert {fate.into for fate in found} <= {one.name for one in consolidated} | {""}


def test_a_candidate_that_shares_no_word_was_dropped() -> None:
    kept = Dimension("Dates of the sailings", "whether three dates of the ferry are given")
    lost = Dimension("Rhyme", "whether lines end in rhymes")
    (fate,) = fates([lost], [kept])
    assert (fate.kind, fate.into, fate.share) == (Kind.DROPPED, "", 0.0)


def test_a_name_in_another_form_was_kept_and_words_of_every_rubric_count_for_nothing() -> None:
    kept = Dimension("Ｔone  and Voice", "the islanders")
    empty = Dimension("Quality", "how well the response is structured")
    found = fates([Dimension("tone and voice", "x"), empty], [kept])
    assert [fate.kind for fate in found] == [Kind.KEPT, Kind.DROPPED]
    assert fates([], [kept]) == []
    assert [fate.kind for fate in fates([empty], [])] == [Kind.DROPPED]
