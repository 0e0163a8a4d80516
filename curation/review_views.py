"""The review room. To open an item is to take it: its page holds a lease and renews it while it is open."""

from __future__ import annotations

from datetime import datetime

from django.contrib import messages
from django.db.models import Q
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from curation import selectors
from curation.forms import ReviewForm
from curation.models import Reconstruction, Review
from curation.review import (
    LeaseExpiredError,
    LeaseTakenError,
    NotWaitingError,
    ReviewError,
    UndoError,
    claim,
    claim_next,
    decide,
    flag,
    last_action,
    queue_state,
    renew_lease,
    skip,
    undo,
)
from curation.review.texts import item_with_source
from curation.review_input import KeptInput, is_outdated, keep_input, seconds_of
from curation.review_page import (
    DONE,
    claimed_page,
    empty_page,
    go_to_item,
    item_page,
    named,
    next_item,
)
from curation.reviewer_progress import progress_of, zone_of
from llm.access import Role, role_required
from llm.listing import equals, listing
from llm.sign_in import part_of
from llm.web import PageRequest, render_page

GONE = (
    "This item is not waiting for your review any more. Nothing is stored; your input is kept here. "
    "Skip it to go on."
)


@role_required(Role.ANNOTATOR, Role.RESEARCHER)
@never_cache
@require_safe
def review(request: PageRequest) -> HttpResponse:
    """The way in: on to the item in hand or the next free one, or the state of an empty queue."""
    slot = claim_next(reviewer=request.user)
    return redirect("review-item", pk=slot.reconstruction_id) if slot else empty_page(request)


@role_required(Role.ANNOTATOR, Role.RESEARCHER)
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def review_item(request: PageRequest, pk: int) -> HttpResponse:
    """GET takes the item and shows it; POST decides on it and goes on to the next."""
    item = _item(pk)
    if request.method != "POST":
        return claimed_page(request, pk)
    form, problem = ReviewForm(request.POST, item=item), None
    if form.is_valid():
        try:
            if not request.htmx and is_outdated(request, item, form):
                return _page_again(request, item, form, keep_input(request, item, form))
            made = _decide(request, item, form)
        except ReviewError as error:
            form.problems = error.messages
        except (LeaseTakenError, NotWaitingError) as error:
            problem = error
        else:
            messages.success(request, f"{DONE[made.decision]} item {item.pk}.")
            return next_item(request)
    return _page_again(request, item, form, keep_input(request, item, form), problem)


def _decide(request: PageRequest, item: Reconstruction, form: ReviewForm) -> Review:
    """A lease that ran out unnoticed is taken again when nobody else has the item."""
    decision, verdicts, seconds = request.POST.get("decision", ""), form.verdicts(), seconds_of(request)

    def store() -> Review:
        return decide(
            reviewer=request.user,
            reconstruction_id=item.pk,
            decision=decision,
            verdicts=verdicts,
            seconds=seconds,
        )

    try:
        return store()
    except LeaseExpiredError:
        claim(reviewer=request.user, reconstruction_id=item.pk)
        return store()


def _page_again(
    request: PageRequest,
    item: Reconstruction,
    form: ReviewForm,
    kept: KeptInput,
    problem: Exception | None = None,
) -> HttpResponse:
    """The page with its input, after whatever was in the way."""
    if isinstance(problem, LeaseTakenError):
        form.problems["decision"] = (
            f"Another reviewer took this item over and holds it until {problem.until:%H:%M} UTC. "
            "Your input is still here; try again after that, or skip the item."
        )
    elif problem is not None:
        form.problems["decision"] = GONE
    until = renew_lease(reviewer=request.user, reconstruction_id=item.pk)
    status = 409 if problem or kept.stale else 422
    return item_page(request, item, form, until=until, kept=kept, status=status)


@role_required(Role.ANNOTATOR, Role.RESEARCHER)
@part_of("review-item")
@require_POST
def review_lease(request: PageRequest, pk: int) -> HttpResponse:
    """The open page's heartbeat; without htmx, a button. A lease that ran out is taken again if it can be."""
    until = renew_lease(reviewer=request.user, reconstruction_id=pk) or _take_again(request, pk)
    if not request.htmx:
        return redirect("review-item", pk=pk)
    context = {"item_id": pk, "until": until, "queue": queue_state(reviewer=request.user)}
    return render_page(request, "curation/review_lease.html", context)


def _take_again(request: PageRequest, pk: int) -> datetime | None:
    try:
        return claim(reviewer=request.user, reconstruction_id=_item(pk).pk).lease_expires_at
    except (LeaseTakenError, NotWaitingError):
        return None


