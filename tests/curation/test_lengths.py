"""The length policy of a source is what its reconstructions are planned, recovered and excluded by."""

from __future__ import annotations

import asyncio
import dataclasses
import io
import json

import pytest

from curation.models import Reconstruction, SourcePrompt
from curation.reconstruction import MAX_ENRICHMENTS, Strategy, exceeds_source_limit, reconstruct
from curation.services import ImportOptions, import_prompts, plan_reconstructions
from curation.steps import ReconstructStep
from llm.models import Run
from llm.text import LengthPolicy, count_length
from llm.types import SamplingParams
from tests.samples import source_prompt
from tests.scripted import ScriptedChat

SAMPLING = SamplingParams(temperature=0.7, top_p=0.8)
CHINESE = "请为一场关于运河手工业的展览写一篇前言，不少于四百字。"


@pytest.mark.parametrize(
    ("text", "paper", "script"),
    [
        ("", 0, 0),
        ("Write a letter, please.", 4, 4),
        ("写一封信", 1, 4),
        ("写一封信 to Anna", 3, 6),
        ("写一封信给Anna。", 1, 6),
        ("Write - now", 3, 2),
        ("한국어로 편지를 써 주세요", 4, 4),
        ("เขียนเรื่อง", 1, 11),
    ],
)
def test_what_each_policy_counts(text: str, paper: int, script: int) -> None:
    assert count_length(text, LengthPolicy.PAPER) == paper
    assert count_length(text, LengthPolicy.SCRIPT) == script


def test_the_source_limit_follows_the_policy() -> None:
    text = "字" * 8_001
    assert not exceeds_source_limit(text)
    assert not exceeds_source_limit(text, LengthPolicy.PAPER)
    assert exceeds_source_limit(text, LengthPolicy.SCRIPT)
    assert not exceeds_source_limit(text[1:], LengthPolicy.SCRIPT)


async def test_recovery_of_a_chinese_text_counts_its_characters() -> None:
    source, short, long = "字" * 100, "文" * 75, "文" * 76
    chat = ScriptedChat([("reconstruct", short), ("enrich", long)])
    outcome = await reconstruct(source, Strategy.LENGTH_RECOVERY, chat, SAMPLING, policy=LengthPolicy.SCRIPT)
    assert [draft.segments for draft in outcome.drafts] == [75, 76]
    assert outcome.text == long


async def test_the_paper_takes_a_short_chinese_text_for_long_enough() -> None:
    chat = ScriptedChat([("reconstruct", "文" * 10)])
    outcome = await reconstruct("字" * 100, Strategy.LENGTH_RECOVERY, chat, SAMPLING)
    assert [draft.segments for draft in outcome.drafts] == [1]


async def test_the_longest_draft_is_that_of_the_policy() -> None:
    chat = ScriptedChat([("reconstruct", "文" * 20), ("enrich", "a b c d e f")])
    outcome = await reconstruct(
        "字" * 100, Strategy.LENGTH_RECOVERY, chat, SAMPLING, policy=LengthPolicy.SCRIPT
    )
    assert len(outcome.drafts) == 1 + MAX_ENRICHMENTS
    assert outcome.text == "文" * 20


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("policy", "lengths", "excluded"),
    [("paper", [1, 1], ["", ""]), ("script", [8_001, 26], ["words and characters", ""])],
)
def test_an_import_measures_by_its_policy(policy: str, lengths: list[int], excluded: list[str]) -> None:
    content = b"".join(json.dumps({"prompt": text}).encode() + b"\n" for text in ("字" * 8_001, CHINESE))
    options = ImportOptions(length_policy=LengthPolicy(policy))
    import_prompts(file=io.BytesIO(content), file_name="a", source_name="a", options=options)
    rows = SourcePrompt.objects.order_by("line")
    assert [row.length_policy for row in rows] == [policy] * 2
    assert rows[1].segments == count_length(CHINESE, LengthPolicy(policy))
    assert rows[0].segments == lengths[0]
    for row, part in zip(rows, excluded, strict=True):
        assert part in row.excluded_because
        assert bool(row.excluded_because) == bool(part)


@pytest.mark.django_db
def test_a_planned_reconstruction_takes_over_the_policy_of_its_source() -> None:
    source_prompt(CHINESE, "zh", length_policy="script")
    source_prompt(CHINESE, "zh")
    plan_reconstructions(per_source=2, seed=0)
    rows = Reconstruction.objects.order_by("source_prompt", "index")
    assert [row.length_policy for row in rows] == ["script", "script", "paper", "paper"]
    step = ReconstructStep(Run.objects.create(kind="reconstruct"))
    subjects = step.load([row.pk for row in rows])
    text = "请写一首关于河流与手艺人的长诗。"
    for row in rows:
        chat = ScriptedChat([("reconstruct", text), ("enrich", text + text)])
        outcome = asyncio.run(step.execute(subjects[row.pk], chat))
        # The calls behind the drafts are stored nowhere here.
        step.store([(row.pk, dataclasses.replace(outcome, drafts=()))])
        row.refresh_from_db()
        assert row.segments == count_length(row.text, LengthPolicy(row.length_policy))
        assert (row.segments == 1) is (row.length_policy == "paper")
