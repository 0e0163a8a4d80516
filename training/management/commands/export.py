"""Exports the three corpora."""

from __future__ import annotations

from argparse import ArgumentParser
from fractions import Fraction
from typing import Any

from django.core.management.base import CommandError

from llm.commands import StageCommand
from llm.models import Run
from training.corpora import SFT_SHARE
from training.models import CorpusSnapshot
from training.services import request_snapshot
from training.snapshots import snapshot_folder


class Command(StageCommand):
    help = (
        "Exports the SFT, RL and RubricGen corpora with a manifest, as files that the web application offers."
    )
    needs_endpoint = False

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.set_defaults(workers=1)
        parser.add_argument("name", help="name of the snapshot; it must be new")
        parser.add_argument("--seed", type=int, default=0, help="seed of the SFT/RL split")
        parser.add_argument("--sft-share", type=Fraction, default=SFT_SHARE, help="e.g. 15/19, the paper's")
        parser.add_argument(
            "--here", action="store_true", help="do the work in this process, without a worker"
        )

    def start(self, options: dict[str, Any]) -> Run:
        if CorpusSnapshot.objects.filter(name=options["name"]).exists():
            raise CommandError(f"there is a snapshot named {options['name']!r} already; choose another name")
        self.snapshot = request_snapshot(
            name=options["name"], seed=options["seed"], sft_share=options["sft_share"]
        )
        assert self.snapshot.run is not None
        return self.snapshot.run

    def follow(self, run: Run, options: dict[str, Any]) -> None:
        super().follow(run, options)
        self.snapshot.refresh_from_db()
        if self.snapshot.state != CorpusSnapshot.State.DONE:
            raise CommandError(f"the export failed: {self.snapshot.error}")
        for file in self.snapshot.manifest["files"]:
            self.stdout.write(
                f"  {snapshot_folder(self.snapshot) / file['name']}: {file['rows']} rows, "
                f"sha256 {file['sha256'][:12]}…"
            )
