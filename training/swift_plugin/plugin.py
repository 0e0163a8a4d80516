"""What MS-Swift loads by `--external_plugins`: the reward `rubric`. The only file that imports swift.

The dataset's columns `rubric`, `id` and `language` come as lists, one value for each completion.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

# The trainer loads this file by its path, from wherever it runs.
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from swift.rewards import AsyncORM, orms  # type: ignore[import-not-found]

from training.swift_plugin.rewards import RubricRewards
from training.swift_plugin.settings import settings_from


class RubricReward(AsyncORM):  # type: ignore[misc]
    """Each call has an event loop of its own, so clients live no longer than a call."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._rewards = RubricRewards(settings_from(os.environ))

    async def __call__(self, completions: list[str], rubric: list[str], **columns: Any) -> list[float]:
        return await self._rewards.score(
            completions, rubric, ids=columns.get("id"), languages=columns.get("language")
        )


orms["rubric"] = RubricReward
