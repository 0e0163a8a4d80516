"""Finds source prompts that are nearly the same as earlier ones."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from curation.models import Source
from curation.near_duplicates import DEFAULT_THRESHOLD
from curation.services import mark_near_duplicates

SHOWN_LINES = 10


class Command(BaseCommand):
    help = "Marks source prompts that are nearly the same as earlier ones; earlier marks are made anew."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--threshold",
            type=float,
            default=DEFAULT_THRESHOLD,
            help="Jaccard similarity of near duplicates, from 0.5 to 1",
        )
        parser.add_argument("--source", help="mark only the prompts of this source")
        parser.add_argument(
            "--exclude",
            action="store_true",
            help="exclude what is found, but for prompts with reconstructions; without it, it is only marked",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        source = None
        if options["source"]:
            source = Source.objects.filter(name=options["source"]).first()
            if source is None:
                raise CommandError(f"there is no source {options['source']!r}")
        try:
            report = mark_near_duplicates(
                threshold=options["threshold"], source=source, exclude=options["exclude"]
            )
        except ValueError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(
            f"{report.compared} prompts compared: {report.found} near duplicates, "
            f"{report.excluded} excluded, {report.reconstructed} kept because they have reconstructions"
        )
        for entry in report.lines[:SHOWN_LINES]:
            self.stdout.write(f"  line {entry.line}: {entry.reason}")
