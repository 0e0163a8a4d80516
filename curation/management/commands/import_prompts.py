"""Imports writing requests."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from rich.console import Console
from rich.progress import wrap_file

from curation.jsonl import EmptyFileError, NotJsonLinesError
from curation.services import ImportReport, import_prompts

SHOWN_LINES = 10

console = Console()


class Command(BaseCommand):
    help = "Imports writing requests from a file of JSON lines; importing a file again adds only what is new."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("path", type=Path)
        parser.add_argument(
            "--field",
            help="the text's field; without it 'prompt', or the first user turn of 'messages'",
        )
        parser.add_argument("--name", help="name of the source; without it the file's name")

    def handle(self, *args: Any, **options: Any) -> None:
        import_file(options["path"], options["name"] or options["path"].stem, options["field"])


def import_file(path: Path, source_name: str, field: str | None) -> ImportReport:
    """Imports with a progress bar and prints the report. Raises CommandError for a file that holds none."""
    try:
        with (
            path.open("rb") as file,
            wrap_file(
                file, total=path.stat().st_size, description=f"Import of {path.name}", console=console
            ) as lines,
        ):
            report = import_prompts(
                file=lines, file_name=path.name, source_name=source_name, field_name=field
            )
    except (EmptyFileError, NotJsonLinesError) as error:
        raise CommandError(f"{path}: {error}") from error
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {error.strerror}") from error
    console.print(
        f"{report.read} lines read: {report.added} added, {report.duplicates} already there, "
        f"{report.refused} refused, {report.noted} noted"
    )
    for title, lines_ in (("refused", report.refused_lines), ("noted", report.noted_lines)):
        for entry in lines_[:SHOWN_LINES]:
            console.print(f"  line {entry.line} {title}: {entry.reason}", markup=False)
        if len(lines_) > SHOWN_LINES:
            console.print(f"  … and {len(lines_) - SHOWN_LINES} more; the source's page lists them")
    return report
