"""Fills the search index."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from curation.indexing import start_indexing
from llm.progress import follow


class Command(BaseCommand):
    help = "Indexes the texts that changed since they were last indexed, so that searching them is quick."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--here", action="store_true", help="do the work in this process, without a worker"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        run = start_indexing()
        if run is None:
            self.stdout.write("Every text is indexed.")
        else:
            follow(run, here=options["here"])
