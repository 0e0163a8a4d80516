"""The review room. To open an item is to take it: its page holds a lease and renews it while it is open."""

from __future__ import annotations

from datetime import datetime

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from curation import selectors
from curation.forms import ReviewForm
from curation.models import Reconstruction, Review
from curation.review import (
    LeaseExpiredError,
    LeaseTakenError,
    NotWaitingError,
    ReviewError,
    claim,
    claim_next,
    decide,
    queue_state,
    release,
    renew_lease,
)
from llm.access import Role, role_required
from llm.listing import equals, listing
from llm.web import PageRequest, render_page

SKIPPED = "skipped"
"""Session key: the items that this person skipped, oldest first. They come again after all others."""


@role_required(Role.ANNOTATOR, Role.RESEARCHER)
@require_safe
def review(request: PageRequest) -> HttpResponse:
    """The way in: on to the item in hand or the next free one, or the state of an empty queue."""
    item = claim_next(reviewer=request.user, skipped=request.session.get(SKIPPED, []))
    if item:
        return redirect("review-item", pk=item.pk)
    context = {"queue": queue_state(reviewer=request.user), "counts": selectors.review_counts(request.user)}
    return render_page(request, "curation/review_empty.html", context, parts=["queue"])


@role_required(Role.ANNOTATOR, Role.RESEARCHER)
@require_http_methods(["GET", "HEAD", "POST"])
def review_item(request: PageRequest, pk: int) -> HttpResponse:
    item = get_object_or_404(Reconstruction.objects.select_related("source_prompt"), pk=pk)
    if request.method == "POST":
        return _submit(request, item)
    try:
        lease = claim(reviewer=request.user, reconstruction_id=pk)
    except LeaseTakenError as taken:
        context = {"item": item, "until": taken.until, "queue": queue_state(reviewer=request.user)}
        return render_page(request, "curation/review_taken.html", context, status=409)
    except NotWaitingError:
        own = Review.objects.filter(reconstruction=item, reviewer=request.user).first()
        return render_page(request, "curation/review_settled.html", {"item": item, "own": own})
    return _item_page(request, item, ReviewForm(), until=lease.expires_at)


def _submit(request: PageRequest, item: Reconstruction) -> HttpResponse:
    """Decides, and goes on to the next item; whatever is in the way, the page comes back with its input."""
    form, decision = ReviewForm(request.POST), request.POST.get("decision", "")
    if form.is_valid():
        try:
            made = _decide(request, item, form, decision)
        except ReviewError as error:
            form.problems = error.messages
        except LeaseTakenError as taken:
            form.problems["decision"] = (
                f"Another reviewer took this item over and holds it until {taken.until:%H:%M} UTC. "
                "Your input is still here; try again after that, or skip the item."
            )
        except NotWaitingError:
            form.problems["decision"] = (
                "Another reviewer has decided on this item meanwhile. Skip it to go on."
            )
        else:
            done = "Accepted" if made.decision == Review.Decision.ACCEPT else "Rejected"
            messages.success(request, f"{done} item {item.pk}.")
            return redirect("review")
    until = renew_lease(reviewer=request.user, reconstruction_id=item.pk)
    return _item_page(request, item, form, until=until, status=422)


def _decide(request: PageRequest, item: Reconstruction, form: ReviewForm, decision: str) -> Review:
    """A lease that ran out unnoticed is taken again when nobody else has the item."""
    verdicts = form.verdicts()
    try:
        return decide(reviewer=request.user, reconstruction_id=item.pk, decision=decision, verdicts=verdicts)
    except LeaseExpiredError:
        claim(reviewer=request.user, reconstruction_id=item.pk)
        return decide(reviewer=request.user, reconstruction_id=item.pk, decision=decision, verdicts=verdicts)


def _item_page(
    request: PageRequest, item: Reconstruction, form: ReviewForm, *, until: datetime | None, status: int = 200
) -> HttpResponse:
    context = {
        "item": item,
        "source": item.source_prompt,
        "form": form,
        "until": until,
        "queue": queue_state(reviewer=request.user),
    }
    return render_page(request, "curation/review_item.html", context, status=status)


@role_required(Role.ANNOTATOR, Role.RESEARCHER)
@require_POST
def review_lease(request: PageRequest, pk: int) -> HttpResponse:
    """The open page's heartbeat; without htmx, a button."""
    until = renew_lease(reviewer=request.user, reconstruction_id=pk)
    if not request.htmx:
        return redirect("review-item", pk=pk)
    context = {"item_id": pk, "until": until, "queue": queue_state(reviewer=request.user)}
    return render_page(request, "curation/review_lease.html", context)


@role_required(Role.ANNOTATOR, Role.RESEARCHER)
@require_POST
def review_skip(request: PageRequest, pk: int) -> HttpResponse:
    """Puts the item back and takes the next; it comes again, to this person, after all others."""
    release(reviewer=request.user, reconstruction_id=pk)
    skipped = [each for each in request.session.get(SKIPPED, []) if each != pk]
    request.session[SKIPPED] = [*skipped, pk][-1_000:]
    if queue_state(reviewer=request.user).waiting == 1:
        messages.info(request, "This is the only item left for you.")
    return redirect("review")


@role_required(Role.ANNOTATOR, Role.RESEARCHER)
@require_safe
def my_work(request: PageRequest) -> HttpResponse:
    rows = Review.objects.filter(reviewer=request.user).select_related("reconstruction")
    filters = [equals("decision", "Decision", Review.Decision.choices)]
    context = {
        "rows": listing(request, rows.prefetch_related("verdicts"), filters=filters),
        "counts": selectors.review_counts(request.user),
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
