"""Reading an item with its source and, for its page, the slot that a reviewer holds: by hand, to be quick."""

from __future__ import annotations

from curation.models import Reconstruction, ReviewSlot, SourcePrompt
from llm import sql

_SLOT = sql.Columns(ReviewSlot, "slot")
_ITEM = sql.Columns(Reconstruction, "item", without=["search"])
_SOURCE = sql.Columns(SourcePrompt, "source", without=["search"])
_ITEM_BY_ID = f"""
    SELECT {_ITEM.listed}, {_SOURCE.listed} FROM curation_reconstruction AS item
    JOIN curation_sourceprompt AS source ON source.id = item.source_prompt_id
    WHERE item.id = %(item)s
"""  # noqa: S608 - of the models' columns
_SLOT_BY_ID = f"""
    SELECT {_ITEM.listed}, {_SOURCE.listed}, {_SLOT.listed} FROM curation_reviewslot AS slot
    JOIN curation_reconstruction AS item ON item.id = slot.reconstruction_id
    JOIN curation_sourceprompt AS source ON source.id = item.source_prompt_id
    WHERE slot.id = %(slot)s
"""  # noqa: S608 - of the models' columns


def item_with_source(reconstruction_id: int) -> Reconstruction:
    """Raises Reconstruction.DoesNotExist."""
    for row in sql.fetch(_ITEM_BY_ID, {"item": reconstruction_id}):
        values = iter(row)
        item = _ITEM.take(values)
        item.source_prompt = _SOURCE.take(values)
        return item
    raise Reconstruction.DoesNotExist(f"there is no reconstruction {reconstruction_id}")


def slot_with_texts(slot_id: int) -> ReviewSlot:
    """A slot that there is, with its item and the item's source."""
    [row] = sql.fetch(_SLOT_BY_ID, {"slot": slot_id})
    values = iter(row)
    item = _ITEM.take(values)
    item.source_prompt = _SOURCE.take(values)
    slot = _SLOT.take(values)
    slot.reconstruction = item
    return slot
