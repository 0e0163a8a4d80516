"""The prompt templates in both languages: slots, frames around foreign text, and every requirement of the
paper's prompts on the line that the documentation names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from llm.prompts import load_template, template_language
from llm.types import UnusableReplyError
from rubrics.assessment import parse_assessment
from rubrics.parsing import parse_dimensions, parse_intervals

SLOTS = {
    "irg-discovery": {"query"},
    "irg-consolidation": {"metrics_block", "query"},
    "irg-scoring": {"name", "criteria_description", "query"},
    "drg": {"query"},
    "rubricgen": {"query"},
    "assessment": {"response", "rubric"},
}
LANGUAGES = ("en", "zh")
DOCUMENT = Path(__file__).parents[2] / "docs" / "decisions" / "0003-rubrics-and-rewards.md"

both_languages = pytest.mark.parametrize("language", LANGUAGES)


@both_languages
@pytest.mark.parametrize("name", SLOTS)
def test_every_slot_stands_once_between_two_frames_of_its_own(name: str, language: str) -> None:
    template = load_template("rubrics", name, 1, language=language)

    for slot in SLOTS[name]:
        frame = f"{{{{fence:{slot}}}}}"
        assert template.body.count(f"{frame}\n{{{{{slot}}}}}\n{frame}") == 1
        assert template.body.count(slot + "}}") == 3
    assert set(re.findall(r"\{\{(\w+)\}\}", template.body)) == SLOTS[name]


def test_the_request_s_language_chooses_the_template_and_its_identity() -> None:
    assert [template_language(code) for code in ("zh", "zh-Hant", "ZH_cn", "en", "de", "", "zha")] == [
        *("zh", "zh", "zh", "en", "en", "en", "en")
    ]
    assert load_template("rubrics", "drg", 1).identity == "drg@1"
    assert load_template("rubrics", "drg", 1, language="fr").identity == "drg@1"
    assert load_template("rubrics", "drg", 1, language="zh-Hant").identity == "drg.zh@1"


@pytest.mark.parametrize("name", SLOTS)
def test_both_languages_stand_line_by_line(name: str) -> None:
    """So that one line number holds for both; labels, numbers and slots are the same on each line."""
    english, chinese = (
        load_template("rubrics", name, 1, language=language).body.split("\n") for language in LANGUAGES
    )
    assert len(english) == len(chinese)
    for one, other in zip(english, chinese, strict=True):
        assert bool(one) == bool(other)
        for kept in (r"\{\{.*?\}\}", r"^[\w -]+: (?=<)", r"^\d\. ", r"`[^`]+`", r'"[^"]+"'):
            assert re.findall(kept, one) == re.findall(kept, other)
        numbers = [re.findall(r"\b\d+\b", re.sub(r"^\d\. ", "", line)) for line in (one, other)]
        assert numbers[0] == numbers[1]


@both_languages
def test_a_model_that_repeats_the_form_instead_of_filling_it_is_not_understood(language: str) -> None:
    for name, parse in (
        ("irg-discovery", parse_dimensions),
        ("irg-consolidation", parse_dimensions),
        ("irg-scoring", parse_intervals),
    ):
        lines = load_template("rubrics", name, 1, language=language).body.splitlines()
        form = "\n".join(line for line in lines if re.match(r"[\w-]+: <.*>$", line))
        assert form
        with pytest.raises(UnusableReplyError, match="placeholder"):
            parse(form)
    assert parse_assessment(load_template("rubrics", "assessment", 1, language=language).body) == []


REQUIREMENTS: dict[str, list[tuple[str, str]]] = {
    "irg-discovery": [
        ("creative writing request", "创意写作需求"),
        ("by which signs in a response", "凭回答中的哪些迹象"),
        ("any piece of writing is not enough", "清单是不够的"),
        ("At least half", "至少一半"),
        ("style or organization", "文采、结构"),
        ("A person and a program", "让人和程序"),
        ("15 to 20", "15 到 20"),
        ("one empty line before the next", "然后空一行"),
        ("The user's request", "用户的需求"),
    ],
    "irg-consolidation": [
        ("the core set", "核心维度"),
        ("you may not add a target", "不能加进它原本没有的评判对象"),
        ("same standard", "标准相同"),
        ("Do not string concepts together", "不要把概念简单拼接"),
        ("a short name", "简短而说明内容的名称"),
        ("adds nothing to the others", "不比其他维度多说什么"),
        ("At least half", "至少一半"),
        ("visible in a response", "看得见的特征"),
        ("5 to 8 dimensions", "5 到 8 个维度"),
        ("no headings, no numbers, no bullets", "不要标题、编号、项目符号"),
        ("{{metrics_block}}", "{{metrics_block}}"),
    ],
    "irg-scoring": [
        ("different judges give the same response the same score", "不同的评判者给同一篇回答打出同样的分数"),
        ("{{name}}", "{{name}}"),
        ("may be something other than 10", "最高分不一定是 10"),
        ("without a gap and without an overlap", "既不间断，也不重叠"),
        ("Stay within the scope", "不超出这个维度的范围"),
        ("observed and verified", "能够观察、能够核实"),
        ("coverage, depth and the keeping", "覆盖面、深度和对需求中各项限制的遵守"),
        ("judges can tell them apart", "评判者分得开"),
        ("one line for each interval", "每个区间一行"),
        ("the context of the dimension", "作为这个维度的背景"),
    ],
    "drg": [
        ("in one go, the complete rubric", "一次写出一份完整的评分标准"),
        ("5 to 8 dimensions", "5 到 8 个维度"),
        ("At least half", "至少一半"),
        ("signs in a response that can be seen or checked", "看得见、查得到的迹象"),
        ("5 to 8 intervals", "5 到 8 个区间"),
        ("without a gap and without an overlap", "既不间断，也不重叠"),
        ("observed and verified", "能够观察、能够核实"),
        ("judges can tell them apart", "评判者分得开"),
        ("one JSON list of objects", "JSON 列表"),
        ("{{query}}", "{{query}}"),
    ],
    "rubricgen": [
        ("professional, rigorous, usable", "专业、严谨、好用"),
        ("where responses usually fall short", "通常会在哪里不足"),
        ("general template for writing are not wanted", "不要只是照搬一般写作模板"),
        ("At least half", "至少一半"),
        ("style or organization", "文采、结构"),
        ("judged twice as little as possible", "尽量不对同一件事重复评判"),
        ("professional or research request", "专业或研究性的需求"),
        ("superfluous, vague or badly bounded", "多余、含糊或边界不清"),
        ("matches its name exactly", "与它的 name 准确对应"),
        ("5 to 8 score intervals", "5 到 8 个分数区间"),
        ("two consecutive whole scores", "两个连续的整数分"),
        ("observed and verified", "能够观察、能够核实"),
        ("coverage, depth and the keeping", "覆盖面、深度和对需求中各项限制的遵守"),
        ("one JSON list of objects", "JSON 列表"),
        ("Think the request through, then give", "把需求想透，然后给出"),
    ],
    "assessment": [
        ("one item after the other", "逐项评判"),
        ("in the order of the rubric", "按评分标准的顺序"),
        ("exactly three lines", "恰好写三行"),
        ("until every item of the rubric is assessed", "每一项都评完为止"),
        ("whole numbers", "整数"),
        ("what is good as well as the direction", "好在哪里，也要指出可以改进的方向"),
        ("there may be empty lines", "可以有空行"),
        ("{{rubric}}", "{{rubric}}"),
    ],
}
"""For each row of the documentation's table, in its order, words on its lines that hold the requirement."""


