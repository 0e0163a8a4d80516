"""The step for the engine that imports a file."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from django.db import connection
from django.utils import timezone

from curation.indexing import start_indexing
from curation.models import ImportFile
from curation.rows import ImportFormatError
from curation.services.files import ImportHeldError, run_import
from llm.audit import Change, kind_of, record_many
from llm.engine.gate import HeldBackError
from llm.engine.steps import Step, register
from llm.types import Chat, ModelError

KIND = kind_of(ImportFile())
"""How imports are named in the trail."""


class ImportFailedError(ModelError):
    """The file cannot be imported; what was imported before the fault stays."""

    kind = "file"


@register
class ImportStep(Step[ImportFile, Mapping[str, Any]]):
    """Imports a file on a thread of its own, under the engine's lease; calls no model."""

    kind = "import"
    label = "Import"

    def load(self, subject_ids: Sequence[int]) -> Mapping[int, ImportFile]:
        return ImportFile.objects.select_related("created_by").in_bulk(subject_ids)

    async def execute(self, subject: ImportFile, chat: Chat) -> Mapping[str, Any]:
        return await asyncio.to_thread(_import_and_disconnect, subject)

    def store(self, results: Sequence[tuple[int, Mapping[str, Any]]]) -> None:
        for pk, report in results:
            counts = {name: value for name, value in report.items() if isinstance(value, int)}
            self._finish(pk, ImportFile.State.DONE, "finished", counts, report=report)
        start_indexing(user=self.run.created_by)

    def store_failures(self, failures: Sequence[tuple[int, ModelError]]) -> None:
        for pk, error in failures:
            self._finish(pk, ImportFile.State.FAILED, "failed", error=str(error))

    def _finish(
        self,
        pk: int,
        state: ImportFile.State,
        action: str,
        counts: Mapping[str, int] | None = None,
        *,
        error: str = "",
        **fields: Any,
    ) -> None:
        """The end of an import (if it is still there), with its entry in the trail."""
        found = ImportFile.objects.select_for_update().filter(pk=pk)
        before = [{"state": was} for was in found.values_list("state", flat=True)]
        found.update(state=state, error=error, finished_at=timezone.now(), **fields)
        after = {"state": state.value, **(counts or {})}
        record_many(Change((KIND, pk), action, was, after, error, run=self.run) for was in before)


def _import_and_disconnect(import_file: ImportFile) -> Mapping[str, Any]:
    try:
        return run_import(import_file=import_file)
    except ImportFormatError as error:
        raise ImportFailedError(str(error)) from error
    except ImportHeldError as error:
        raise HeldBackError(str(error)) from error
    finally:
        connection.close()
