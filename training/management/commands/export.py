"""Exports the three corpora."""

from __future__ import annotations

from argparse import ArgumentParser
from fractions import Fraction
from typing import Any

from django.core.management.base import CommandError

from llm.commands import StageCommand
from llm.models import Run
from rubrics.models import Rubric
from training.corpora import SFT_SHARE
from training.models import CorpusSnapshot
from training.rubric_choice import DEFAULT_METHOD, RubricChoice
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
            "--method",
            choices=Rubric.Method.values,
            default=DEFAULT_METHOD,
            help="which of a prompt's rubrics: those made by this method, and people's versions of them",
        )
        parser.add_argument("--constructor", default="", help="only rubrics by this model or person")
        parser.add_argument(
            "--first-versions", action="store_true", help="rubrics as first made, without people's revisions"
        )
        parser.add_argument(
            "--max-lint-findings", type=int, help="leave out prompts whose rubric has more of them"
        )
        parser.add_argument(
            "--exclude-check",
            action="append",
            default=[],
            help="leave out prompts whose rubric has a finding of this lint check; may be given again",
        )
        parser.add_argument(
            "--here", action="store_true", help="do the work in this process, without a worker"
        )

    def start(self, options: dict[str, Any]) -> Run:
        if CorpusSnapshot.objects.filter(name=options["name"]).exists():
            raise CommandError(f"there is a snapshot named {options['name']!r} already; choose another name")
        self.snapshot = request_snapshot(
            name=options["name"],
            seed=options["seed"],
            sft_share=options["sft_share"],
            rubrics=RubricChoice(
                method=options["method"],
                constructor=options["constructor"],
                revisions=not options["first_versions"],
                max_lint_findings=options["max_lint_findings"],
                excluded_checks=tuple(options["exclude_check"]),
            ),
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
