"""The engine's step that writes an export's file."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from django.db import connection
from django.utils import timezone

from curation.export_files import Written, write_export
from curation.models import ExportFile
from llm.engine.steps import Step, register
from llm.types import Chat, ModelError

KIND = "curation-export"


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
            ExportFile.objects.filter(pk=pk).update(
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
            ExportFile.objects.filter(pk=pk).update(state=ExportFile.State.FAILED, error=str(error))


def _write_and_disconnect(export: ExportFile) -> Written:
    try:
        return write_export(export)
    finally:
        connection.close()
