"""What training holds of corpus prompts: candidates, and the corpus snapshots whose files have them.

A snapshot's rows are not in the database, so its files say what it holds. They are read once for each
process: a finished snapshot never changes, and a file whose SHA-256 in the manifest is new is a new file.
Where a file is gone, the manifest decides: a prompt that was there when it was written, and is not
among those left out, is reported as one that it may hold.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from pathlib import Path

from django.db.models import Count

from curation.lineage import Touched, register
from curation.models import CorpusPrompt
from training.models import Candidate, CorpusSnapshot
from training.snapshots import snapshot_folder

_ROW_ID = re.compile(rb'\A\{"id": (\d+),')
"""How every row of a snapshot begins, see `training.corpora`."""

CACHED_FILES = 64
LISTED_CANDIDATES = 50


def candidates_of(corpus_prompt_ids: Sequence[int]) -> Iterator[Touched]:
    """The candidates written to these corpus prompts, the demonstrations first; of many the rest as one."""
    rows = Candidate.objects.filter(prompt__in=corpus_prompt_ids)
    shown = rows.only("index", "prompt", "rubric", "demonstration", "overruled_at")
    listed = list(shown.order_by("-demonstration", "pk")[:LISTED_CANDIDATES])
    links = Candidate.assessments.through.objects.filter(candidate__in=listed).order_by()
    readings = dict(links.values_list("candidate").annotate(Count("pk")))
    for row in listed:
        note = _note(row, readings.get(row.pk, 0))
        yield Touched(
            "candidate", f"Candidate {row.index} of prompt {row.prompt_id}", "candidate", row.pk, note
        )
    if (further := rows.count() - LISTED_CANDIDATES) > 0:
        yield Touched("candidate", f"{further:,} more candidates", "", 0)


def _note(row: Candidate, readings: int) -> str:
    """What hangs on a candidate, and for which rubric it was written: a prompt may have several."""
    chosen = "the demonstration, chosen by hand" if row.overruled_at else "the demonstration"
    read = f"{readings:,} {'assessment' if readings == 1 else 'assessments'}"
    parts = (chosen if row.demonstration else "", f"for rubric {row.rubric_id}", read if readings else "")
    return ", ".join(part for part in parts if part)


def snapshots_of(corpus_prompt_ids: Sequence[int]) -> Iterator[Touched]:
    """The finished corpus snapshots that hold any of these corpus prompts, with the corpora that do."""
    wanted = frozenset(corpus_prompt_ids)
    for snapshot in CorpusSnapshot.objects.filter(state=CorpusSnapshot.State.DONE):
        held, unread = _corpora_with(snapshot, wanted)
        if held:
            note = f"in {', '.join(held)}"
        elif unread and _may_hold(snapshot, wanted):
            note = f"may hold it: {', '.join(unread)} cannot be read any more"
        else:
            continue
        yield Touched("snapshot", snapshot.name, "snapshot", snapshot.pk, note)


def _corpora_with(snapshot: CorpusSnapshot, wanted: frozenset[int]) -> tuple[list[str], list[str]]:
    """The corpora of a snapshot that hold one of the prompts, and those whose files are gone."""
    held, unread = [], []
    for entry in snapshot.manifest.get("files", []):
        path = snapshot_folder(snapshot) / Path(entry["name"]).name
        try:
            ids = _ids_in(path, entry["sha256"])
        except OSError:
            unread.append(path.name)
            continue
        if not wanted.isdisjoint(ids):
            held.append(path.stem)
    return held, unread


@lru_cache(maxsize=CACHED_FILES)
def _ids_in(path: Path, sha256: str) -> frozenset[int]:
    """The corpus prompts of a file's rows. Raises OSError when it cannot be read."""
    with path.open("rb") as file:
        return frozenset(int(found[1]) for line in file if (found := _ROW_ID.match(line)))


def _may_hold(snapshot: CorpusSnapshot, wanted: frozenset[int]) -> bool:
    written = snapshot.manifest.get("written_at")
    left_out = {
        entry["prompt"] for entry in snapshot.manifest.get("left_out_prompts", []) if entry["corpus"] == "all"
    }
    prompts = CorpusPrompt.objects.filter(pk__in=wanted - left_out)
    if written:
        # The manifest's time is cut to whole seconds.
        prompts = prompts.filter(created_at__lt=datetime.fromisoformat(written) + timedelta(seconds=1))
    return prompts.exists()


register("Candidates", candidates_of)
register("Corpora", snapshots_of)
