"""What other limits of the repetition filter would drop on the present corpus. Changes nothing."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections import Counter
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from curation.models import CurationPolicy, Reconstruction
from curation.repetition import RepetitionLimits, degenerate_repetition, limits_from, usual_limits

EXAMPLE = 70


class Command(BaseCommand):
    help = (
        "Prints how many reconstructions the repetition filter would drop, by rule: with the limits in "
        "force, or with each of several values of one limit. Nothing is changed."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--limit", choices=sorted(usual_limits()), help="the limit to vary")
        parser.add_argument(
            "--values", nargs="+", type=json.loads, default=[], help="its values, as JSON: 6 8 10"
        )
        parser.add_argument("--examples", type=int, default=2, help="passages to show for each rule")

    def handle(self, *args: Any, **options: Any) -> None:
        if bool(options["limit"]) != bool(options["values"]):
            raise CommandError("--limit and --values go together")
        in_force = CurationPolicy.current().repetition_limits
        trials = [{options["limit"]: value} for value in options["values"]] or [{}]
        try:
            limits = [limits_from({**in_force, **trial}) for trial in trials]
        except ValueError as error:
            raise CommandError(str(error)) from None
        for trial, each in zip(trials, limits, strict=True):
            name = ", ".join(f"{key} {value}" for key, value in trial.items()) or "the limits in force"
            self._try(name, each, options["examples"])

    def _try(self, name: str, limits: RepetitionLimits, examples: int) -> None:
        seen, dropped, shown = 0, Counter[str](), {}  # type: ignore[var-annotated]
        rows = Reconstruction.objects.exclude(text="").order_by("pk").values_list("pk", "text")
        for pk, text in rows.iterator(chunk_size=500):
            seen += 1
            report = degenerate_repetition(text, limits)
            if report.degenerate:
                dropped[report.rule] += 1
                shown.setdefault(report.rule, []).append((pk, report.passage))
        self.stdout.write(f"{name}: {dropped.total():,} of {seen:,} dropped")
        for rule, count in dropped.most_common():
            self.stdout.write(f"  {rule}: {count:,}")
            for pk, passage in shown[rule][:examples]:
                self.stdout.write(f"    {pk}: {' '.join(passage.split())[:EXAMPLE]}")
