"""How many candidates would be discarded for overlap at other thresholds. Changes nothing."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand
from django.db.models import F

from curation.models import ScreeningMatch
from curation.screening_reads import screening_report

MINIMUM = "least shared trigrams of a discard; counts the nearest sample only, so at least so many"


class Command(BaseCommand):
    help = (
        "Prints how many of the screened reconstructions each threshold would discard, alone and with a "
        "minimum of shared trigrams. Only the nearest sample of each is stored: with a minimum, another "
        "sample that shares more trigrams but a smaller part of its own is not seen, so the count is the "
        "least that would be discarded. Nothing is changed."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--thresholds", nargs="+", type=float, default=[0.05, 0.1, 0.15, 0.2, 0.3])
        parser.add_argument("--minimum", nargs="+", type=int, default=[0, 5, 10, 20], help=MINIMUM)

    def handle(self, *args: Any, **options: Any) -> None:
        report = screening_report()
        self.stdout.write(
            f"{report.compared:,} compared with {report.samples:,} samples, "
            f"{report.without:,} share nothing, {report.discarded:,} discarded"
        )
        self.stdout.write("threshold  " + "".join(f"{f'>= {m} shared':>14}" for m in options["minimum"]))
        for threshold in options["thresholds"]:
            near = ScreeningMatch.objects.filter(shared__gte=F("total") * threshold)
            counts = [near.filter(shared__gte=minimum).count() for minimum in options["minimum"]]
            self.stdout.write(f"{threshold:>9.0%}  " + "".join(f"{count:>14,}" for count in counts))
        if any(minimum > 1 for minimum in options["minimum"]):
            self.stdout.write(
                "With a minimum these are the least: only the nearest sample of each is stored, and another "
                "may share more trigrams. A new screening tells exactly."
            )
