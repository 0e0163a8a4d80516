"""The `assess` command."""

from __future__ import annotations

from typing import Any

from llm.commands import StageCommand, endpoint_named
from llm.models import Run
from training.services import start_assessing


class Command(StageCommand):
    help = "Judges every candidate that has no assessment."

    def start(self, options: dict[str, Any]) -> Run:
        return start_assessing(endpoint=endpoint_named(options["endpoint"]), limit=options["limit"])
