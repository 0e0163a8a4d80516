"""Imports writing requests."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from curation.archives import unpack_dataset
from curation.import_formats import FileFormat, detect_format, file_size
from curation.near_duplicates import DEFAULT_THRESHOLD, LOWEST_THRESHOLD
from curation.rows import ImportFormatError
from curation.services import ImportOptions, ImportReport, ImportTarget, NearDuplicates, import_path
from llm.text import LengthPolicy

SHOWN_LINES = 10

console = Console()


class Command(BaseCommand):
    requires_system_checks = ()  # they import every page, and this command shows none
    help = (
        "Imports writing requests from JSON lines, CSV, Parquet or a saved dataset's folder; importing "
        "a file again adds only what is new."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("path", type=Path)
        parser.add_argument(
            "--field",
            help="the text's field; without it 'prompt', or the first user turn of 'messages'",
        )
        parser.add_argument("--id-field", help="the field of a row's id; without it 'id' or 'index'")
        parser.add_argument(
            "--reconstruction-field", help="the field of a reconstruction that is there already"
        )
        parser.add_argument("--split", default="", help="one split of a dataset; without it all")
        parser.add_argument("--name", help="name of the source; without it the file's name")
        parser.add_argument(
            "--length-policy",
            type=LengthPolicy,
            choices=list(LengthPolicy),
            default=LengthPolicy.PAPER,
            help="what a length counts: the paper's segments, or characters where a script has no spaces",
        )
        parser.add_argument(
            "--near-duplicates",
            type=NearDuplicates,
            choices=list(NearDuplicates),
            default=NearDuplicates.REPORT,
            help="what to do about prompts that are nearly the same as earlier ones",
        )
        parser.add_argument("--threshold", type=float, default=DEFAULT_THRESHOLD, help="their similarity")

    def handle(self, *args: Any, **options: Any) -> None:
        if not LOWEST_THRESHOLD <= options["threshold"] <= 1:
            raise CommandError(f"--threshold must lie between {LOWEST_THRESHOLD} and 1")
        chosen = ImportOptions(
            text_field=options["field"],
            id_field=options["id_field"],
            reconstruction_field=options["reconstruction_field"],
            split=options["split"],
            length_policy=options["length_policy"],
            near_duplicates=options["near_duplicates"],
            threshold=options["threshold"],
        )
        import_file(options["path"], options["name"] or options["path"].stem, options=chosen)


def import_file(
    path: Path, source_name: str, field: str | None = None, *, options: ImportOptions | None = None
) -> ImportReport:
    """Imports with a progress bar and prints the report. Raises CommandError for a file that holds none."""
    options = options or ImportOptions(text_field=field)
    try:
        with TemporaryDirectory() as folder:
            file_format, opened = detect_format(path), path
            if file_format is FileFormat.ZIP:
                file_format, opened = FileFormat.DATASET, unpack_dataset(path, Path(folder) / "dataset")
            report = _import_with_bar(opened, file_format, ImportTarget(source_name, path.name), options)
    except ImportFormatError as error:
        raise CommandError(f"{path}: {error}") from error
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {error.strerror}") from error
    _print(report)
    return report


def _import_with_bar(
    path: Path, file_format: FileFormat, target: ImportTarget, options: ImportOptions
) -> ImportReport:
    with Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        DownloadColumn(),
        TimeRemainingColumn(),
        console=console,
    ) as bar:
        size = file_size(path)
        task = bar.add_task(f"Import of {target.file_name}", total=size)
        report = import_path(
            path=path,
            file_format=file_format,
            target=target,
            options=options,
            report_bytes=lambda count: bar.update(task, completed=count),
        )
        bar.update(task, completed=size)
    return report


def _print(report: ImportReport) -> None:
    came = f", {report.reconstructions} with a reconstruction" if report.reconstructions else ""
    near = f", {report.near} nearly the same as earlier ones" if report.near else ""
    console.print(
        f"{report.read} lines read: {report.added} added{came}, {report.duplicates} already there, "
        f"{report.refused} refused, {report.noted} noted{near}"
    )
    for title, lines in (("refused", report.refused_lines), ("noted", report.noted_lines)):
        for entry in lines[:SHOWN_LINES]:
            console.print(f"  line {entry.line} {title}: {entry.reason}", markup=False)
        if len(lines) > SHOWN_LINES:
            console.print(f"  … and {len(lines) - SHOWN_LINES} more; the source's page lists them")
