"""The `write` command."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from llm.commands import StageCommand, endpoint_named
from llm.models import Run
from rubrics.models import Rubric
from training.rubric_choice import DEFAULT_METHOD
from training.services import start_writing


class Command(StageCommand):
    help = "Writes five candidates for the newest version of every rubric without candidates."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--method",
            choices=Rubric.Method.values,
            default=DEFAULT_METHOD,
            help="how the rubrics were made that are written for, with the versions that people made of them",
        )

    def start(self, options: dict[str, Any]) -> Run:
        return start_writing(
            endpoint=endpoint_named(options["endpoint"]), method=options["method"], limit=options["limit"]
        )
