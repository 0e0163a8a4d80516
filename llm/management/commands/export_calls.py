"""Writes stored calls as JSON lines, to be kept, or replayed without the model."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

import orjson
from django.core.management.base import BaseCommand, CommandError

from llm.models import Completion, Run

FIELDS = (
    *("key", "template", "request", "model", "resolved_model", "text", "finish_reason"),
    *("prompt_tokens", "completion_tokens", "latency_ms", "created_at"),
)
CHUNK = 500


class Command(BaseCommand):
    help = "Writes stored calls as JSON lines; an endpoint with the address replay:FILE answers from them."

    def add_arguments(self, parser: ArgumentParser) -> None:
        which = parser.add_mutually_exclusive_group(required=True)
        which.add_argument("--run", type=int, help="the calls that a run made (not those that it replayed)")
        which.add_argument("--all", action="store_true")
        parser.add_argument("--output", type=Path, required=True)

    def handle(self, *args: Any, **options: Any) -> None:
        calls = Completion.objects.order_by("created_at", "key")
        if options["run"]:
            if not Run.objects.filter(pk=options["run"]).exists():
                raise CommandError(f"there is no run {options['run']}")
            calls = calls.filter(run=options["run"])
        count = 0
        part = options["output"].with_name(f"{options['output'].name}.part")
        try:
            with part.open("wb") as file:
                for row in calls.values(*FIELDS).iterator(chunk_size=CHUNK):
                    file.write(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE))
                    count += 1
            part.replace(options["output"])
        except OSError as error:
            raise CommandError(f"{options['output']} cannot be written: {error.strerror}") from error
        self.stdout.write(f"{count} calls written to {options['output']}")