@role_required(Role.ANNOTATOR, Role.RESEARCHER)
@part_of("review-item")
@require_POST
def review_skip(request: PageRequest, pk: int) -> HttpResponse:
    """Puts the item back and takes the next; it comes again, to this person, after all others."""
    item = _item(pk)
    form = ReviewForm(request.POST, item=item)
    kept = keep_input(request, item, form)
    if kept.refused(form):
        return _page_again(request, item, form, kept)
    if _take_again(request, pk):
        skip(reviewer=request.user, reconstruction_id=pk)
        messages.success(request, f"Skipped item {pk}.")
        if queue_state(reviewer=request.user).waiting == 1:
            messages.info(request, "This is the only item left for you.")
    else:
        messages.info(request, f"Item {pk} was not in your hands any more: there was nothing to skip.")
    return next_item(request)


@role_required(Role.ANNOTATOR, Role.RESEARCHER)
@part_of("review-item")
@require_POST
def review_flag(request: PageRequest, pk: int) -> HttpResponse:
    """Puts the item aside for a researcher, with the reason."""
    item, reason = _item(pk), request.POST.get("reason", "")
    form, problem = ReviewForm(request.POST, item=item), None
    kept = keep_input(request, item, form)
    if kept.refused(form):
        return _page_again(request, item, form, kept)
    try:
        _flag(request, pk, reason)
    except ReviewError as error:
        form.problems = error.messages
    except (LeaseTakenError, LeaseExpiredError, NotWaitingError) as error:
        problem = error
    else:
        messages.success(request, f"Flagged item {pk}. A researcher will look at it.")
        return next_item(request)
    return _page_again(request, item, form, kept, problem)


def _flag(request: PageRequest, pk: int, reason: str) -> None:
    """A lease that ran out unnoticed is taken again when nobody else has the item."""
    try:
        flag(reviewer=request.user, reconstruction_id=pk, reason=reason)
    except LeaseExpiredError:
        claim(reviewer=request.user, reconstruction_id=pk)
        flag(reviewer=request.user, reconstruction_id=pk, reason=reason)


@role_required(Role.ANNOTATOR, Role.RESEARCHER)
@part_of("review-item")
@require_POST
def review_undo(request: PageRequest, pk: int) -> HttpResponse:
    """Takes back what the button named: `undo` is its kind, `pk` its item. A page that has been left behind
    by another one of the same person names something else by now, and undoes nothing."""
    shown = (
        Reconstruction.objects.select_related("source_prompt")
        .filter(pk=_number(request.POST.get("item", "")))
        .first()
    )
    if shown:
        form = ReviewForm(request.POST, item=shown)
        kept = keep_input(request, shown, form)
        if kept.refused(form):
            return _page_again(request, shown, form, kept)
    last = last_action(reviewer=request.user)
    if last is None or (last.reconstruction_id, last.kind) != (pk, request.POST.get("undo")):
        now = f"Your last action is now: {named(last)}." if last else "There is nothing to undo."
        messages.error(request, f"Nothing was undone. {now}")
        return go_to_item(request, shown.pk) if shown else next_item(request)
    try:
        undone = undo(reviewer=request.user)
    except UndoError as error:
        messages.error(request, f"Nothing was undone. {error}")
        return go_to_item(request, shown.pk) if shown else next_item(request)
    messages.success(
        request, f"Undone: {named(undone)}. The item is yours again, with what you had filled in."
    )
    return go_to_item(request, pk)


@role_required(Role.ANNOTATOR, Role.RESEARCHER)
@require_safe
def my_work(request: PageRequest) -> HttpResponse:
    undone = Q(withdrawn_by=request.user)
    rows = Review.objects.filter(~undone, reviewer=request.user).select_related("reconstruction")
    filters = [equals("decision", "Decision", Review.Decision.choices)]
    context = {
        "rows": listing(request, rows.prefetch_related("verdicts"), filters=filters),
        "counts": selectors.review_counts(request.user),
        "progress": progress_of(request.user, zone_of(request)),
    }
    return render_page(request, "curation/my_work.html", context, parts=["rows"])


@role_required(Role.ANNOTATOR, Role.RESEARCHER)
@require_safe
def my_review(request: PageRequest, pk: int) -> HttpResponse:
    """One's own review with the texts as they were; nobody else's is ever found here."""
    rows = Review.objects.select_related("reconstruction__source_prompt").prefetch_related("verdicts")
    return render_page(
        request, "curation/my_review.html", {"review": get_object_or_404(rows, pk=pk, reviewer=request.user)}
    )


def _item(pk: int) -> Reconstruction:
    try:
        return item_with_source(pk)
    except Reconstruction.DoesNotExist:
        raise Http404(f"There is no item {pk}.") from None


def _number(text: str) -> int:
    """0, which is no row's, for what is not a number."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 18 else 0
