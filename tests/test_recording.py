"""Recording replies: prompts go out stage by stage, replies come in through the real parser."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.replies import record

REQUESTS = (
    ("longbench_write/longbench_write.jsonl", "prompt"),
    ("writingbench/length_subset.jsonl", "query"),
)


@pytest.fixture
def benchmark_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, field in REQUESTS:
        (tmp_path / name).parent.mkdir()
        texts = ["Write a thank you email to a bank teller.", "对于雷锋精神的推文，200字以内", "x" * 1_501]
        lines = [json.dumps({field: text}, ensure_ascii=False) for text in texts]
        (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    monkeypatch.setenv("BENCHMARK_DATA", str(tmp_path))
    monkeypatch.setattr(record, "RECORDED", tmp_path / "recorded.jsonl")
    return tmp_path


def answer(folder: Path, reply: str) -> list[str]:
    prompts = sorted(folder.glob("*.prompt.txt"))
    for prompt in prompts:
        prompt.with_name(prompt.name.replace(".prompt.", ".reply.")).write_text(reply, encoding="utf-8")
    return [prompt.read_text(encoding="utf-8") for prompt in prompts]


def test_the_stages_follow_each_other_and_nothing_is_asked_twice(benchmark_files: Path) -> None:
    first, second, third = (benchmark_files / name for name in ("one", "two", "three"))
    record.write_next(second, "consolidation", 9)
    assert not list(second.iterdir())

    record.write_next(first, "discovery", 2)
    english, chinese = answer(first, "name: Tone\nreason: Warm?\n\nname: Thanks\nreason: For what?")
    assert english.startswith("Your task is")
    assert chinese.startswith("你的任务是")
    record.add(first, "some-model", unusable=False)
    record.add(first, "some-model", unusable=False)
    rows = record.recorded()
    assert [(row["template"], row["model"], row["failure"]) for row in rows] == [
        ("irg-discovery@1", "some-model", ""),
        ("irg-discovery.zh@1", "some-model", ""),
    ]
    assert rows[0]["expected"] == [
        {"name": "Tone", "reason": "Warm?"},
        {"name": "Thanks", "reason": "For what?"},
    ]

    record.write_next(second, "consolidation", 9)
    assert all("name: Tone\nreason: Warm?" in prompt for prompt in answer(second, "name: A\nreason: b"))
    record.add(second, "some-model", unusable=False)
    record.write_next(third, "scoring", 1)
    assert len(answer(third, "no")) == 1
    record.add(third, "some-model", unusable=False)
    assert len(record.recorded()) == 4
    record.add(third, "some-model", unusable=True)
    assert record.recorded()[-1]["failure"] == "no score intervals in the reply"
    assert record.recorded()[-1]["expected"] is None
