"""The `mine` command."""

from __future__ import annotations

from typing import Any

from llm.commands import StageCommand, endpoint_named
from llm.models import Run
from rubrics.services import start_mining


class Command(StageCommand):
    help = "Mines a rubric (IRG) for every accepted prompt without one."

    def start(self, options: dict[str, Any]) -> Run:
        return start_mining(endpoint=endpoint_named(options["endpoint"]), limit=options["limit"])
