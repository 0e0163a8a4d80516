"""Settling what reviewers leave open: disagreements, flags, and decisions that turn out wrong."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from curation.adjudication import disputed_rows, flagged_rows, side_by_side
from curation.adjudication_form import AdjudicationForm
from curation.export_lineage import touched_by_items
from curation.models import CorpusPrompt, Reconstruction, Review
from curation.review import NotWaitingError, ReviewError, adjudicate, resolve_flag, withdraw
from curation.selectors import BLIND
from llm.access import Role, role_required
from llm.listing import listing
from llm.web import PageRequest, render_page

State = Reconstruction.State

NO_LONGER = "It is no longer waiting: somebody has settled it, or taken it back, meanwhile."


@role_required(Role.RESEARCHER)
@require_safe
def adjudication(request: PageRequest) -> HttpResponse:
    """The items that reviewers disagree on."""
    context = {"rows": listing(request, disputed_rows(request.user))}
    return render_page(request, "curation/adjudication.html", context, parts=["rows"])


@role_required(Role.RESEARCHER)
@require_http_methods(["GET", "HEAD", "POST"])
def adjudication_item(request: PageRequest, pk: int) -> HttpResponse:
    """Both texts, what each reviewer gave, and the decision; for flagged items too."""
    item = get_object_or_404(Reconstruction.objects.select_related("source_prompt"), pk=pk)
    if request.method == "POST":
        return _decide(request, item)
    return _item_page(request, item, AdjudicationForm(agreed=side_by_side(item, request.user).agreed))


@role_required(Role.RESEARCHER)
@require_safe
def flags(request: PageRequest) -> HttpResponse:
    """The items that are put aside."""
    return render_page(
        request, "curation/flags.html", {"rows": listing(request, flagged_rows())}, parts=["rows"]
    )


@role_required(Role.RESEARCHER)
@require_POST
def flag_put_back(request: PageRequest, pk: int) -> HttpResponse:
    """Ends a flag; the item goes on where it was."""
    item = get_object_or_404(Reconstruction.objects.select_related("source_prompt"), pk=pk)
    resolution = request.POST.get("resolution", "").strip()
    if not resolution:
        form = AdjudicationForm()
        return _item_page(request, item, form, flag_problem="Say what came of it.", status=422)
    try:
        resolve_flag(by=request.user, reconstruction_id=pk, resolution=resolution)
    except NotWaitingError:
        messages.warning(request, NO_LONGER)
        return redirect("reconstruction", pk)
    messages.success(request, f"Reconstruction {pk} is back in the queue.")
    return redirect("flags")


@role_required(Role.RESEARCHER)
@require_http_methods(["GET", "HEAD", "POST"])
def review_withdraw(request: PageRequest, pk: int) -> HttpResponse:
    """What a withdrawal touches, before and after it."""
    reviews = Review.objects.select_related("reviewer", "withdrawn_by", "reconstruction")
    review = get_object_or_404(reviews, pk=pk)
    problem = ""
    if request.method == "POST":
        try:
            withdraw(review_id=pk, by=request.user, reason=request.POST.get("reason", ""))
        except NotWaitingError:
            messages.warning(request, "It is withdrawn already.")
            return redirect("review-withdraw", pk)
        except ReviewError as error:
            problem = error.messages["reason"]
        else:
            messages.success(request, "The review is withdrawn.")
            return redirect("review-withdraw", pk)
    settled = review.reconstruction.state not in BLIND
    # What holds the corpus prompt tells that there was one; who has withdrawn the review knows.
    knows = settled or review.withdrawn_by_id == request.user.pk
    context = {
        "review": review,
        "item": review.reconstruction,
        "shown": settled or review.reviewer_id == request.user.pk,
        "others": review.reconstruction.reviews.filter(withdrawn_at__isnull=True).exclude(pk=pk).count(),
        "corpus_prompt": CorpusPrompt.objects.filter(reconstruction=review.reconstruction_id).first(),
        "groups": touched_by_items([review.reconstruction_id]) if knows else None,
        "problem": problem,
    }
    return render_page(request, "curation/withdraw.html", context, status=422 if problem else 200)


def _decide(request: PageRequest, item: Reconstruction) -> HttpResponse:
    form = AdjudicationForm(request.POST)
    if not form.is_valid():
        return _item_page(request, item, form, status=422)
    was, decision = item.state, request.POST.get("decision", "")
    try:
        adjudicate(
            adjudicator=request.user,
            reconstruction_id=item.pk,
            decision=decision,
            verdicts=form.verdicts(),
            reason=form.cleaned_data["reason"],
        )
    except ReviewError as error:
        form.problems = error.messages
        return _item_page(request, item, form, status=422)
    except NotWaitingError:
        item.refresh_from_db(fields=["state"])
        form.problems = {"decision": NO_LONGER}
        return _item_page(request, item, form, status=409)
    messages.success(request, f"Reconstruction {item.pk} is {decision}ed.")
    return redirect("flags" if was == State.FLAGGED else "adjudication")


def _item_page(
    request: PageRequest,
    item: Reconstruction,
    form: AdjudicationForm,
    *,
    flag_problem: str = "",
    status: int = 200,
) -> HttpResponse:
    given = side_by_side(item, request.user)
    context: dict[str, Any] = {
        "item": item,
        "source": item.source_prompt,
        "form": form,
        "reviews": given.reviews,
        "checks": list(form.rows(given.given)),
        "own": any(review.reviewer_id == request.user.pk for review in given.reviews),
        "hidden": item.state in BLIND and item.reviews.filter(withdrawn_at__isnull=True).exists(),
        "flag": item.flags.filter(resolved_at__isnull=True).select_related("reviewer").first(),
        "flag_problem": flag_problem,
        "waiting": item.state in (State.DISPUTED, State.FLAGGED),
    }
    return render_page(request, "curation/adjudication_item.html", context, status=status)
