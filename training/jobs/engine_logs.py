"""The engines' own logs, line by line: LLaMA-Factory's trainer_log.jsonl, MS-Swift's logging.jsonl. Pure.

Both are JSON lines; the names below are theirs (LLaMA-Factory 0.9.5, MS-Swift 4.6.0) on the left side.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

NAMES: Mapping[str, str] = {
    "loss": "loss",
    "eval_loss": "eval_loss",
    "lr": "learning_rate",
    "learning_rate": "learning_rate",
    "grad_norm": "gradient_norm",
    "epoch": "epoch",
    "throughput": "tokens_per_second",
    "total_tokens": "tokens",
    "num_tokens": "tokens",
    "reward": "reward",
    "reward_std": "reward_deviation",
    "eval_reward": "eval_reward",
    "frac_reward_zero_std": "zero_variance_share",
    "clip_ratio/region_mean": "clip_ratio",
    "completions/clipped_ratio": "clipped_completions",
    "completions/mean_length": "completion_tokens",
    "kl": "kl",
    "step_time": "step_seconds",
}
"""What the engines log, and what it is called here."""

_STEPS = re.compile(r"(\d+)/(\d+)")
_CLOCK = re.compile(r"(?:(\d+) days?, )?(\d+):(\d{2}):(\d{2})")
_UNITS = re.compile(r"(?:(\d+)d)?\s*(?:(\d+)h)?\s*(?:(\d+)m)?\s*(?:(\d+)s)?")


@dataclass(frozen=True, slots=True)
class Logged:
    """One line: the values at a step. `remaining` and `elapsed` are seconds, None where not said."""

    step: int
    total: int
    values: Mapping[str, float]
    elapsed: float | None
    remaining: float | None


def read_line(line: str) -> Logged | None:
    """None for a line that belongs to no step (summaries, a line cut by a full disk)."""
    try:
        entry = json.loads(line)
    except ValueError:
        return None
    if not isinstance(entry, dict):
        return None
    steps = _steps(entry)
    if steps is None:
        return None
    values = {
        name: float(entry[key])
        for key, name in NAMES.items()
        if isinstance(entry.get(key), int | float) and math.isfinite(entry[key])
    }
    return Logged(*steps, values, seconds(entry.get("elapsed_time")), seconds(entry.get("remaining_time")))


def _steps(entry: Mapping[str, Any]) -> tuple[int, int] | None:
    if isinstance(entry.get("current_steps"), int):
        return entry["current_steps"], int(entry.get("total_steps") or 0)
    found = _STEPS.fullmatch(str(entry.get("global_step/max_steps", "")))
    return (int(found[1]), int(found[2])) if found else None


def seconds(text: object) -> float | None:
    """Of '0:01:05', '1 day, 2:03:04' or '1h 2m 3s'; None for anything else."""
    if not isinstance(text, str) or not text.strip():
        return None
    found = _CLOCK.fullmatch(text.strip()) or _UNITS.fullmatch(text.strip())
    if not found:
        return None
    days, hours, minutes, rest = (int(part or 0) for part in found.groups())
    return float(((days * 24 + hours) * 60 + minutes) * 60 + rest)


def speeds(logged: Logged) -> dict[str, float]:
    """The values with tokens a second where the engine gives only the sum of tokens."""
    values = dict(logged.values)
    if "tokens_per_second" not in values and values.get("tokens") and logged.elapsed:
        values["tokens_per_second"] = values["tokens"] / logged.elapsed
    return values
