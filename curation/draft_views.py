"""What an open item's page sends and asks for while somebody works on it: drafts and hints."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from curation.forms import ReviewForm
from curation.models import CheckVerdict, Reconstruction
from curation.review import ReviewError, draft_of, renew_lease, save_draft
from curation.review_page import hints_for, item_page, seconds_of
from llm.access import Role, role_required
from llm.web import PageRequest, render_page

NOT_OPEN = "This item is not open to you any more. Nothing is stored; your input is kept on this page."


@role_required(Role.ANNOTATOR, Role.RESEARCHER)
@require_POST
def review_draft(request: PageRequest, pk: int) -> HttpResponse:
    """Stores what is filled in. The page's script gets JSON: {"saved_at"} or {"message"}; the button that
    stands there without a script (`save`) gets the page again."""
    item = get_object_or_404(Reconstruction.objects.select_related("source_prompt"), pk=pk)
    form = ReviewForm(request.POST, item=item)
    saved_at = None
    if form.is_valid():
        try:
            saved_at = save_draft(
                reviewer=request.user,
                reconstruction_id=pk,
                content=form.content(),
                seconds=seconds_of(request) or 0,
            )
        except ReviewError as error:
            form.problems = error.messages
        else:
            if saved_at is None:
                form.problems["decision"] = NOT_OPEN
    if "save" in request.POST:
        return _page(request, item, form, saved=saved_at is not None)
    if saved_at:
        return JsonResponse({"saved_at": saved_at})
    status = 409 if form.problems.get("decision") == NOT_OPEN else 422
    return JsonResponse({"message": form.complaint()}, status=status)


def _page(request: PageRequest, item: Reconstruction, form: ReviewForm, *, saved: bool) -> HttpResponse:
    if saved:
        messages.success(request, "Saved.")
        wanted = "?difference=1" if request.POST["save"] == "difference" else ""
        return redirect(reverse("review-item", args=[item.pk]) + wanted)
    until = renew_lease(reviewer=request.user, reconstruction_id=item.pk)
    draft = draft_of(reviewer=request.user, reconstruction_id=item.pk)
    return item_page(request, item, form, until=until, draft=draft, status=422)


@role_required(Role.ANNOTATOR, Role.RESEARCHER)
@never_cache
@require_safe
def review_hints(request: PageRequest, pk: int) -> HttpResponse:
    """The hints on those checks that have a verdict in the stored draft; the others stay empty."""
    item = get_object_or_404(Reconstruction.objects.select_related("source_prompt"), pk=pk)
    hints = hints_for(item, draft_of(reviewer=request.user, reconstruction_id=pk))
    rows = [(check, hints.get(check, [])) for check in CheckVerdict.Check.values]
    context = {"rows": rows, "item": item, "source": item.source_prompt}
    return render_page(request, "curation/review_hints.html", context)
