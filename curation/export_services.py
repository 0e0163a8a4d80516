"""Asking for an export."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.http import FileResponse
from django.utils import timezone

from curation.export_files import export_path
from curation.export_rows import rows_to_export
from curation.export_steps import KIND
from curation.exporting import FORMATS
from curation.models import ExportFile
from curation.narrowing import NarrowingError
from llm.audit import record
from llm.models import Run
from llm.services import start_run

SAME_CLICK = timedelta(minutes=1)
"""For how long the same request means the same export (ours)."""


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
    left out. The same person asking for the same again, while the first is less than a minute old and not
    finished, gets the first. Raises ExportRequestError.
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
    options = {"filters": given, "texts": texts}
    if user and (asked_before := _just_asked(user, kind, format, options)):
        return asked_before
    export = ExportFile.objects.create(
        kind=kind, format=format, state=ExportFile.State.WAITING, options=options, created_by=user
    )
    parameters = {"kind": kind, "format": format, "filters": given, "texts": texts}
    export.run = start_run(kind=KIND, subject_ids=[export.pk], parameters=parameters, user=user)
    export.save(update_fields=["run"])
    record(export, "asked for", after={"state": export.state, **parameters}, actor=user)
    return export


def _just_asked(user: User, kind: str, format: str, options: Mapping[str, Any]) -> ExportFile | None:
    """The export that a second click, or a second try after a timeout, means. People ask one at a time: the
    lock lasts until the transaction ends."""
    User.objects.select_for_update(no_key=True).get(pk=user.pk)
    unfinished = ExportFile.objects.filter(
        created_by=user,
        kind=kind,
        format=format,
        options=options,
        state=ExportFile.State.WAITING,
        created_at__gt=timezone.now() - SAME_CLICK,
    )
    return unfinished.exclude(run__state=Run.State.CANCELLED).select_related("run").order_by("pk").first()


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
