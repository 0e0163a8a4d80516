"""Lines as LLaMA-Factory 0.9.5 and MS-Swift 4.6.0 wrote them, and what is made of them."""

from __future__ import annotations

import json

import pytest

from training.jobs.engine_logs import read_line, seconds, speeds

FACTORY = {
    "current_steps": 3, "total_steps": 40, "loss": 2.4571, "lr": 9.5e-06, "epoch": 0.15, "percentage": 7.5,
    "elapsed_time": "0:01:05", "remaining_time": "0:13:21", "throughput": 812.4, "total_tokens": 52808,
}  # fmt: skip
SWIFT = {
    "loss": 0.0134, "grad_norm": 4.59, "learning_rate": 1e-06, "completions/mean_length": 32.0,
    "completions/clipped_ratio": 0.75, "reward": 0.4125, "reward_std": 0.088, "frac_reward_zero_std": 0.5,
    "clip_ratio/region_mean": 0.0625, "num_tokens": 6144.0, "step_time": 41.2, "epoch": 0.5,
    "global_step/max_steps": "1/2", "elapsed_time": "1m 4s", "remaining_time": "1m 4s",
    "train_speed(s/it)": 64.2,
}  # fmt: skip


def test_a_line_of_llama_factory() -> None:
    logged = read_line(json.dumps(FACTORY))
    assert logged is not None
    assert (logged.step, logged.total, logged.elapsed, logged.remaining) == (3, 40, 65.0, 801.0)
    assert logged.values["loss"] == 2.4571
    assert logged.values["learning_rate"] == 9.5e-06
    assert speeds(logged)["tokens_per_second"] == 812.4


def test_a_line_of_ms_swift() -> None:
    logged = read_line(json.dumps(SWIFT))
    assert logged is not None
    assert (logged.step, logged.total, logged.remaining) == (1, 2, 64.0)
    expected = {
        "reward": 0.4125, "zero_variance_share": 0.5, "clip_ratio": 0.0625, "clipped_completions": 0.75,
        "completion_tokens": 32.0, "learning_rate": 1e-06, "step_seconds": 41.2,
    }  # fmt: skip
    assert {name: logged.values[name] for name in expected} == expected
    assert speeds(logged)["tokens_per_second"] == 6144.0 / 64


@pytest.mark.parametrize(
    "line",
    [
        "", "{", '{"loss": 1.0', "[1]", "3", '{"train_runtime": 75.2, "train_loss": 2.1}',
        '{"current_steps": "x", "loss": 1}', '{"global_step/max_steps": "1 of 2", "loss": 1}',
    ],
)  # fmt: skip
def test_other_lines_are_no_step(line: str) -> None:
    assert read_line(line) is None


def test_what_is_no_number_is_left_out() -> None:
    logged = read_line('{"current_steps": 1, "total_steps": 2, "loss": NaN, "lr": "x", "epoch": 0.5}')
    assert logged is not None
    assert logged.values == {"epoch": 0.5}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0:00:09", 9), ("1 day, 2:03:04", 93_784), ("12 days, 0:00:00", 1_036_800), ("41s", 41),
        ("1h 2m 3s", 3_723), ("2d 1h", 176_400), ("soon", None), ("", None), (None, None), (3.0, None),
    ],
)  # fmt: skip
def test_durations(text: object, expected: float | None) -> None:
    assert seconds(text) == expected
