"""Which checkpoints stay on the disk. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Held:
    """A checkpoint that is on the disk. `needed` says that a person or a server uses it."""

    step: int
    metrics: Mapping[str, float]
    needed: bool


def best_step(checkpoints: Sequence[Held]) -> int | None:
    """The step with the highest evaluated reward, or else with the lowest evaluated loss.

    Of equals the earlier one. None where nothing was evaluated.
    """
    for name, sign in (("eval_reward", -1.0), ("eval_loss", 1.0)):
        measured = [each for each in checkpoints if name in each.metrics]
        if measured:
            return min(measured, key=lambda each: (sign * each.metrics[name], each.step)).step
    return None


def to_prune(checkpoints: Sequence[Held], *, last: int) -> list[int]:
    """The steps to delete: all but the `last` newest, the best, and those that are needed."""
    newest = {each.step for each in sorted(checkpoints, key=lambda each: each.step)[-last:]}
    kept = newest | {best_step(checkpoints)} | {each.step for each in checkpoints if each.needed}
    return sorted(each.step for each in checkpoints if each.step not in kept)
