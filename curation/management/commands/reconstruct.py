"""Reconstructs source prompts."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from curation.services import start_reconstruction
from llm.commands import StageCommand, endpoint_named, positive
from llm.models import Run


class Command(StageCommand):
    help = "Plans reconstructions by both strategies, 1:1, and writes the planned ones."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--per-source", type=positive, default=1, help="reconstructions per source prompt"
        )
        parser.add_argument("--seed", type=int, default=0)

    def start(self, options: dict[str, Any]) -> Run:
        return start_reconstruction(
            endpoint=endpoint_named(options["endpoint"]),
            per_source=options["per_source"],
            seed=options["seed"],
            limit=options["limit"],
        )
