"""Reading an item with its source, alone or with one of its slots: by hand, to be quick."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from curation.models import Reconstruction, ReviewSlot, SourcePrompt
from llm import sql

SLOT = sql.Columns(ReviewSlot, "slot")
_ITEM = sql.Columns(Reconstruction, "item", without=["search"])
_SOURCE = sql.Columns(SourcePrompt, "source", without=["search"])
_ITEM_BY_ID = f"""
    SELECT {_ITEM.listed}, {_SOURCE.listed} FROM curation_reconstruction AS item
    JOIN curation_sourceprompt AS source ON source.id = item.source_prompt_id
    WHERE item.id = %(item)s
"""  # noqa: S608 - of the models' columns

SLOT_WITH_TEXTS = f"""
    SELECT {_ITEM.listed}, {_SOURCE.listed}, {SLOT.listed} FROM slot
    JOIN curation_reconstruction AS item ON item.id = slot.reconstruction_id
    JOIN curation_sourceprompt AS source ON source.id = item.source_prompt_id
"""  # noqa: S608 - of the models' columns
"""The end of a statement that has found its slots under the name `slot`."""


def item_with_source(reconstruction_id: int) -> Reconstruction:
    """Raises Reconstruction.DoesNotExist."""
    for row in sql.fetch(_ITEM_BY_ID, {"item": reconstruction_id}):
        values = iter(row)
        item = _ITEM.take(values)
        item.source_prompt = _SOURCE.take(values)
        return item
    raise Reconstruction.DoesNotExist(f"there is no reconstruction {reconstruction_id}")


def slot_with_texts(row: Iterable[Any]) -> ReviewSlot:
    """Of a row that SLOT_WITH_TEXTS gives."""
    values = iter(row)
    item = _ITEM.take(values)
    item.source_prompt = _SOURCE.take(values)
    slot = SLOT.take(values)
    slot.reconstruction = item
    return slot
