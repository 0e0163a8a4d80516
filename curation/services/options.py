"""What a person can choose about an import of writing requests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from curation.near_duplicates import DEFAULT_THRESHOLD
from curation.rows import FieldChoice
from llm.text import LengthPolicy


class NearDuplicates(StrEnum):
    """What is done about prompts that are nearly the same as earlier ones."""

    REPORT = "report"
    EXCLUDE = "exclude"
    OFF = "off"


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """`split` is one of a dataset's, '' for all. Empty fields are told by the rows (`curation.rows`)."""

    text_field: str | None = None
    id_field: str | None = None
    reconstruction_field: str | None = None
    split: str = ""
    length_policy: LengthPolicy = LengthPolicy.PAPER
    near_duplicates: NearDuplicates = NearDuplicates.REPORT
    threshold: float = DEFAULT_THRESHOLD

    @property
    def fields(self) -> FieldChoice:
        return FieldChoice(self.text_field, self.id_field, self.reconstruction_field)

    @property
    def wanted(self) -> frozenset[str] | None:
        """The columns that have to be read; None for all."""
        if self.text_field is None or self.id_field is None:
            return None
        return frozenset({self.text_field, self.id_field, self.reconstruction_field or self.text_field})

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> ImportOptions:
        """Raises ValueError or TypeError for what `as_json` has not written."""
        named = dict(stored)
        if "length_policy" in named:
            named["length_policy"] = LengthPolicy(named["length_policy"])
        if "near_duplicates" in named:
            named["near_duplicates"] = NearDuplicates(named["near_duplicates"])
        return cls(**named)
