"""Imports benchmark samples to screen against."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from curation.benchmark_files import BenchmarkSamples, merge_benchmarks, read_benchmark
from curation.rows import ImportFormatError
from curation.services import import_screening_samples


class Command(BaseCommand):
    requires_system_checks = ()  # they import every page, and this command shows none
    help = (
        "Imports a benchmark's samples (JSON lines), which reconstructions must not overlap with. The "
        "official files of WritingBench and HelloBench need no further word."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("paths", type=Path, nargs="+", help="files of one benchmark")
        parser.add_argument("--name", help="name of the benchmark, if it is another than the official one")
        parser.add_argument("--field", help="the text's field, if the file has no official shape")
        parser.add_argument("--id-field", help="the field that identifies a sample; then 'id'")

    def handle(self, *args: Any, **options: Any) -> None:
        files = [
            (path.name, read_samples(path, options["name"], options["field"], options["id_field"]))
            for path in options["paths"]
        ]
        try:
            found = merge_benchmarks(files)
        except ImportFormatError as error:
            raise CommandError(str(error)) from error
        name = found.shape.benchmark
        changed = import_screening_samples(benchmark=name, samples=found.samples)
        for file_name, each in files:
            self.stdout.write(
                f"{file_name}: {len(each.samples)} samples of {name}, text in '{each.shape.text_field}', "
                f"id in '{each.shape.id_field}'"
            )
        self.stdout.write(f"{name}: {len(found.samples)} samples, {changed} new or changed")


def read_samples(path: Path, name: str | None, field: str | None, id_field: str | None) -> BenchmarkSamples:
    """Raises CommandError, naming file and line, for a sample that cannot be read: none may be missed."""
    try:
        with path.open("rb") as file:
            return read_benchmark(file, benchmark=name, text_field=field, id_field=id_field)
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {error.strerror}") from error
    except ImportFormatError as error:
        raise CommandError(f"{path}: {error}") from error
