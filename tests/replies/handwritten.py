"""Replies written by hand in the manner of several model families, with what each must give (paper A.4).

They copy habits seen in such models' replies; no model wrote them. `expected` is the exact reading as plain
values, `failure` a part of the reason for which a reply is refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Handwritten:
    """`stage` is dimensions, intervals, rubric or assessment: which parser reads it."""

    manner: str
    language: str
    stage: str
    reply: str
    expected: Any = None
    failure: str = ""


CACTUS = [
    ("Buying appeal", "Whether the post names concrete benefits of owning the plant, such as winter blooms."),
    ("Word limit", "Whether the outline stays near 100 words; count them."),
]
LEI_FENG = [
    ("雷锋事迹的准确性", "是否提到可以查证的事迹，例如“钉子精神”；张冠李戴即为失分。"),
    ("篇幅控制", "全文是否在200字以内，可直接数字数。"),
]
LEVELS = [
    "No benefit is named.",
    "One benefit, unexplained.",
    "Two benefits, one explained.",
    "All explained.",
]
STUFEN = [
    "没有提到雷锋。",
    "只提到名字，没有事迹。",
    "有一件事迹，但细节有误。",
    "事迹准确，并与当下相联系。",
]


def _intervals(texts: list[str], lows: tuple[int, ...] = (1, 3, 5, 7)) -> list[tuple[int, int, str]]:
    return [(low, low + 1, text) for low, text in zip(lows, texts, strict=True)]


def _rubric(dimensions: list[tuple[str, str]], texts: list[str]) -> list[dict[str, str]]:
    levels = {f"{low}-{high}": text for low, high, text in _intervals(texts)}
    return [{"name": name, "criteria_description": scope, **levels} for name, scope in dimensions]


PLANT = [*CACTUS, ("Season", "Whether the post ties the plant to Christmas.")]
TWEET = [*LEI_FENG, ("传播感", "是否有让人愿意转发的一句话。")]

DIMENSIONS = (
    Handwritten(
        "Qwen, thinking",
        "en",
        "dimensions",
        f"""<think>
Okay, the user wants dimensions. Let me draft: name: Hook, reason: first line. Hmm, better be specific.
</think>

name: {CACTUS[0][0]}
reason: {CACTUS[0][1]}

name: {CACTUS[1][0]}
reason: {CACTUS[1][1]}""",
        CACTUS,
    ),
    Handwritten(
        "Qwen, thinking switched off",
        "zh",
        "dimensions",
        f"<think>\n\n</think>\n\nname: {LEI_FENG[0][0]}\nreason: {LEI_FENG[0][1]}\n\n"
        f"name: {LEI_FENG[1][0]}\nreason: {LEI_FENG[1][1]}\n",
        LEI_FENG,
    ),
    Handwritten(
        "Qwen, the chat template opened the think block",
        "zh",
        "dimensions",
        f"好的，用户要的是推文。先列维度……\n</think>\n\n名称：{LEI_FENG[0][0]}\n理由：{LEI_FENG[0][1]}\n\n"
        f"名称：{LEI_FENG[1][0]}\n理由：{LEI_FENG[1][1]}",
        LEI_FENG,
    ),
    Handwritten(
        "DeepSeek, bold and headings",
        "en",
        "dimensions",
        f"""### Evaluation Dimensions

1. **name:** {CACTUS[0][0]}
   **reason:** {CACTUS[0][1]}

---

2. **name:** {CACTUS[1][0]}
   **reason:** {CACTUS[1][1]}
""",
        CACTUS,
    ),
    Handwritten(
        "DeepSeek, bold names as headings",
        "zh",
        "dimensions",
        f"""以下是针对该需求的评价维度：

### 一、内容维度

**名称：{LEI_FENG[0][0]}**
**理由：** {LEI_FENG[0][1]}

### 二、形式维度

