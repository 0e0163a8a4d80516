"""What a reviewer has filled in so far, kept on the server.

Windows and devices of one person may hold the same item open. Each says from which stored version it goes on;
what is based on an older one is not stored over what came since.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import sha256
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

FLAG = "flag"
"""The entry of a draft's content whose note is the reason of a flag that has not been sent yet."""

State = Reconstruction.State

_DRAFT = sql.Columns(ReviewDraft, "draft")
_DRAFT_OF = f"""
    SELECT {_DRAFT.listed} FROM curation_reviewdraft AS draft
    WHERE draft.reconstruction_id = %(item)s AND draft.reviewer_id = %(reviewer)s
"""  # noqa: S608 - of the model's columns


@dataclass(frozen=True, slots=True)
class PageInput:
    """What an open page sends, and the stored draft as that page last knew it.

    `content` is None when nothing was filled in since. `seconds` is the time in view by the page's count,
    which began at `known_seconds`. `unanswered` is what the page sent last, if it never heard whether it
    arrived, and `unanswered_seconds` the time that this had with it.
    """

    content: Mapping[str, Any] | None
    seconds: float
    version: str
    known_seconds: float
    unanswered: Mapping[str, Any] | None = None
    unanswered_seconds: float = 0.0

    def goes_on_from(self, stored: Mapping[str, Any]) -> bool:
        """Whether nothing is lost when this takes the place of the stored content: it is empty, the same, the
        version that the page knew, or what the page sent itself. Of clean content; pure."""
        known = (self.version, version_of(self.content or {}), version_of(self.unanswered or {}))
        return version_of(stored) in ("", *known)


@dataclass(frozen=True, slots=True)
class Kept:
    """The draft as it is stored now; `stale` when it is newer than what the page sent goes on from, so that
    only the time was taken."""

    draft: ReviewDraft
    stale: bool = False


@transaction.atomic
def save_draft(
    *, reviewer: User, reconstruction_id: int, content: Mapping[str, Any], seconds: float
) -> datetime | None:
    """Keeps what is filled in, and says since when it is kept; the last one sent stands.

    A lease that has run out meanwhile does not matter: nothing that was typed is lost. None when the item is
    past review, or this reviewer has decided on it. Raises ReviewError for content of another shape. A flag's
    reason that was kept stays when `content` says nothing of it.
    """
    cleaned = clean_content(content)
    draft = _locked_draft(reviewer, reconstruction_id)
    if draft is None:
        return None
    if FLAG not in content and FLAG in draft.content:
        cleaned[FLAG] = draft.content[FLAG]
    return _store(draft, cleaned, seconds).saved_at


@transaction.atomic
def keep_page_input(*, reviewer: User, reconstruction_id: int, sent: PageInput) -> Kept | None:
    """Keeps what a page sends, unless something newer is stored than what it goes on from; the time in view
    is added in any case. None as with `save_draft`, whose ReviewError it raises too."""
    content = None if sent.content is None else clean_content(sent.content)
    sent = replace(sent, content=content, unanswered=clean_content(sent.unanswered or {}))
    draft = _locked_draft(reviewer, reconstruction_id)
    if draft is None:
        return None
    stored, new = version_of(draft.content), version_of(content or {})
    seconds = draft.seconds + _seconds_since(sent, stored, new)
    if content is None or new == stored:
        return Kept(_store(draft, None, seconds))
    if not sent.goes_on_from(draft.content):
        return Kept(_store(draft, None, seconds), stale=True)
    return Kept(_store(draft, content, seconds))


def draft_of(*, reviewer: User, reconstruction_id: int) -> ReviewDraft | None:
    parameters = {"item": reconstruction_id, "reviewer": reviewer.pk}
    return next(iter(_DRAFT.load(_DRAFT_OF, parameters)), None)


def version_of(content: Mapping[str, Any]) -> str:
    """Names a draft's content: the same for the same, '' for an empty one. Pure."""
    if not content:
        return ""
    return sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:20]


def _seconds_since(sent: PageInput, stored: str, new: str) -> float:
    """The time that the stored draft has not got yet; what was stored before is sent again if its answer was
    lost. Pure."""
    if stored and stored != sent.version and stored == new:
        return 0.0
    arrived = stored != sent.version and stored == version_of(sent.unanswered or {}) != ""
    return max(0.0, sent.seconds - (sent.unanswered_seconds if arrived else sent.known_seconds))


def _locked_draft(reviewer: User, reconstruction_id: int) -> ReviewDraft | None:
    """The stored draft or a new one, with the item locked; None when the item takes none."""
    item = lock_item(reconstruction_id)
    reviewed = Review.objects.filter(reconstruction=item, reviewer=reviewer, withdrawn_at__isnull=True)
    if item.state not in (State.IN_REVIEW, State.FLAGGED) or reviewed.exists():
        return None
    draft = draft_of(reviewer=reviewer, reconstruction_id=reconstruction_id)
    return draft or ReviewDraft(reconstruction_id=reconstruction_id, reviewer=reviewer)


def _store(draft: ReviewDraft, content: Mapping[str, Any] | None, seconds: float) -> ReviewDraft:
    """Without content, only the time changes; a draft of no time and no content is not stored."""
    draft.seconds = min(max(seconds, 0.0), LONGEST_SECONDS)
    if content is not None:
        draft.content = dict(content)
    if content is not None or draft.saved_at is None:
        draft.saved_at = timezone.now()
    if draft.pk or content is not None or draft.seconds:
        draft.save()
    return draft


def clean_content(content: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """A draft's content in its one shape: by check, {verdict, note, evidence}; what is empty is left out.
    `flag` is an entry with a note alone.

    Raises ReviewError that names the check for anything else. Pure.
    """
    problems: dict[str, str] = {}
    cleaned: dict[str, dict[str, Any]] = {}
    for check, entry in content.items():
        try:
            if check not in (*CheckVerdict.Check.values, FLAG):
                raise ValueError(f"there is no check {str(check)[:40]!r}")
            kept = _clean_entry(entry)
            if check == FLAG and (kept.get("verdict") or kept.get("evidence")):
                raise ValueError("a flag has a reason and nothing else")
            if kept:
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
