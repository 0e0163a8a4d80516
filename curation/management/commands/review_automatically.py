"""Accepts waiting reconstructions without a person."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from curation.automatic import review_automatically


class Command(BaseCommand):
    help = "For trials: accepts what waits for review by an account that is marked as automatic everywhere."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--leave-for-people", type=int, default=0, help="how many to leave waiting")

    def handle(self, *args: Any, **options: Any) -> None:
        accepted = review_automatically(leave_for_people=options["leave_for_people"])
        self.stdout.write(f"Automatic review: {accepted} accepted, none of them read by a person")