**名称：{LEI_FENG[1][0]}**
**理由：** {LEI_FENG[1][1]}""",
        LEI_FENG,
    ),
    Handwritten(
        "GLM, Chinese labels in brackets",
        "zh",
        "dimensions",
        f"【名称】{LEI_FENG[0][0]}\n【理由】{LEI_FENG[0][1]}\n\n【名称】{LEI_FENG[1][0]}\n【理由】{LEI_FENG[1][1]}",
        LEI_FENG,
    ),
    Handwritten(
        "Kimi, numbering with full-width signs",
        "zh",
        "dimensions",
        f"１．维度名称：{LEI_FENG[0][0]}\n　　理由：{LEI_FENG[0][1]}\n"
        f"２．维度名称：{LEI_FENG[1][0]}\n　　理由：{LEI_FENG[1][1]}",
        LEI_FENG,
    ),
    Handwritten(
        "Kimi, numbering in brackets",
        "zh",
        "dimensions",
        f"（一）维度名称：{LEI_FENG[0][0]}\n　　理由：{LEI_FENG[0][1]}\n"
        f"（二）维度名称：{LEI_FENG[1][0]}\n　　理由：{LEI_FENG[1][1]}",
        LEI_FENG,
    ),
    Handwritten(
        "Llama, an introduction",
        "en",
        "dimensions",
        f"""Here are the evaluation dimensions for the given request:

* Name: {CACTUS[0][0]}
* Reason: {CACTUS[0][1]}

* Name: {CACTUS[1][0]}
* Reason: {CACTUS[1][1]}""",
        CACTUS,
    ),
    Handwritten(
        "Llama, a closing remark",
        "en",
        "dimensions",
        f"name: {CACTUS[0][0]}\nreason: {CACTUS[0][1]}\n\nThese dimensions cover the request well.",
        failure="line 4: text after a blank line",
    ),
    Handwritten(
        "GPT, a code fence",
        "en",
        "dimensions",
        f"""Sure! Here's the set:

```text
name: {CACTUS[0][0]}
reason: {CACTUS[0][1]}

name: {CACTUS[1][0]}
reason: {CACTUS[1][1]}
```

