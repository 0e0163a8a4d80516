"""What a reviewer has filled in so far, kept on the server."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from curation.models import CheckVerdict, Reconstruction, Review, ReviewDraft
from curation.review.slots import lock_item
from curation.review.terms import LONGEST_NOTE, ReviewError
from llm import sql

SIDES = ("source", "reconstruction")
LONGEST_SECONDS = 24 * 60 * 60.0

State = Reconstruction.State

_DRAFT = sql.Columns(ReviewDraft, "draft")
_DRAFT_OF = f"""
    SELECT {_DRAFT.listed} FROM curation_reviewdraft AS draft
    WHERE draft.reconstruction_id = %(item)s AND draft.reviewer_id = %(reviewer)s
"""  # noqa: S608 - of the model's columns


@transaction.atomic
def save_draft(
    *, reviewer: User, reconstruction_id: int, content: Mapping[str, Any], seconds: float
) -> datetime | None:
    """Keeps what is filled in, and says since when it is kept; the last one sent stands.

    A lease that has run out meanwhile does not matter: nothing that was typed is lost. None when the item is
    past review, or this reviewer has decided on it. Raises ReviewError for content of another shape.
    """
    cleaned = clean_content(content)
    item = lock_item(reconstruction_id)
    reviewed = Review.objects.filter(reconstruction=item, reviewer=reviewer, withdrawn_at__isnull=True)
    if item.state not in (State.IN_REVIEW, State.FLAGGED) or reviewed.exists():
        return None
    now = timezone.now()
    ReviewDraft.objects.update_or_create(
        reconstruction=item,
        reviewer=reviewer,
        defaults={
            "content": cleaned,
            "seconds": min(max(seconds, 0.0), LONGEST_SECONDS),
            "saved_at": now,
        },
    )
    return now


def draft_of(*, reviewer: User, reconstruction_id: int) -> ReviewDraft | None:
    parameters = {"item": reconstruction_id, "reviewer": reviewer.pk}
    return next(iter(_DRAFT.load(_DRAFT_OF, parameters)), None)


def clean_content(content: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """A draft's content in its one shape: by check, {verdict, note, evidence}; what is empty is left out.

    Raises ReviewError that names the check for anything else. Pure.
    """
    problems: dict[str, str] = {}
    cleaned: dict[str, dict[str, Any]] = {}
    for check, entry in content.items():
        try:
            if check not in CheckVerdict.Check.values:
                raise ValueError(f"there is no check {str(check)[:40]!r}")
            if kept := _clean_entry(entry):
                cleaned[check] = kept
        except ValueError as error:
            problems[str(check)[:40]] = str(error)
    if problems:
        raise ReviewError(problems)
    return cleaned


def _clean_entry(entry: Any) -> dict[str, Any]:
    if not isinstance(entry, Mapping):
        raise ValueError("each check needs an object with verdict, note and evidence")
    verdict, note, evidence = entry.get("verdict") or "", entry.get("note") or "", entry.get("evidence")
    if verdict and verdict not in CheckVerdict.Verdict.values:
        raise ValueError(f"there is no verdict {str(verdict)[:40]!r}")
    if not isinstance(note, str) or len(note) > LONGEST_NOTE:
        raise ValueError(f"a note is a text of at most {LONGEST_NOTE:,} characters")
    kept = {"verdict": verdict, "note": note.replace("\0", ""), "evidence": clean_evidence(evidence)}
    return kept if any(kept.values()) else {}


def clean_evidence(evidence: Any) -> dict[str, Any] | None:
    """A passage as it is stored, or None. Raises ValueError for one without side, place or text. Pure."""
    if not evidence:
        return None
    if not isinstance(evidence, Mapping):
        raise ValueError("evidence is an object with side, start, end and text")
    side, start, end, text = (evidence.get(name) for name in ("side", "start", "end", "text"))
    if side not in SIDES:
        raise ValueError("evidence is from the source or from the reconstruction")
    if not (isinstance(start, int) and isinstance(end, int) and 0 <= start < end):
        raise ValueError("evidence has a start and an end, in characters")
    if not isinstance(text, str) or not text or len(text) > LONGEST_NOTE:
        raise ValueError(f"evidence quotes a passage of at most {LONGEST_NOTE:,} characters")
    return {"side": side, "start": start, "end": end, "text": text.replace("\0", "")}
