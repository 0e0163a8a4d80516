"""The reward inside the trainer: a real judge server, and everything it may do wrong."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rubrics.assessment import FALLBACK_REWARD, parse_assessment, reward
from rubrics.judging import judge_request
from rubrics.rubric import Rubric
from tests.samples import dimensions
from tests.simulated import SimulatedServer, simulated_server
from training.swift_plugin.rewards import FEWEST, JUDGING, RewardStoppedError, RubricRewards
from training.swift_plugin.settings import PREFIX, RewardSettings, settings_from

RUBRIC = Rubric.from_json(dimensions(("Voice", "Structure", "Facts")))
TEXTS = [f"Dear neighbour number {number}, the garden is yours too." for number in range(8)]


@pytest.fixture
def server() -> Iterator[SimulatedServer]:
    with simulated_server(0.02) as running:
        yield running


def settings(server: SimulatedServer, folder: Path, **changes: str) -> RewardSettings:
    return settings_from(
        {
            PREFIX + "JUDGE_URL": f"{server.address}/v1",
            PREFIX + "JUDGE_MODEL": "judge",
            PREFIX + "CONSTRAINED": "yes",
            PREFIX + "ASSESSMENTS": str(folder / "seen" / "assessments.jsonl"),
            **{PREFIX + name: value for name, value in changes.items()},
        }
    )


def score(rewards: RubricRewards, texts: list[str], **columns: Any) -> list[float]:
    """In an event loop of its own, as the trainer calls it."""
    return asyncio.run(rewards.score(texts, [RUBRIC.serialize()] * len(texts), **columns))


def written(rewards: RewardSettings) -> list[dict[str, Any]]:
    return [json.loads(line) for line in rewards.assessments.read_text(encoding="utf-8").split("\n")[:-1]]


def test_a_group_is_judged_at_once_and_every_assessment_is_kept(
    server: SimulatedServer, tmp_path: Path
) -> None:
    told = settings(server, tmp_path)
    rewards = RubricRewards(told)
    texts = [TEXTS[0], f"<think>plan</think>{TEXTS[1]}", *TEXTS[2:]]
    values = score(rewards, texts, ids=list(range(8)), languages=["en", "zh"] * 4)
    assert server.stats()["calls"] == server.stats()["most_in_flight"] == 8
    assert all(0 <= value <= 1 for value in values)
    assert len(set(values)) > 1
    rows = written(told)
    assert [row["reward"] for row in rows] == values
    assert [row["id"] for row in rows] == list(range(8))
    assert not any(row["fallback"] for row in rows)
    for row in rows:  # the same aggregation as everywhere
        text = "\n\n".join(
            f"name: {item['name']}\nscore: {item['score']}/{item['maximum']}" for item in row["items"]
        )
        assert reward(parse_assessment(text)).value == row["reward"]
    assert score(rewards, texts, languages=["en", "zh"] * 4) == values
    assert written(told)[-1]["batch"] == 2


def test_think_blocks_are_off_before_the_judge_reads(server: SimulatedServer, tmp_path: Path) -> None:
    rewards = RubricRewards(settings(server, tmp_path))
    plain, thought = score(rewards, [TEXTS[0], f"<think>Which tone?</think>\n{TEXTS[0]}"])
    assert plain == thought
    assert judge_request(TEXTS[0], RUBRIC, JUDGING).messages  # the question of every other judge
    assert server.stats()["distinct"] == 1


def test_a_think_block_that_never_closes_has_no_answer_and_says_so(
    server: SimulatedServer, tmp_path: Path
) -> None:
    told = settings(server, tmp_path)
    assert score(RubricRewards(told), ["<think>and on and on"]) == [0.0]
    (row,) = written(told)
    assert not row["fallback"]
    assert row["failure"].startswith("no answer: ")
    assert server.stats()["calls"] == 0


def test_a_judge_that_hangs_costs_its_completion_and_not_the_batch(
    server: SimulatedServer, tmp_path: Path
) -> None:
    told = settings(server, tmp_path, DEADLINE="3")
    server.fail_next("hang", "500")
    values = score(RubricRewards(told), TEXTS)
    assert values.count(FALLBACK_REWARD) >= 1
    late = [row for row in written(told) if row["fallback"]]
    assert [row["failure"] for row in late] == ["no assessment within 3 s"]
    assert late[0]["reward"] == FALLBACK_REWARD


def test_more_fallbacks_than_the_limit_stop_training(server: SimulatedServer, tmp_path: Path) -> None:
    rewards = RubricRewards(settings(server, tmp_path, CONSTRAINED="no"))  # replies hold no assessment
    for _ in range(FEWEST // len(TEXTS) - 1):
        assert score(rewards, TEXTS) == [FALLBACK_REWARD] * len(TEXTS)
    with pytest.raises(RewardStoppedError, match=r"100% of the latest 32 rewards .* limit of 20%"):
        score(rewards, TEXTS)


def test_a_judge_that_serves_nobody_stops_training_at_once(server: SimulatedServer, tmp_path: Path) -> None:
    server.fail_next("401", "401")
    with pytest.raises(RewardStoppedError, match=r"serves nobody: .*401"):
        score(RubricRewards(settings(server, tmp_path)), TEXTS)


def test_what_is_no_rubric_stops_training(server: SimulatedServer, tmp_path: Path) -> None:
    rewards = RubricRewards(settings(server, tmp_path))
    with pytest.raises(ValueError, match=r"rubric|dimension|JSON"):
        asyncio.run(rewards.score(["a text"], ["{}"]))
    with pytest.raises(ValueError, match="2 completions and 1 rubrics"):
        asyncio.run(rewards.score(["a", "b"], [RUBRIC.serialize()]))


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("JUDGE_URL", "", "JUDGE_URL is not set"),
        ("DEADLINE", "0", "DEADLINE is '0': a number of seconds"),
        ("DEADLINE", "inf", "seconds greater than 0"),
        ("IN_FLIGHT", "many", "IN_FLIGHT is 'many'"),
        ("FALLBACK_LIMIT", "20", "a share above 0"),
        ("CONSTRAINED", "maybe", "yes or no"),
    ],
)
def test_a_wrong_setting_is_named(
    server: SimulatedServer, tmp_path: Path, name: str, value: str, said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        settings(server, tmp_path, **{name: value})


def test_the_package_needs_no_django() -> None:
    blocked = "import sys; sys.modules.update(django=None, rest_framework=None, celery=None); "
    subprocess.run(
        [sys.executable, "-c", blocked + "import training.swift_plugin.rewards as found; print(found)"],
        check=True,
    )
