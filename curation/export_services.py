"""Asking for an export."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from django.contrib.auth.models import User
from django.db import transaction
from django.http import FileResponse

from curation.export_files import export_path
from curation.export_rows import rows_to_export
from curation.export_steps import KIND
from curation.exporting import FORMATS
from curation.models import ExportFile
from curation.narrowing import NarrowingError
from llm.audit import record
from llm.services import start_run


class ExportRequestError(Exception):
    """An export that cannot be made: messages by field ('kind', 'format', or a filter's name)."""

    def __init__(self, messages: Mapping[str, str]) -> None:
        super().__init__("; ".join(messages.values()))
        self.messages = dict(messages)


@transaction.atomic
def start_export(
    *, kind: str, format: str, filters: Mapping[str, str], user: User | None, texts: bool = True
) -> ExportFile:
    """Queues the writing of one file as a run; nobody waits for it.

    `filters` are those of `curation.narrowing.filters_of(kind)`, by name. Without `texts` the long texts are
    left out. Raises ExportRequestError.
    """
    problems: dict[str, str] = {}
    if kind not in ExportFile.Kind.values:
        problems["kind"] = f"Choose one of: {', '.join(ExportFile.Kind.values)}."
    if format not in FORMATS:
        problems["format"] = f"Choose one of: {', '.join(FORMATS)}."
    given = {name: value for name, value in filters.items() if value}
    if "kind" not in problems:
        try:
            rows_to_export(kind, given)
        except NarrowingError as error:
            problems |= error.messages
    if problems:
        raise ExportRequestError(problems)
    export = ExportFile.objects.create(
        kind=kind,
        format=format,
        state=ExportFile.State.WAITING,
        options={"filters": given, "texts": texts},
        created_by=user,
    )
    parameters = {"kind": kind, "format": format, "filters": given, "texts": texts}
    export.run = start_run(kind=KIND, subject_ids=[export.pk], parameters=parameters, user=user)
    export.save(update_fields=["run"])
    record(export, "asked for", after=parameters, actor=user)
    return export


def finished_file(export: ExportFile) -> Path | None:
    """The file of a finished export; None while there is none, or when it is no longer on this machine."""
    path = export_path(export)
    return path if export.state == ExportFile.State.DONE and path.is_file() else None


def download_of(export: ExportFile) -> FileResponse | None:
    """The file as an answer to a browser or program, under a name of its own; None while there is no file."""
    path = finished_file(export)
    if path is None:
        return None
    content_type = "text/csv; charset=utf-8" if export.format == "csv" else "application/x-ndjson"
    name = f"{export.kind}-{export.pk}.{export.format}"
    return FileResponse(path.open("rb"), as_attachment=True, filename=name, content_type=content_type)
