"""Reads stored replies again with today's parsers and says what would be different; calls nobody."""

from __future__ import annotations

from argparse import ArgumentParser
from collections import Counter
from typing import Any

from django.core.management.base import BaseCommand

from rubrics.rereading import KINDS, Verdict


class Command(BaseCommand):
    help = (
        "Reads stored replies again with today's parsers, calls no model and writes nothing: says how many "
        "rubrics and assessments would be read otherwise."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--kind", choices=sorted(KINDS), action="append", help="only these; may be given twice"
        )
        parser.add_argument("--show", type=int, default=10, help="so many of the differences of each kind")

    def handle(self, *args: Any, **options: Any) -> None:
        for kind in options["kind"] or KINDS:
            counts: Counter[Verdict] = Counter()
            shown = 0
            for each in KINDS[kind]():
                counts[each.verdict] += 1
                if each.verdict is not Verdict.SAME and shown < options["show"]:
                    shown += 1
                    self.stdout.write(f"  {each.subject}: {each.verdict.value}: {each.why}")
            summary = ", ".join(f"{counts[verdict]} {verdict.value}" for verdict in Verdict)
            self.stdout.write(f"{kind}: {counts.total()} read again: {summary}")
