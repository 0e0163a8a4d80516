"""What an open item's page sends and asks for while somebody works on it: drafts and hints."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from curation.forms import ReviewForm
from curation.models import CheckVerdict, Reconstruction, ReviewDraft
from curation.review import ReviewError, draft_of, renew_lease
from curation.review.drafts import version_of
from curation.review_input import (
    carries_input,
    content_of,
    fields_of,
    keep_input,
    store_input,
    version_sent,
)
from curation.review_page import hints_for, item_page
from llm.access import Role, role_required
from llm.sign_in import part_of
from llm.web import PageRequest, render_page

NEWER = "Another window has newer input on this item. What stands here is not stored."
NOT_OPEN = "This item is not open to you any more. Nothing is stored; your input is kept on this page."


@role_required(Role.ANNOTATOR, Role.RESEARCHER)
@part_of("review-item")
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def review_draft(request: PageRequest, pk: int) -> HttpResponse:
    """GET answers what is stored, POST stores what is filled in. The page's script gets JSON; the buttons
    that stand there without a script (`save`, `keep`) get the page again."""
    item = get_object_or_404(Reconstruction.objects.select_related("source_prompt"), pk=pk)
    if request.method != "POST":
        draft = draft_of(reviewer=request.user, reconstruction_id=pk)
        return JsonResponse(_stored(item, draft) if draft else {})
    form = ReviewForm(request.POST, item=item)
    if "save" in request.POST or "keep" in request.POST:
        return _page(request, item, form)
    return _answer(request, item, form)


def _answer(request: PageRequest, item: Reconstruction, form: ReviewForm) -> HttpResponse:
    """{"saved_at", "version", "seconds"}; or {"message"}, with what is stored as "newer" when the page goes
    on from something older."""
    kept, time_alone = None, version_sent(request) is not None and not carries_input(request.POST)
    if form.is_valid():
        try:
            kept = store_input(request, item, None if time_alone else content_of(form))
        except ReviewError as error:
            return JsonResponse({"message": str(error)}, status=422)
        if kept is None:
            return JsonResponse({"message": NOT_OPEN}, status=409)
    if kept is None or kept.draft is None:
        return JsonResponse({"message": form.complaint()}, status=422)
    if kept.stale:
        return JsonResponse({"message": NEWER, "newer": _stored(item, kept.draft)}, status=409)
    if version_sent(request) is None:
        return JsonResponse({"saved_at": kept.draft.saved_at})
    known = _stored(item, kept.draft)
    return JsonResponse({name: known[name] for name in ("saved_at", "version", "seconds")})


def _stored(item: Reconstruction, draft: ReviewDraft) -> dict[str, Any]:
    return {
        "saved_at": draft.saved_at,
        "version": version_of(draft.content),
        "seconds": draft.seconds,
        "fields": fields_of(item, draft.content),
    }


def _page(request: PageRequest, item: Reconstruction, form: ReviewForm) -> HttpResponse:
    kept = keep_input(request, item, form)
    if not kept.taken and not kept.refused(form):
        form.problems["decision"] = NOT_OPEN
    if not kept.refused(form):
        messages.success(request, "Saved.")
        wanted = "?difference=1" if request.POST.get("save") == "difference" else ""
        return redirect(reverse("review-item", args=[item.pk]) + wanted)
    until = renew_lease(reviewer=request.user, reconstruction_id=item.pk)
    return item_page(request, item, form, until=until, kept=kept, status=409 if kept.stale else 422)


@role_required(Role.ANNOTATOR, Role.RESEARCHER)
@part_of("review-item")
@never_cache
@require_safe
def review_hints(request: PageRequest, pk: int) -> HttpResponse:
    """The hints on those checks that have a verdict in the stored draft; the others stay empty."""
    item = get_object_or_404(Reconstruction.objects.select_related("source_prompt"), pk=pk)
    hints = hints_for(item, draft_of(reviewer=request.user, reconstruction_id=pk))
    rows = [(check, hints.get(check, [])) for check in CheckVerdict.Check.values]
    context = {"rows": rows, "item": item, "source": item.source_prompt}
    return render_page(request, "curation/review_hints.html", context)
