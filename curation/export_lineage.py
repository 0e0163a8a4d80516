"""Which finished exports of this room hold a reconstruction, or what was decided on it.

An export's rows are not in the database, so its file says what it holds. It is read once for each process: a
finished export never changes.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Iterator
from functools import lru_cache
from pathlib import Path

from curation.export_services import finished_file
from curation.lineage import Touched, TouchedGroup, touched_by
from curation.models import CorpusPrompt, ExportFile

COLUMN = "reconstruction_id"

KINDS = (ExportFile.Kind.CORPUS_PROMPTS, ExportFile.Kind.RECONSTRUCTIONS, ExportFile.Kind.REVIEWS)
"""The exports whose rows name a reconstruction."""

_JSON_ROW = re.compile(rb'\A\{(?:"\w+_id": ?\d+, ?)?"' + COLUMN.encode() + rb'": ?(\d+)')
"""How every such row begins, see `curation.exporting`; nothing in a text can look like it."""

CACHED_FILES = 64


def touched_by_items(reconstruction_ids: Collection[int]) -> list[TouchedGroup]:
    """Everything that holds these reconstructions, or was made of their corpus prompts."""
    prompts = CorpusPrompt.objects.filter(reconstruction__in=reconstruction_ids)
    return [
        *touched_by(list(prompts.values_list("pk", flat=True))),
        TouchedGroup("Exports", tuple(exports_with(reconstruction_ids))),
    ]


def exports_with(reconstruction_ids: Collection[int]) -> Iterator[Touched]:
    """The finished exports that hold any of these reconstructions, the newest first."""
    wanted = frozenset(reconstruction_ids)
    for export in ExportFile.objects.filter(state=ExportFile.State.DONE, kind__in=KINDS):
        label = f"Export {export.pk}: {export.get_kind_display()}, {export.format}"
        path = finished_file(export)
        if path is None:
            yield Touched("export", label, "export", export.pk, "may hold it: its file is gone")
        elif not wanted.isdisjoint(_ids_in(path, export.sha256)):
            yield Touched("export", label, "export", export.pk)


@lru_cache(maxsize=CACHED_FILES)
def _ids_in(path: Path, sha256: str) -> frozenset[int]:
    if path.suffix == ".csv":
        longest = path.stat().st_size  # of a field; what is usual is less than a long text
        csv.field_size_limit(max(csv.field_size_limit(), longest))
        with path.open(encoding="utf-8-sig", newline="") as file:
            return frozenset(int(row[COLUMN]) for row in csv.DictReader(file))
    with path.open("rb") as lines:
        return frozenset(int(found[1]) for line in lines if (found := _JSON_ROW.match(line)))
