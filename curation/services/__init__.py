"""Every write on the way from a file of requests to the queue of reviews."""

from curation.preparing import digest_of
from curation.services.duplicates import NearDuplicateReport, mark_near_duplicates
from curation.services.files import (
    ImportHeldError,
    ImportStateError,
    begin_import,
    discard_import,
    import_options,
    receive_import,
    run_import,
    start_import,
    stored_path,
)
from curation.services.importing import ImportTarget, import_path, import_prompts, import_rows
from curation.services.options import ImportOptions, NearDuplicates
from curation.services.planning import (
    LARGEST_SEED,
    MOST_PER_SOURCE,
    PlanPreview,
    made_from,
    plan_reconstructions,
    preview_plan,
    start_filtering,
    start_reconstruction,
    usable_source_prompts,
)
from curation.services.reports import LISTED_LINES, ImportReport, LineReport
from curation.services.samples import import_screening_samples

__all__ = [
    "LARGEST_SEED",
    "LISTED_LINES",
    "MOST_PER_SOURCE",
    "ImportHeldError",
    "ImportOptions",
    "ImportReport",
    "ImportStateError",
    "ImportTarget",
    "LineReport",
    "NearDuplicateReport",
    "NearDuplicates",
    "PlanPreview",
    "begin_import",
    "digest_of",
    "discard_import",
    "import_options",
    "import_path",
    "import_prompts",
    "import_rows",
    "import_screening_samples",
    "made_from",
    "mark_near_duplicates",
    "plan_reconstructions",
    "preview_plan",
    "receive_import",
    "run_import",
    "start_filtering",
    "start_import",
    "start_reconstruction",
    "stored_path",
    "usable_source_prompts",
]
