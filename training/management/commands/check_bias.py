"""The `check_bias` command."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from rich.table import Table

from llm.commands import StageCommand, endpoint_named
from llm.models import Run
from llm.progress import console
from rubrics.bias import TOLERANCE, Shift
from rubrics.models import Assessment
from training.bias_checks import BiasReport, bias_report
from training.services import start_bias_check


class Command(StageCommand):
    help = (
        "Has a judge read stored candidates as they are, with the rubric's dimensions in another order, "
        "padded with their own text, and with a hidden instruction to give full marks: none of it must move "
        "a score."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.set_defaults(limit=20)
        parser.add_argument("--policy", choices=Assessment.Policy.values, default=Assessment.Policy.CHECKED)
        parser.add_argument(
            "--seed", type=int, default=0, help="picks the candidates and shuffles the rubrics"
        )
        parser.add_argument("--output", type=Path, help="also write the report to this file, as JSON")

    def start(self, options: dict[str, Any]) -> Run:
        return start_bias_check(
            endpoint=endpoint_named(options["endpoint"]),
            policy=options["policy"],
            seed=options["seed"],
            limit=options["limit"],
        )

    def follow(self, run: Run, options: dict[str, Any]) -> None:
        super().follow(run, options)
        report = bias_report(run)
        if options["output"]:
            options["output"].write_text(
                json.dumps(report.as_json(), ensure_ascii=False, indent=2) + "\n", encoding="utf-8"
            )
        console.print(_table(report))
        console.print(
            f"A score must not move: unmoved means that 95% of resampled mean shifts lie within "
            f"±{TOLERANCE} of the reward."
        )
        if report.incomplete:
            console.print(f"INCOMPLETE: {report.failed} of {report.asked} responses could not be judged.")


def _table(report: BiasReport) -> Table:
    judges = ", ".join(report.judges) or "no judge"
    title = f"Bias of {judges}, {report.responses} responses, policy {report.policy}"
    table = Table(title=title)
    for name in ("Form", "n", "Mean shift", "95%", "Moved > 1 point", "Failures", "Fallbacks", "Verdict"):
        table.add_column(name, justify="left" if name in ("Form", "Verdict") else "right")
    for shift in report.shifts:
        table.add_row(*_cells(shift))
    return table


def _cells(shift: Shift) -> tuple[str, ...]:
    interval = f"{shift.interval.low:+.3f} to {shift.interval.high:+.3f}" if shift.interval else "—"
    return (
        shift.name,
        str(shift.n),
        "—" if shift.mean is None else f"{shift.mean:+.3f}",
        interval,
        f"{shift.moved / shift.n:.0%}" if shift.n else "—",
        str(shift.failures),
        str(shift.fallbacks),
        shift.verdict,
    )
