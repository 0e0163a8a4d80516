"""Filters and screens reconstructions."""

from __future__ import annotations

from typing import Any

from curation.models import ScreeningSample
from curation.services import start_filtering
from llm.commands import StageCommand
from llm.models import Run


class Command(StageCommand):
    help = "Discards degenerate repetition and overlap with imported benchmark samples."
    needs_endpoint = False

    def start(self, options: dict[str, Any]) -> Run:
        if not ScreeningSample.objects.exists():
            self.stderr.write(
                "No benchmark samples are imported, so nothing can be found to overlap "
                "(manage.py import_benchmark)."
            )
        return start_filtering(limit=options["limit"])
