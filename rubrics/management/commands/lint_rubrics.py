"""Looks at rubrics again whose findings are older than the checks."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from rubrics.linting import lint_again


class Command(BaseCommand):
    help = "Makes the findings of rubrics again that were made by older checks, or never."

    def handle(self, *args: Any, **options: Any) -> None:
        report = lint_again()
        self.stdout.write(f"{report.read} rubrics looked at, {report.changed} with other findings now")
