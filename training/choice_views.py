"""The candidates of a rubric side by side, and a person's choice among them."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_POST, require_safe

from curation.history import history_shown
from llm.access import Role, role_required
from llm.web import PageRequest, render_page
from rubrics.models import Rubric
from training.choice_page import choice_page
from training.choosing import ChoiceError, choose_by_hand, take_choice_back
from training.models import Candidate


@role_required(Role.RESEARCHER)
@require_safe
def choice(request: PageRequest, pk: int) -> HttpResponse:
    return _page(request, get_object_or_404(Rubric.objects.select_related("prompt"), pk=pk))


@role_required(Role.RESEARCHER)
@require_POST
def candidate_choose(request: PageRequest, pk: int) -> HttpResponse:
    """Makes this candidate the demonstration; without a reason the page comes back and says so."""
    row = get_object_or_404(Candidate.objects.select_related("rubric__prompt"), pk=pk)
    reason = request.POST.get("reason", "").replace("\x00", "")
    try:
        choose_by_hand(candidate_id=pk, user=request.user, reason=reason)
    except ChoiceError as error:
        return _page(request, row.rubric, problem=str(error), at=pk, typed=reason, status=422)
    messages.success(request, f"Candidate {row.index} is the demonstration now, by your choice.")
    return redirect("choice", pk=row.rubric_id)


@role_required(Role.RESEARCHER)
@require_POST
def choice_undo(request: PageRequest, pk: int) -> HttpResponse:
    """Takes a person's choice back; selection's own stands again."""
    row = get_object_or_404(Rubric, pk=pk)
    selection = take_choice_back(rubric_id=row.pk, user=request.user)
    if selection is None:
        messages.info(request, "Nobody has chosen by hand here; nothing is changed.")
    else:
        messages.success(request, f"The choice by hand is taken back. {selection.reason}")
    return redirect("choice", pk=pk)


def _page(
    request: PageRequest,
    rubric: Rubric,
    *,
    problem: str = "",
    at: int | None = None,
    typed: str = "",
    status: int = 200,
) -> HttpResponse:
    context = {
        "rubric": rubric,
        "prompt": rubric.prompt,
        "page": choice_page(rubric),
        "history": history_shown(rubric, request.user),
        "problem": problem,
        "at": at,
        "typed": typed,
    }
    return render_page(request, "training/choice.html", context, status=status)
