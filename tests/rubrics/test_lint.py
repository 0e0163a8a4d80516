"""Remarks on a rubric: what each check finds, and that a careful rubric gets few."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from hypothesis import given
from hypothesis import strategies as st

from rubrics.lint import LINT_VERSION, Check, Finding, findings_as_json, findings_from_json, lint_rubric
from rubrics.lint.terms import content_terms
from rubrics.models import Rubric as RubricRow
from rubrics.rubric import Rubric
from tests.samples import corpus_prompt
from tests.samples import rubric as rubric_row

REQUEST = (
    "Write a letter of about 300 words to the harbour board about the night ferry to Inishmore, for readers"
    " who have never seen the island. Give three dates."
)
FERRY = ("no sailing is named", "one sailing is named", "two sailings are named", "every sailing is named")
ISLAND = (
    "the island is a bare name",
    "one house is seen",
    "two boats and a quay are seen",
    "the whole shore is seen",
)
DATES = ("no date", "one date", "two dates", "three dates, each with its sailing")
REQUEST_ZH = "请面向初中生写一篇八百字左右的文章，介绍《清明上河图》里的虹桥，用第三人称。"


def dimension(name: str, scope: str, levels: tuple[str, ...]) -> dict[str, str]:
    return {
        "name": name,
        "criteria_description": scope,
        **{f"{2 * at + 1}-{2 * at + 2}": text for at, text in enumerate(levels)},
    }


CAREFUL = [
    dimension("The night ferry", "Whether the letter says which sailings of the ferry have stopped", FERRY),
    dimension("An island for strangers", "What a reader who never saw Inishmore gets to see of it", ISLAND),
    dimension("Three dates within 300 words", "Whether dates stand in the letter, and its length", DATES),
]


def found(dimensions: list[dict[str, str]], request: str = REQUEST, language: str = "en") -> list[Finding]:
    return lint_rubric(Rubric.from_json(dimensions), request, language)


def checks(dimensions: list[dict[str, str]], request: str = REQUEST) -> list[str]:
    return [finding.check.value for finding in found(dimensions, request)]


def test_a_careful_rubric_gets_no_remark() -> None:
    assert found(CAREFUL) == []


# Overlap


def test_two_dimensions_that_speak_of_the_same_overlap() -> None:
    again = dimension(
        "Ferry sailings", "Whether the letter tells which sailings of the night ferry have stopped", DATES
    )
    (finding,) = [one for one in found([*CAREFUL, again]) if one.check is Check.OVERLAP]
    assert finding.dimension == 3
    assert "The night ferry" in finding.message
    assert "sail" in finding.evidence


def test_the_same_name_in_another_form_overlaps() -> None:
    twice = [
        dimension("Night ferries", "The crew", FERRY),
        dimension("The night ferry", "The quay", DATES),
    ]
    assert "overlap" in checks(twice)


# Progress


@pytest.mark.parametrize(
    ("levels", "level"),
    [
        (("no date", "one date", "One  date", "three dates"), "5-6"),
        (("no date", "one date of a sailing is given", "two dates", "one date of a sailing is given"), "7-8"),
        (("Excellent letter with every date", "one date", "two dates", "three dates"), "1-2"),
        (("no date", "one date", "two dates", "Fails to give any date"), "7-8"),
        (("没有日期", "写出一个日期", "写出一个日期", "写出三个日期"), "5-6"),
    ],
)
def test_a_level_that_does_not_go_further(levels: tuple[str, ...], level: str) -> None:
    dimensions = [*CAREFUL[:2], dimension("Three dates within 300 words", "Dates and length", levels)]
    places = [(one.dimension, one.level) for one in found(dimensions) if one.check is Check.PROGRESS]
    assert places == [(2, level)]


def test_levels_that_differ_by_what_can_be_counted_progress() -> None:
    same = "of the three dates that the request asks for are given with the sailing that each belongs to"
    levels = tuple(f"{count} {same}" for count in ("None", "One", "Two", "All"))
    assert checks([*CAREFUL[:2], dimension("Three dates within 300 words", "Dates and length", levels)]) == []


# Vague


@pytest.mark.parametrize(
    "levels",
    [
        ("Poor", "Fair", "Good and appropriate", "Excellent and engaging"),
        ("较差", "一般", "较好", "非常出色"),
    ],
)
def test_praise_that_names_nothing_is_vague(levels: tuple[str, ...]) -> None:
    dimensions = [*CAREFUL, dimension("Voice of the islanders", "How Inishmore sounds", levels)]
    (finding,) = [one for one in found(dimensions) if one.check is Check.VAGUE]
    assert finding.dimension == 3
    assert "1-2" in finding.message


def test_praise_beside_something_to_look_for_is_not_vague() -> None:
    praise = ("Poor", "Fair", "Good", "Great")
    levels = tuple(f"{word}: {level}" for word, level in zip(praise, DATES, strict=True))
    assert "vague" not in checks([*CAREFUL[:2], dimension("Dates within 300 words", "Dates", levels)])


# Demands


@pytest.mark.parametrize(
    ("request_text", "words"),
    [
        ("Write 300 words about the ferry to Inishmore.", "300 words"),
        ("Write about the ferry to Inishmore as a table.", "as a table"),
        ("Write about the ferry to Inishmore in French.", "in French"),
        ("Write about the ferry to Inishmore for primary school children.", "for primary school children"),
        ('Write about the ferry to Inishmore after the film "Stormy Petrel".', "Stormy Petrel"),
    ],
)
def test_a_demand_that_no_dimension_speaks_of(request_text: str, words: str) -> None:
    (finding,) = [one for one in found(CAREFUL[:1], request_text) if one.check is Check.CONSTRAINT]
    assert finding.evidence == words
    assert finding.dimension is None


def test_chinese_demands_are_found_and_are_covered_where_spoken_of() -> None:
    bridge = dimension(
        "虹桥的画面", "虹桥在文中怎样出现", ("只有桥名", "写出一处画面", "写出两处画面", "写出三处画面")
    )
    missing = [one.evidence for one in found([bridge], REQUEST_ZH, "zh") if one.check is Check.CONSTRAINT]
    assert missing == ["八百字", "第三人称", "面向初中生", "清明上河图"][: len(missing)] or set(missing) == {
        "八百字",
        "第三人称",
        "清明上河图",
    }
    assert "八百字" in missing
    covered = dimension(
        "篇幅与人称",
        "是否八百字左右，是否用第三人称讲清明上河图，初中生读者能否读懂",
        ("三项都没有", "做到一项", "做到两项", "三项都做到"),
    )
    assert [one for one in found([bridge, covered], REQUEST_ZH, "zh") if one.check is Check.CONSTRAINT] == []


def test_names_within_long_material_are_no_demands() -> None:
    material = "The captain said little. " * 60 + 'Then "Stormy Petrel" came in. ' + "Nobody spoke. " * 60
    request = f"Write about the ferry to Inishmore, 300 words.\n\n{material}"
    assert [one.evidence for one in found(CAREFUL, request) if one.check is Check.CONSTRAINT] == []


@pytest.mark.parametrize(
    "request_text",
    [
        "Write about the ferry to Inishmore. Fares fell by 0.8 percentage points.",
        "写一篇关于渡船的短文。参见第六章。",
        'Write about the ferry to Inishmore. "Plot Outline": "it sinks".',
    ],
)
def test_what_only_looks_like_a_demand(request_text: str) -> None:
    assert [one for one in found(CAREFUL[:1], request_text) if one.check is Check.CONSTRAINT] == []


def test_a_name_within_another_is_told_once() -> None:
    request = 'Write about the ferry. Name "Stormy Petrel," and "Stormy Petrel Two".'
    missing = [one.evidence for one in found(CAREFUL[:1], request) if one.check is Check.CONSTRAINT]
    assert missing == ["Stormy Petrel"]


def test_numbers_within_long_material_are_no_demands() -> None:
    material = "The captain said little. " * 45 + "He wrote 40 pages. " + "Nobody spoke. " * 90
    request = f"Write about the ferry to Inishmore.\n\n{material}"
    assert [one for one in found(CAREFUL[:1], request) if one.check is Check.CONSTRAINT] == []
    asked = f"{request} Keep it to 3 pages."
    assert [one.evidence for one in found(CAREFUL[:1], asked)] == ["3 pages"]


# Specific, maxima


def test_dimensions_that_would_suit_any_request() -> None:
    general = [
        dimension("Grammar", "Spelling and punctuation", DATES),
        dimension("Fluency", "Smooth sentences", FERRY),
    ]
    findings = [one for one in found([CAREFUL[0], *general]) if one.check is Check.SPECIFIC]
    assert [one.dimension for one in findings] == [1, 2, None]
    assert "2 of 3 dimensions" in findings[-1].message
    one_of_three = [one for one in found([*CAREFUL[:2], general[0]]) if one.check is Check.SPECIFIC]
    assert [one.dimension for one in one_of_three] == [2]


def test_a_rubric_in_another_script_is_not_called_unspecific() -> None:
    assert [one for one in found(CAREFUL, REQUEST_ZH, "zh") if one.check is Check.SPECIFIC] == []


def test_uneven_maxima_are_said_with_their_ratio() -> None:
    levels = (*FERRY, "the fifth reason is given", "a sixth one, with its source")
    long = dimension("The night ferry", "Which sailings of the ferry stopped", levels)
    (finding,) = [one for one in found([long, *CAREFUL[1:]]) if one.check is Check.MAXIMA]
    assert "(12 points) weighs 1.5 times as much" in finding.message


# As a whole


def test_findings_come_back_from_what_is_stored() -> None:
    findings = found([*CAREFUL, CAREFUL[0] | {"name": "Ferry, once more"}])
    assert findings
    stored = json.loads(json.dumps(findings_as_json(findings)))
    assert findings_from_json(stored) == findings


@given(st.text(max_size=300), st.lists(st.text(max_size=80), min_size=4, max_size=6))
def test_no_text_breaks_the_checks(request_text: str, levels: list[str]) -> None:
    texts = [text if text.strip() and "\0" not in text else "x" for text in levels]
    storable = [text.encode("utf-8", "replace").decode() for text in texts]
    dimensions = [
        dimension(name, scope, tuple(storable)) for name, scope in zip(("One", "Two"), storable, strict=False)
    ]
    for finding in found(dimensions, request_text):
        assert finding.message
        assert finding.dimension in (None, 0, 1)


def test_content_terms_leave_out_what_every_rubric_says() -> None:
    assert content_terms("Evaluates how well the response is structured") == frozenset()
    assert content_terms("评估回答是否完整") <= {"估回", "答是", "否完"}
    assert content_terms("Canals and a canal") == {"canal"}


def test_published_checklists_get_few_remarks() -> None:
    folder = os.environ.get("BENCHMARK_DATA")
    if not folder:
        pytest.skip("BENCHMARK_DATA does not name a folder with the public benchmarks")
    lines = (Path(folder) / "writingbench" / "length_subset.jsonl").read_text(encoding="utf-8").split("\n")
    rows: list[dict[str, Any]] = [json.loads(line) for line in lines if line]
    seen = Counter[Check]()
    for row in rows:
        seen.update({one.check for one in lint_rubric(Rubric.from_json(row["checklist"]), row["query"])})
    assert len(rows) > 200
    assert 0 < seen[Check.CONSTRAINT] < 0.2 * len(rows)
    assert sum(seen.values()) - seen[Check.CONSTRAINT] < 0.05 * len(rows)


@pytest.mark.django_db
def test_older_findings_are_made_again() -> None:
    old = rubric_row(corpus_prompt(REQUEST), dimensions=[*CAREFUL[:2], CAREFUL[2] | {"7-8": "two dates"}])
    new = rubric_row(corpus_prompt(REQUEST), dimensions=CAREFUL)
    RubricRow.objects.filter(pk=new.pk).update(lint_version=LINT_VERSION, lint=[{"kept": "as it is"}])
    call_command("lint_rubrics")
    old.refresh_from_db()
    new.refresh_from_db()
    assert old.lint_version == LINT_VERSION
    assert [each["check"] for each in old.lint] == ["progress"]
    assert new.lint == [{"kept": "as it is"}]
