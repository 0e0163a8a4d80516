"""The `assess` command."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from llm.commands import StageCommand, endpoint_named, positive
from llm.models import Run
from rubrics.models import Assessment
from training.judge_reports import run_summary
from training.services import start_assessing


class Command(StageCommand):
    help = (
        "Judges every candidate that this endpoint has not read yet. Another endpoint adds its readings to "
        "those that are there."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--policy",
            choices=Assessment.Policy.values,
            default=Assessment.Policy.PAPER,
            help="paper: B.5 as it is; checked: a reply must keep to the rubric's names and maxima",
        )
        parser.add_argument("--samples", type=positive, default=1, help="readings of each response")

    def start(self, options: dict[str, Any]) -> Run:
        return start_assessing(
            endpoint=endpoint_named(options["endpoint"]),
            policy=options["policy"],
            samples=options["samples"],
            limit=options["limit"],
        )

    def follow(self, run: Run, options: dict[str, Any]) -> None:
        super().follow(run, options)
        if run.total:
            self.stdout.write(run_summary(run))
