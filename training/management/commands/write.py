"""The `write` command."""

from __future__ import annotations

from typing import Any

from llm.commands import StageCommand, endpoint_named
from llm.models import Run
from training.services import start_writing


class Command(StageCommand):
    help = "Writes five candidates for every rubric without candidates."

    def start(self, options: dict[str, Any]) -> Run:
        return start_writing(endpoint=endpoint_named(options["endpoint"]), limit=options["limit"])
