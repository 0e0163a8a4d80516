"""The engine's step that writes an export's file."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from django.db import connection
from django.utils import timezone

from curation.export_files import Written, write_export
from curation.models import ExportFile
from llm.audit import Change, kind_of, record_many
from llm.engine.steps import Step, register
from llm.types import Chat, ModelError

KIND = "curation-export"

FILE = kind_of(ExportFile())
"""How exports are named in the trail."""


@register
class ExportRowsStep(Step[ExportFile, Written]):
    """Writes a file on a thread of its own, under the engine's lease; calls no model."""

    kind = KIND
    label = "Export of the curation room"

    def load(self, subject_ids: Sequence[int]) -> Mapping[int, ExportFile]:
        return ExportFile.objects.in_bulk(subject_ids)

    async def execute(self, subject: ExportFile, chat: Chat) -> Written:
        return await asyncio.to_thread(_write_and_disconnect, subject)

    def store(self, results: Sequence[tuple[int, Written]]) -> None:
        for pk, written in results:
            self._finish(
                pk,
                "written",
                state=ExportFile.State.DONE,
                error="",
                path=written.path,
                rows=written.rows,
                bytes=written.bytes,
                sha256=written.sha256,
                finished_at=timezone.now(),
            )

    def store_failures(self, failures: Sequence[tuple[int, ModelError]]) -> None:
        for pk, error in failures:
            self._finish(pk, "failed", state=ExportFile.State.FAILED, error=str(error))

    def _finish(self, pk: int, action: str, **fields: Any) -> None:
        """Sets the fields of an export (if it is still there), with its entry in the trail."""
        found = ExportFile.objects.select_for_update().filter(pk=pk)
        before = [{"state": was} for was in found.values_list("state", flat=True)]
        found.update(**fields)
        after = {name: value for name, value in fields.items() if name in ("state", "rows", "sha256")}
        record_many(Change((FILE, pk), action, was, after, fields["error"], run=self.run) for was in before)


def _write_and_disconnect(export: ExportFile) -> Written:
    try:
        return write_export(export)
    finally:
        connection.close()
