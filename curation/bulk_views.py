"""Doing one thing with all that a list shows, or with its ticked rows, after a look at what it would do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.db.models import QuerySet
from django.http import Http404, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from curation import selectors
from curation.bulk import AT_ONCE, BulkInputError, Preview, SetChangedError, confirm_action, preview_action
from curation.bulk_actions import ACTIONS, Action, Needs
from curation.export_lineage import touched_by_items
from curation.models import Reconstruction, SourcePrompt
from llm.access import Role, role_required
from llm.listing import Narrowed, narrowed
from llm.models import Endpoint
from llm.web import PageRequest, render_page

TICKED = "item"
"""The name of the boxes beside the rows of a list."""

LISTS = {Reconstruction: "reconstructions", SourcePrompt: "source-prompts"}


@dataclass(frozen=True, slots=True)
class Asked:
    """The rows that an action is asked for: all that the filters show or, where rows were ticked, those.

    `ticked` are the keys as they were sent; None when there were none.
    """

    listed: Narrowed[Any]
    ticked: tuple[str, ...] | None

    @property
    def rows(self) -> QuerySet[Any]:
        if self.ticked is None:
            return self.listed.rows
        keys = [int(key) for key in self.ticked if key.isascii() and key.isdecimal() and len(key) < 18]
        return self.listed.rows.filter(pk__in=keys)

    @property
    def hidden(self) -> list[tuple[str, str]]:
        """The fields of a form that asks for the same."""
        filters = [(name, str(value)) for name, value in QueryDict(self.listed.parameters).items()]
        return [*filters, *((TICKED, key) for key in self.ticked or ())]


@role_required(Role.RESEARCHER)
@require_http_methods(["GET", "HEAD", "POST"])
def bulk(request: PageRequest, action: str) -> HttpResponse:
    """The preview, and its confirmation: a form that carries the same filters, or ticked rows, and the
    preview's token."""
    if action not in ACTIONS:
        raise Http404(f"There is no action {action!r}.")
    chosen = ACTIONS[action]
    given = request.POST if request.method == "POST" else request.GET
    asked = Asked(_narrowed(request, chosen), tuple(given.getlist(TICKED)) or None)
    if request.method == "POST":
        return _confirm(request, chosen, asked)
    return _page(request, asked, preview_action(name=action, rows=asked.rows))


def _narrowed(request: PageRequest, action: Action) -> Narrowed[Any]:
    if action.subject is Reconstruction:
        rows, filters = Reconstruction.objects.all(), selectors.reconstruction_filters()
        return narrowed(request, rows, filters=filters, search=selectors.TEXT_SEARCH)
    prompts, filters = SourcePrompt.objects.all(), selectors.source_prompt_filters()
    return narrowed(request, prompts, filters=filters, search=selectors.TEXT_SEARCH)


def _confirm(request: PageRequest, action: Action, asked: Asked) -> HttpResponse:
    name = request.POST.get("endpoint", "")
    try:
        done = confirm_action(
            name=action.name,
            rows=asked.rows,
            token=request.POST.get("token", ""),
            by=request.user,
            reason=request.POST.get("reason", ""),
            endpoint=Endpoint.objects.filter(pk=name).first()
            if name.isascii() and name.isdecimal()
            else None,
        )
    except SetChangedError as error:
        return _page(request, asked, error.preview, changed=True, status=409)
    except BulkInputError as error:
        preview = preview_action(name=action.name, rows=asked.rows)
        return _page(request, asked, preview, problems=error.messages, status=422)
    if done.run is not None:
        messages.success(request, f"{action.label}: a run works on {done.count:,} items.")
        return redirect("run", done.run.pk)
    noun = action.one if done.count == 1 else action.many
    messages.success(request, f"{action.label}: done for {done.count:,} {noun}.")
    return redirect(f"{reverse(LISTS[action.subject])}?{asked.listed.parameters}")


def _page(
    request: PageRequest,
    asked: Asked,
    preview: Preview,
    *,
    changed: bool = False,
    problems: Mapping[str, str] | None = None,
    status: int = 200,
) -> HttpResponse:
    action = preview.action
    rows = (
        selectors.reconstruction_rows()
        if action.subject is Reconstruction
        else selectors.source_prompt_rows()
    )
    lists_touched = action.name == "withdraw" and preview.count <= AT_ONCE
    context = {
        "action": action,
        "preview": preview,
        "asked": asked.listed,
        "ticked": asked.ticked is not None,
        "hidden": asked.hidden,
        "sample": rows.filter(pk__in=preview.sample).order_by("pk"),
        "list": LISTS[action.subject],
        "route": "reconstruction" if action.subject is Reconstruction else "source-prompt",
        "groups": touched_by_items(preview.taken) if lists_touched else [],
        "endpoints": Endpoint.objects.all() if Needs.ENDPOINT in action.needs else [],
        "needs_reason": Needs.REASON in action.needs,
        "needs_endpoint": Needs.ENDPOINT in action.needs,
        "changed": changed,
        "problems": problems or {},
        "reason": request.POST.get("reason", ""),
    }
    return render_page(request, "curation/bulk.html", context, status=status)
