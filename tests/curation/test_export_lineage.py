"""Which exports hold an item, whatever the length of its texts."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from curation.export_files import write_export
from curation.export_lineage import exports_with
from curation.models import ExportFile
from tests.samples import reconstruction

PYTHONS_LIMIT = 131_072

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def media(settings: Any, tmp_path: Path) -> Path:
    settings.MEDIA_ROOT = tmp_path
    return tmp_path


@pytest.fixture(autouse=True)
def usual_limit() -> Iterator[None]:
    """The limit as it is in a process that has imported nothing yet."""
    before = csv.field_size_limit(PYTHONS_LIMIT)
    yield
    csv.field_size_limit(before)


@pytest.mark.parametrize("format", ["csv", "jsonl"])
def test_a_long_text_hides_no_item(format: str) -> None:
    long = reconstruction("accepted", '长"\n' * 100_000)
    after = reconstruction("accepted")
    export = ExportFile.objects.create(
        kind="reconstructions", format=format, options={"filters": {}, "texts": True}
    )
    written = write_export(export)
    ExportFile.objects.update(state="done", sha256=written.sha256)
    for item in (long, after):
        (found,) = exports_with([item.pk])
        assert (found.pk, found.note) == (export.pk, "")
    assert list(exports_with([after.pk + 1])) == []