def documented_lines() -> dict[str, list[tuple[str, set[int]]]]:
    """Template -> the requirements that the table lists for it, each with its lines."""
    found: dict[str, list[tuple[str, set[int]]]] = {}
    name = ""
    for row in re.findall(r"^\|([^|]*)\|([^|]*)\|([^|]*)\|$", DOCUMENT.read_text("utf-8"), re.MULTILINE):
        _, requirement, where = (cell.strip() for cell in row)
        if named := re.match(r"`([\w-]+)` ", where):
            name = named[1]
        if not name:
            continue
        numbers: set[int] = set()
        for low, high in re.findall(r"(\d+)(?:–(\d+))?", where):
            numbers |= set(range(int(low), int(high or low) + 1))
        found.setdefault(name, []).append((requirement, numbers))
    return found


@both_languages
@pytest.mark.parametrize("name", SLOTS)
def test_every_requirement_of_the_paper_stands_where_the_documentation_says(name: str, language: str) -> None:
    lines = load_template("rubrics", name, 1, language=language).body.split("\n")
    rows = documented_lines()[name]
    assert len(rows) == len(REQUIREMENTS[name])
    for (requirement, numbers), words in zip(rows, REQUIREMENTS[name], strict=True):
        phrase = words[LANGUAGES.index(language)]
        standing = {number for number, line in enumerate(lines, 1) if phrase in line}
        assert standing & numbers, f"{requirement}: {phrase!r} stands on {standing}, not on {numbers}"
        assert all(lines[number - 1] for number in numbers), f"{requirement}: an empty line among {numbers}"
