"""The page of one item: what stands on it, and how an answer gets to it.

a form is posted ─► its service ─┬─► the next item, or the item meant: itself where htmx asks, else a redirect
                                 └─► the same page with its input, 422 (amend it) or 409 (not yours now)
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone

from curation.difference import difference
from curation.forms import ReviewForm
from curation.hints import Hint, find_hints
from curation.models import Reconstruction, ReconstructionDraft, Review, ReviewDraft, ReviewSlot
from curation.review import (
    LastAction,
    LeaseTakenError,
    NotWaitingError,
    claim,
    claim_next,
    draft_of,
    last_action,
    queue_state,
)
from curation.review.drafts import version_of
from curation.review_input import KeptInput, reason_in, seconds_of
from curation.review_keys import ACTIONS, keys_of
from curation.reviewer_progress import progress_of, zone_of
from llm import sql
from llm.web import PageRequest, render_page

_TRAIL = sql.Columns(ReconstructionDraft, "draft")
_TRAIL_OF = f"""
    SELECT {_TRAIL.listed} FROM curation_reconstructiondraft AS draft
    WHERE draft.reconstruction_id = %(item)s ORDER BY draft.number
"""  # noqa: S608 - of the model's columns

DONE = {"accept": "Accepted", "reject": "Rejected", "skip": "Skipped", "flag": "Flagged"}


def named(action: LastAction) -> str:
    """'accepted item 17'"""
    return f"{DONE[action.kind].lower()} item {action.reconstruction_id}"


def next_item(request: PageRequest) -> HttpResponse:
    """On to the item in hand or the next free one; htmx gets its page in this same answer."""
    if not request.htmx:
        return redirect("review")
    slot = claim_next(reviewer=request.user)
    response = slot_page(request, slot) if slot else empty_page(request)
    response["HX-Push-Url"] = (
        reverse("review-item", args=[slot.reconstruction_id]) if slot else reverse("review")
    )
    return response


def go_to_item(request: PageRequest, pk: int) -> HttpResponse:
    """On to one particular item."""
    if not request.htmx:
        return redirect("review-item", pk=pk)
    response = claimed_page(request, pk)
    response["HX-Push-Url"] = reverse("review-item", args=[pk])
    return response


def claimed_page(request: PageRequest, pk: int) -> HttpResponse:
    """Takes the item and shows it, or says why it is not to be had."""
    try:
        slot = claim(reviewer=request.user, reconstruction_id=pk)
    except LeaseTakenError as taken:
        context = _frame(request) | {"item_id": pk, "until": taken.until}
        return render_page(request, "curation/review_taken.html", context, status=409)
    except NotWaitingError:
        own = Review.objects.filter(reconstruction=pk, reviewer=request.user, withdrawn_at__isnull=True)
        context = _frame(request) | {"item_id": pk, "own": own.first()}
        return render_page(request, "curation/review_settled.html", context)
    return slot_page(request, slot)


def empty_page(request: PageRequest) -> HttpResponse:
    return render_page(request, "curation/review_empty.html", _frame(request), parts=["queue"])


def slot_page(request: PageRequest, slot: ReviewSlot) -> HttpResponse:
    """The page of an item in hand, filled in as it was left."""
    draft = draft_of(reviewer=request.user, reconstruction_id=slot.reconstruction_id)
    form = ReviewForm(item=slot.reconstruction, draft=draft.content if draft else None)
    return item_page(request, slot.reconstruction, form, until=slot.lease_expires_at, kept=KeptInput(draft))


def item_page(
    request: PageRequest,
    item: Reconstruction,
    form: ReviewForm,
    *,
    until: datetime | None,
    kept: KeptInput,
    status: int = 200,
) -> HttpResponse:
    """`until` is when the reviewer's lease ends, None without one; with a `form` that came in, 409 or 422."""
    draft = kept.draft
    source = item.source_prompt
    shown = difference(source.text, item.text) if request.GET.get("difference") == "1" else None
    hints = hints_for(item, draft)
    frame = _frame(request)
    context = frame | {
        "item": item,
        "item_id": item.pk,
        "source": source,
        "form": form,
        "rows": [
            (row, hints.get(row.name, []), frame["keys"][f"check-{number}"])
            for number, row in enumerate(form.rows(), start=1)
        ],
        "until": until,
        "draft": draft,
        "newer": draft if kept.stale else None,
        "newer_version": version_of(draft.content) if draft and kept.stale else "",
        "trail": _TRAIL.load(_TRAIL_OF, {"item": item.pk}),
        "difference": shown,
        "progress": progress_of(request.user, zone_of(request)),
        "now": timezone.now(),
        **_goes_on_from(request, form, kept),
    }
    response = render_page(request, "curation/review_item.html", context, parts=["texts"], status=status)
    if form.is_bound:
        # The address of a skip or a flag is no page: it must not stay in the browser's bar.
        response["HX-Replace-Url"] = reverse("review-item", args=[item.pk])
    return response


def _goes_on_from(request: PageRequest, form: ReviewForm, kept: KeptInput) -> dict[str, Any]:
    """The version that the page goes on from and the time in view so far, which it says whenever it sends
    something; and the reason of a flag."""
    content = kept.draft.content if kept.draft else {}
    seconds = kept.draft.seconds if kept.draft else seconds_of(request)
    if form.is_bound:
        return {"version": kept.version, "seconds": seconds, "reason": form.data.get("reason", "")}
    return {"version": version_of(content), "seconds": seconds, "reason": reason_in(content)}


def _frame(request: PageRequest) -> dict[str, Any]:
    """What every page of the room carries: the queue, the keys, and what can be undone."""
    last, keys = last_action(reviewer=request.user), keys_of(request.user)
    return {
        "queue": queue_state(reviewer=request.user),
        "keys": keys,
        "all_keys": json.dumps(keys),
        "shortcuts": [(keys[action], what) for action, (_, what) in ACTIONS.items()],
        "last": last,
        "last_name": named(last) if last else "",
    }


def hints_for(item: Reconstruction, draft: ReviewDraft | None) -> Mapping[str, list[Hint]]:
    """By check, and only for those on which the reviewer's own verdict is stored already."""
    judged = {check for check, entry in draft.content.items() if entry.get("verdict")} if draft else set()
    if not judged:
        return {}
    found = find_hints(
        item.source_prompt.text,
        item.text,
        source_language=item.source_prompt.language,
        language=item.language,
    )
    return {check: [hint for hint in found if hint.check == check] for check in judged}
