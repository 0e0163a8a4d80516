"""Imports benchmark samples to screen against."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from curation.services import import_screening_samples

LONGEST_ID = 200


class Command(BaseCommand):
    help = "Imports a benchmark's samples (JSON lines), which reconstructions must not overlap with."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("path", type=Path)
        parser.add_argument("--name", required=True, help="name of the benchmark")
        parser.add_argument("--field", required=True, help="the text's field, e.g. query or instruction")
        parser.add_argument("--id-field", default="id", help="the field that identifies a sample")

    def handle(self, *args: Any, **options: Any) -> None:
        samples = read_samples(options["path"], options["field"], options["id_field"])
        changed = import_screening_samples(benchmark=options["name"], samples=samples)
        self.stdout.write(f"{options['name']}: {len(samples)} samples, {changed} new or changed")


def read_samples(path: Path, field: str, id_field: str) -> dict[str, str]:
    """Samples by id. One that cannot be read stops the import: screening must not miss any unseen."""
    samples: dict[str, str] = {}
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{path} cannot be read: {error}") from error
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            text, sample_id = row[field], str(row[id_field])
        except json.JSONDecodeError as error:
            raise CommandError(f"{path}, line {number}: not JSON ({error})") from error
        except (KeyError, TypeError) as error:
            raise CommandError(f"{path}, line {number}: no field {error}") from error
        if not isinstance(text, str) or not text.strip():
            raise CommandError(f"{path}, line {number}: the field {field!r} holds no text")
        if len(sample_id) > LONGEST_ID:
            raise CommandError(f"{path}, line {number}: the field {id_field!r} is too long to be an id")
        if samples.setdefault(sample_id, text) != text:
            raise CommandError(
                f"{path}, line {number}: the id {sample_id!r} is there twice with different texts"
            )
    if not samples:
        raise CommandError(f"{path} holds no samples")
    return samples
