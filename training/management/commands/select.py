"""The `select` command."""

from __future__ import annotations

from typing import Any

from llm.commands import StageCommand
from llm.models import Run
from training.services import start_selecting


class Command(StageCommand):
    help = "Selects the best candidate of every rubric as its demonstration."
    needs_endpoint = False

    def start(self, options: dict[str, Any]) -> Run:
        return start_selecting(limit=options["limit"])
