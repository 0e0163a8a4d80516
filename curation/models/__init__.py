"""From an imported writing request to an accepted corpus prompt."""

from curation.models.files import ExportFile, ImportFile, Transfer
from curation.models.policy import CurationPolicy
from curation.models.prompts import (
    CorpusPrompt,
    Reconstruction,
    ReconstructionDraft,
    Source,
    SourcePrompt,
)
from curation.models.reviews import (
    CheckVerdict,
    Review,
    ReviewDraft,
    ReviewFlag,
    ReviewPreference,
    ReviewSkip,
    ReviewSlot,
)
from curation.models.screening import ScreeningMatch, ScreeningSample

__all__ = [
    "CheckVerdict",
    "CorpusPrompt",
    "CurationPolicy",
    "ExportFile",
    "ImportFile",
    "Reconstruction",
    "ReconstructionDraft",
    "Review",
    "ReviewDraft",
    "ReviewFlag",
    "ReviewPreference",
    "ReviewSkip",
    "ReviewSlot",
    "ScreeningMatch",
    "ScreeningSample",
    "Source",
    "SourcePrompt",
    "Transfer",
]
