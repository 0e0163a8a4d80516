"""Writes a corpus as Parquet with a dataset card."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from training.datasets import write_dataset
from training.models import CorpusSnapshot
from training.snapshots import snapshot_folder


class Command(BaseCommand):
    help = "Writes a finished corpus as Parquet files with a card, a folder that datasets.load_dataset opens."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", help="name of the corpus")
        parser.add_argument("--output", type=Path, required=True, metavar="FOLDER", help="must be new")

    def handle(self, *args: Any, **options: Any) -> None:
        done = CorpusSnapshot.objects.filter(state=CorpusSnapshot.State.DONE)
        snapshot = done.filter(name=options["name"]).first()
        if snapshot is None:
            known = ", ".join(done.values_list("name", flat=True)) or "none yet"
            raise CommandError(f"there is no finished corpus {options['name']!r} (there are: {known})")
        try:
            counts = write_dataset(snapshot_folder(snapshot), options["output"])
        except (OSError, ValueError) as error:
            raise CommandError(str(error)) from error
        for name, count in counts.items():
            self.stdout.write(f"{name}: {count} rows")