Let me know if you would like fewer.""",
        CACTUS,
    ),
    Handwritten(
        "GPT, a table",
        "en",
        "dimensions",
        f"| name | reason |\n|---|---|\n| {CACTUS[0][0]} | {CACTUS[0][1]} |",
        failure="line 1: a table",
    ),
    Handwritten(
        "a reason in several lines",
        "zh",
        "dimensions",
        "name: 结构\nreason: 是否依次写到：\n1. 起因\n2. 经过\n3. 结果\n\nname: 语气\nreason: 是否克制",
        [("结构", "是否依次写到：\n1. 起因\n2. 经过\n3. 结果"), ("语气", "是否克制")],
    ),
    Handwritten(
        "repeated names, written otherwise",
        "en",
        "dimensions",
        "name: Word limit\nreason: One.\n\nname: word  limit\nreason: Two.\n\nname: Tone\nreason: Three.",
        [("Word limit", "One."), ("Tone", "Three.")],
    ),
    Handwritten(
        "the think block never closes",
        "en",
        "dimensions",
        f"<think>\nname: {CACTUS[0][0]}\nreason: {CACTUS[0][1]}",
        failure="never closes it",
    ),
    Handwritten(
        "cut in the middle of a record",
        "zh",
        "dimensions",
        f"name: {LEI_FENG[0][0]}\nreason: {LEI_FENG[0][1]}\n\nname: 篇幅",
        failure="line 4: name without reason",
    ),
    Handwritten(
        "both fields on one line",
        "zh",
        "dimensions",
        f"名称：{LEI_FENG[0][0]} 理由：{LEI_FENG[0][1]}\n名称：乙 理由：丙",
        failure="line 1: name without reason",
    ),
    Handwritten(
        "a refusal", "en", "dimensions", "I can't help with that.", failure="no name and reason records"
    ),
)

INTERVALS = (
    Handwritten(
        "to the letter",
        "en",
        "intervals",
        "\n".join(f"{low}-{high}: {text}" for low, high, text in _intervals(LEVELS)),
        _intervals(LEVELS),
    ),
    Handwritten(
        "Qwen, Chinese with full-width colons",
        "zh",
        "intervals",
        "<think>\n\n</think>\n"
        + "\n\n".join(f"{low}-{high}分：{text}" for low, high, text in _intervals(STUFEN)),
        _intervals(STUFEN),
    ),
    Handwritten(
        "DeepSeek, bold labels with en dashes",
        "en",
        "intervals",
        "\n".join(f"- **{low}–{high}**: {text}" for low, high, text in _intervals(LEVELS)),
        _intervals(LEVELS),
    ),
    Handwritten(
        "GLM, wide tildes and a space before the unit",
        "zh",
        "intervals",
        "评分标准如下：\n" + "\n".join(f"{low}～{high} 分：{text}" for low, high, text in _intervals(STUFEN)),
        _intervals(STUFEN),
    ),
    Handwritten(
        "Kimi, full-width digits",
        "zh",
        "intervals",
        "\n".join(
            f"{low}－{high}：{text}".translate(str.maketrans("12345678", "１２３４５６７８"))
            for low, high, text in _intervals(STUFEN)
        ),
        _intervals(STUFEN),
    ),
    Handwritten(
        "Llama, words for the label",
        "en",
        "intervals",
        "Here is the scale:\n\n"
        + "\n".join(f"Score {a} to {b}: {text}" for a, b, text in _intervals(LEVELS)),
        _intervals(LEVELS),
    ),
    Handwritten(
        "GPT, levels with the scores in brackets",
        "en",
        "intervals",
        "\n".join(
            f"**Level {n} ({low}-{high} points):** {text}"
            for n, (low, high, text) in enumerate(_intervals(LEVELS), 1)
        ),
        _intervals(LEVELS),
    ),
    Handwritten(
        "headings with the text under them",
        "zh",
        "intervals",
        "\n\n".join(f"### {low}-{high}分\n{text}" for low, high, text in _intervals(STUFEN)),
        _intervals(STUFEN),
    ),
    Handwritten(
        "a scale that begins at nought",
        "en",
        "intervals",
        "\n".join(f"{low}-{low + 1}: {text}" for low, text in zip((0, 2, 4, 6), LEVELS, strict=True)),
        _intervals(LEVELS, (0, 2, 4, 6)),
    ),
    Handwritten(
        "ranges of three scores",
        "en",
        "intervals",
        "1-3: Weak.\n4-6: Fair.\n7-9: Strong.",
        failure="line 1: interval 1-3 does not hold two consecutive scores",
    ),
    Handwritten(
        "strongest first",
        "zh",
        "intervals",
        "7-8：全部做到。\n5-6：大部分做到。\n3-4：少部分。\n1-2：没有。",
        failure="line 2: interval 5-6 does not come after 8",
    ),
    Handwritten(
        "single scores",
        "en",
        "intervals",
        "1: Nothing.\n2: Little.\n3: Some.",
        failure="line 1: a single score",
    ),
    Handwritten(
        "an open end",
        "en",
        "intervals",
        "1-2: Weak.\n3-4: Fair.\n5-6: Good.\n7-8+: Strong.",
        failure="line 4: two numbers without a colon",
    ),
    Handwritten(
        "all on one line",
        "zh",
        "intervals",
        "1-2：没有。3-4：少部分。5-6：大部分。7-8：全部。",
        failure="line 1: two intervals on one line",
    ),
    Handwritten(
        "the prompt's form, copied",
        "zh",
        "intervals",
        "1-2: <这样的回答是什么样子>\n3-4: <这样的回答是什么样子>",
        failure="line 1: description of interval 1-2 is a placeholder",
    ),
)


def _object(name: str, scope: str, texts: list[str], key: str = '"{}"', colon: str = ": ") -> str:
    parts = [("name", name), ("criteria_description", scope)]
    parts += [(f"{low}-{high}", text) for low, high, text in _intervals(texts)]
    return "{" + ", ".join(f'{key.format(label)}{colon}"{text}"' for label, text in parts) + "}"


def _list(dimensions: list[tuple[str, str]], texts: list[str], **form: str) -> str:
    return "[" + ",\n".join(_object(name, scope, texts, **form) for name, scope in dimensions) + "]"


QUOTED = [(TWEET[0][0], '是否提到"钉子精神"，并说明它指什么。'), *TWEET[1:]]

RUBRICS = (
    Handwritten("to the letter", "en", "rubric", _list(PLANT, LEVELS), _rubric(PLANT, LEVELS)),
    Handwritten("to the letter", "zh", "rubric", _list(TWEET, STUFEN), _rubric(TWEET, STUFEN)),
    Handwritten(
        "Qwen, thinking, a draft inside the block",
        "zh",
        "rubric",
        '<think>先想想：[{"name": "草稿"}] 不够具体。</think>\n\n' + _list(TWEET, STUFEN),
        _rubric(TWEET, STUFEN),
    ),
    Handwritten(
        "GPT, a code fence and talk around it",
        "en",
        "rubric",
        f"Here is the rubric [as JSON]:\n\n```json\n{_list(PLANT, LEVELS)}\n```\n\nGood luck, {{writer}}!",
        _rubric(PLANT, LEVELS),
    ),
    Handwritten(
        "GPT, an object around the list",
        "en",
        "rubric",
        f'{{"rubric": {_list(PLANT, LEVELS)}}}',
        _rubric(PLANT, LEVELS),
    ),
    Handwritten(
        "DeepSeek, a heading and commas too many",
        "zh",
        "rubric",
        "### 评分标准\n" + _list(TWEET, STUFEN).replace('"}', '",\n}').replace("}]", "},\n]"),
        _rubric(TWEET, STUFEN),
    ),
    Handwritten(
        "GLM, quotation marks inside a text",
        "zh",
        "rubric",
        _list(QUOTED, STUFEN),
        _rubric(QUOTED, STUFEN),
    ),
    Handwritten(
        "Kimi, full-width colons and curly marks around the keys",
        "zh",
        "rubric",
        _list(TWEET, STUFEN, key="“{}”", colon="："),
        _rubric(TWEET, STUFEN),
    ),
    Handwritten(
        "Llama, one object after the other, no list",
        "en",
        "rubric",
        "\n\n".join(_object(name, scope, LEVELS) for name, scope in PLANT),
        _rubric(PLANT, LEVELS),
    ),
    Handwritten(
        "labels in other writing",
        "zh",
        "rubric",
        _list(TWEET, STUFEN)
        .replace('"1-2"', '"1～2 分"')
        .replace('"3-4"', '"3–4"')
        .replace('"5-6"', '"5 to 6"'),
        _rubric(TWEET, STUFEN),
    ),
    Handwritten(
        "Chinese keys and a running number",
        "zh",
        "rubric",
        _list(TWEET, STUFEN)
        .replace('{"name"', '{"序号": 1, "维度名称"')
        .replace('"criteria_description"', '"评估范围"'),
        _rubric(TWEET, STUFEN),
    ),
    Handwritten(
        "a scale from nought",
        "en",
        "rubric",
        _list(PLANT, LEVELS)
        .replace('"1-2"', '"0-1"')
        .replace('"3-4"', '"2-3"')
        .replace('"5-6"', '"4-5"')
        .replace('"7-8"', '"6-7"'),
        _rubric(PLANT, LEVELS),
    ),
    Handwritten(
        "the intervals in an object of their own, strongest first",
        "en",
        "rubric",
        "["
        + ", ".join(
            f'{{"name": "{name}", "criteria_description": "{scope}", "levels": {{'
            + ", ".join(f'"{low}-{high}": "{text}"' for low, high, text in reversed(_intervals(LEVELS)))
            + "}}"
            for name, scope in PLANT
        )
        + "]",
        _rubric(PLANT, LEVELS),
    ),
    Handwritten(
        "a line break inside a text",
        "en",
        "rubric",
        _list(PLANT, LEVELS).replace("One benefit, unexplained.", "One benefit,\nunexplained."),
        _rubric(PLANT, [LEVELS[0], "One benefit,\nunexplained.", *LEVELS[2:]]),
    ),
    Handwritten(
        "one dimension without enough intervals is left out",
        "en",
        "rubric",
        "["
        + _object("Tone", "Whether it is warm.", LEVELS).replace(', "7-8": "All explained."', "")
        + ",\n"
        + _list(PLANT, LEVELS)[1:],
        _rubric(PLANT, LEVELS),
    ),
    Handwritten(
        "cut inside a text",
        "zh",
        "rubric",
        _list(TWEET, STUFEN)[:-20],
        failure="line 3: a text that is never closed",
    ),
    Handwritten(
        "cut between two dimensions",
        "en",
        "rubric",
        _list(PLANT, LEVELS)[:-1],
        failure="line 1: a JSON list that is never closed",
    ),
    Handwritten(
        "two different lists",
        "en",
        "rubric",
        f"First:\n{_list(PLANT, LEVELS)}\nRevised:\n{_list(PLANT[::-1], LEVELS)}",
        failure="line 6: a second JSON list, which differs from the first",
    ),
    Handwritten(
        "a weight that the form does not have",
        "en",
        "rubric",
        _list(PLANT, LEVELS).replace('{"name"', '{"weight": 0.3, "name"'),
        failure='dimension 1: line 1: unknown key "weight"',
    ),
    Handwritten(
        "intervals that overlap",
        "zh",
        "rubric",
        _list(TWEET, STUFEN).replace('"3-4"', '"2-3"'),
        failure="dimension 1: line 1: intervals 1-2 and 2-3 overlap",
    ),
    Handwritten(
        "a text that is never closed swallows a key",
        "en",
        "rubric",
        _list(PLANT, LEVELS).replace('No benefit is named.", ', "No benefit is named. "),
        failure="line 1: a key inside a text",
    ),
    Handwritten(
        "two dimensions are no rubric",
        "zh",
        "rubric",
        _list(TWEET[:2], STUFEN),
        failure="2 scored dimensions, at least 3 are needed",
    ),
    Handwritten(
        "the rubric as a table",
        "en",
        "rubric",
        "| name | 1-2 |\n|---|---|\n| Tone | cold |",
        failure="no JSON list",
    ),
)

ASSESSMENTS = (
    Handwritten(
        "to the letter",
        "en",
        "assessment",
        "name: Buying appeal\nscore: 5/8\ncomments and suggestions: Two benefits are clear.\n\n"
        "name: Word limit\nscore: 8/8\ncomments and suggestions: 98 words.",
        [
            ("Buying appeal", 5, 8, "Two benefits are clear."),
            ("Word limit", 8, 8, "98 words."),
        ],
    ),
    Handwritten(
        "Qwen, Chinese labels",
        "zh",
        "assessment",
        "名称：篇幅控制\n分数：7/8\n评语与建议：全文186字，可再精简结尾。",
        [("篇幅控制", 7, 8, "全文186字，可再精简结尾。")],
    ),
    Handwritten(
        "DeepSeek, bold fields",
        "zh",
        "assessment",
        "**name:** 篇幅控制\n**score:** 7/8\n**comments and suggestions:** 篇幅合适；结尾略长。",
        [("篇幅控制", 7, 8, "篇幅合适；结尾略长。")],
    ),
    Handwritten(
        "GLM, full-width stroke and unit",
        "zh",
        "assessment",
        "name: 传播感\nscore: 6／8 分\ncomments and suggestions: 有金句，但放得太靠后。",
        [("传播感", 6, 8, "有金句，但放得太靠后。")],
    ),
    Handwritten(
        "a decimal score is no item",
        "en",
        "assessment",
        "name: Season\nscore: 6.5/8\ncomments and suggestions: Nearly there.",
        [],
    ),
)

HANDWRITTEN = (*DIMENSIONS, *INTERVALS, *RUBRICS, *ASSESSMENTS)
