"""Exports rows of the curation room as JSON lines or CSV."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError
from typing import Any

from django.core.management.base import CommandError

from curation.export_files import export_path
from curation.export_services import ExportRequestError, start_export
from curation.exporting import FORMATS
from curation.models import ExportFile
from llm.commands import StageCommand
from llm.models import Run


class Command(StageCommand):
    requires_system_checks = ()  # they import every page, and this command shows none
    help = (
        "Exports reviews, reconstructions, source prompts or corpus prompts as a file that the web "
        "application offers."
    )
    needs_endpoint = False

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.set_defaults(workers=1)
        parser.add_argument("kind", choices=ExportFile.Kind.values)
        parser.add_argument("--format", choices=FORMATS, default="jsonl")
        parser.add_argument("--no-texts", action="store_true", help="leave the long texts out")
        parser.add_argument(
            "--filter",
            action="append",
            type=_pair,
            default=[],
            metavar="NAME=VALUE",
            help="as in the address of the list of the same name, e.g. language=zh; may be given often",
        )
        parser.add_argument(
            "--here", action="store_true", help="do the work in this process, without a worker"
        )

    def start(self, options: dict[str, Any]) -> Run:
        try:
            self.export = start_export(
                kind=options["kind"],
                format=options["format"],
                filters=dict(options["filter"]),
                texts=not options["no_texts"],
                user=None,
            )
        except ExportRequestError as error:
            raise CommandError(
                "; ".join(f"{name}: {message}" for name, message in error.messages.items())
            ) from None
        assert self.export.run is not None
        return self.export.run

    def follow(self, run: Run, options: dict[str, Any]) -> None:
        super().follow(run, options)
        self.export.refresh_from_db()
        if self.export.state != ExportFile.State.DONE:
            raise CommandError(f"the export failed: {self.export.error}")
        self.stdout.write(
            f"  {export_path(self.export)}: {self.export.rows} rows, sha256 {self.export.sha256}"
        )


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    return name, value
