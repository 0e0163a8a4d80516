"""The editor: a rubric changed by a person, or written from nothing, and rubrics as files."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_http_methods

from curation.models import CorpusPrompt
from llm.access import Role, role_required
from llm.web import PageRequest, render_page
from rubrics.checklists import LARGEST, read_checklist
from rubrics.comparison import compare, marked
from rubrics.editing import (
    MOST_DIMENSIONS,
    MOST_LEVELS,
    Draft,
    DraftDimension,
    OperationError,
    apply,
    draft_from_json,
    draft_of,
    fits,
    problems,
    rubric_of,
    with_texts_of,
)
from rubrics.forms import EditorForm, form_sent, operation_sent
from rubrics.models import Rubric
from rubrics.rubric import InvalidRubricError
from rubrics.rubric import Rubric as RubricValue
from rubrics.versions import MissingNoteError, NewerVersionError, newest_of, save_version, write_rubric

DONE = {
    "merge": "The two dimensions are one now. Make one text of what each of them said.",
    "split": "The dimension stands there twice. Say in each what only it covers.",
    "remove": "The dimension is removed.",
    "level-remove": "The level is removed; those above it have moved down.",
    "import": "The imported rubric stands below. Nothing is saved yet.",
}
"""What an operation leaves to say; others show for themselves."""

TOO_LARGE = f"the editor has room for {MOST_DIMENSIONS} dimensions of {MOST_LEVELS} levels each"

FROM_NOTHING = Draft((DraftDimension(),) * 3)


@role_required(Role.RESEARCHER)
@require_http_methods(["GET", "HEAD", "POST"])
def rubric_edit(request: PageRequest, pk: int) -> HttpResponse:
    """A new version of a rubric; the row itself stays as it is."""
    parent = get_object_or_404(Rubric.objects.select_related("prompt", "created_by"), pk=pk)
    value = RubricValue.from_json(parent.dimensions)
    if not fits(draft_of(value)):
        messages.error(request, f"Rubric {pk} cannot be edited here: {TOO_LARGE}.")
        return redirect("rubric", pk=pk)
    if request.method != "POST":
        form = EditorForm(draft_of(value), newest=newest_of(parent).pk)
        return _editor(request, form, parent.prompt, parent)
    form, operation = form_sent(request.POST), operation_sent(request.POST)
    if operation != "save":
        return _editor(request, _worked_on(request, form, operation), parent.prompt, parent)
    if found := problems(form.draft):
        return _editor(request, replace(form, problems=found), parent.prompt, parent)
    mine = rubric_of(with_texts_of(form.draft, value))
    try:
        saved = save_version(parent=parent, value=mine, note=form.note, user=request.user, seen=form.newest)
    except MissingNoteError:
        form = replace(form, problems={"note": "Say why: the reason stays with the version."})
        return _editor(request, form, parent.prompt, parent)
    except NewerVersionError as error:
        form = replace(form, newest=error.newest.pk)
        return _editor(request, form, parent.prompt, parent, newer=error.newest, mine=mine)
    if not saved.changed:
        same = f"This is word for word version {saved.rubric.version}, the newest one. Nothing was saved."
        return _editor(request, replace(form, problems={"": same}), parent.prompt, parent)
    messages.success(
        request, f"Version {saved.rubric.version} is saved; the versions before it are unchanged."
    )
    return redirect("rubric", pk=saved.rubric.pk)


@role_required(Role.RESEARCHER)
@require_http_methods(["GET", "HEAD", "POST"])
def rubric_new(request: PageRequest, pk: int) -> HttpResponse:
    """A rubric that a person writes for a corpus prompt."""
    prompt = get_object_or_404(CorpusPrompt, pk=pk)
    if request.method != "POST":
        return _editor(request, EditorForm(FROM_NOTHING, focus=(0, "name")), prompt)
    form, operation = form_sent(request.POST), operation_sent(request.POST)
    if operation != "save":
        return _editor(request, _worked_on(request, form, operation), prompt)
    if found := problems(form.draft):
        return _editor(request, replace(form, problems=found), prompt)
    saved = write_rubric(prompt=prompt, value=rubric_of(form.draft), note=form.note, user=request.user)
    messages.success(request, f"Rubric {saved.rubric.pk} is saved.")
    return redirect("rubric", pk=saved.rubric.pk)


def _worked_on(request: PageRequest, form: EditorForm, operation: str) -> EditorForm:
    """The form after one of its buttons other than Save; '' is Enter in a field and changes nothing."""
    if not operation:
        return form
    if operation == "import":
        return _imported(request, form)
    try:
        if operation == "undo":
            return replace(form, draft=draft_from_json(request.POST.get("before", "")))
        edited = apply(form.draft, operation)
    except OperationError:
        return replace(form, problems={"": "That could not be done here; nothing is changed."})
    done = DONE.get(operation.partition(":")[0], "")
    return replace(
        form,
        draft=edited.draft,
        focus=(edited.place, edited.control),
        before=form.draft if done else None,
        done=done,
    )


def _imported(request: PageRequest, form: EditorForm) -> EditorForm:
    """The rubric of a file or of what was pasted in place of the draft, or what is wrong with it."""
    given, pasted = request.FILES.get("file"), request.POST.get("pasted", "")
    try:
        if given is not None and (given.size or 0) > LARGEST:
            raise InvalidRubricError(f"{given.size or 0:,} bytes; at most {LARGEST:,} are read")
        value = read_checklist(given.read() if given is not None else pasted)
        if not fits(draft_of(value)):
            raise InvalidRubricError(TOO_LARGE)
    except InvalidRubricError as error:
        return replace(form, problems={"import": f"Not imported: {error}."}, pasted=pasted)
    return replace(form, draft=draft_of(value), before=form.draft, done=DONE["import"])


def _editor(
    request: PageRequest,
    form: EditorForm,
    prompt: CorpusPrompt,
    of: Rubric | None = None,
    *,
    newer: Rubric | None = None,
    mine: RubricValue | None = None,
) -> HttpResponse:
    context: dict[str, Any] = {"form": form, "prompt": prompt, "of": of, "newer": newer}
    if of and not newer and (newest := newest_of(of)) != of:
        context["superseded"] = newest
    if newer and mine:
        context["newer_name"] = f"Version {newer.version}"
        context["pairs"] = marked(compare(RubricValue.from_json(newer.dimensions), mine))
    status = 409 if newer else 422 if form.problems else 200
    return render_page(request, "rubrics/editor.html", context, parts=["editor"], status=status)
