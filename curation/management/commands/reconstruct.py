"""Reconstructs source prompts."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from curation.models import Source
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
        parser.add_argument("--source", help="only the prompts of the source of this name")

    def start(self, options: dict[str, Any]) -> Run:
        return start_reconstruction(
            endpoint=endpoint_named(options["endpoint"]),
            per_source=options["per_source"],
            seed=options["seed"],
            limit=options["limit"],
            source=source_named(options["source"]) if options["source"] else None,
        )


def source_named(name: str) -> Source:
    """Raises CommandError that lists the sources there are."""
    try:
        return Source.objects.get(name=name)
    except Source.DoesNotExist:
        known = ", ".join(Source.objects.values_list("name", flat=True)) or "none yet"
        raise CommandError(f"there is no source {name!r} (there are: {known})") from None
