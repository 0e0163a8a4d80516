"""Exports of the curation room: asked for, followed, and downloaded."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.http import FileResponse, Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_http_methods, require_safe

from curation.export_services import ExportRequestError, download_of, finished_file, start_export
from curation.models import ExportFile, Reconstruction, Review
from curation.selectors import source_choices
from llm.access import Role, role_required
from llm.listing import distinct_values, listing
from llm.models import Run
from llm.web import PageRequest, render_page

ANY = ("", "any")
FORMATS = (("jsonl", "JSON lines, for programs"), ("csv", "CSV, for spreadsheets"))

FILTERS = ("source", "language", "state", "decision")
"""Those of the form's fields that narrow the rows."""


class ExportForm(forms.Form):
    """`state` narrows reconstructions, `decision` reviews; the service refuses them for other kinds."""

    kind = forms.ChoiceField(choices=ExportFile.Kind.choices, label="What")
    format = forms.ChoiceField(choices=FORMATS, label="As")
    source = forms.ChoiceField(required=False, label="Source")
    language = forms.ChoiceField(required=False, label="Language")
    state = forms.ChoiceField(
        choices=[ANY, *Reconstruction.State.choices], required=False, label="State (reconstructions)"
    )
    decision = forms.ChoiceField(
        choices=[ANY, *Review.Decision.choices], required=False, label="Decision (reviews)"
    )
    texts = forms.BooleanField(required=False, initial=True, label="With the texts")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        languages = [(code, code) for code in distinct_values(Reconstruction, "language")]
        self.fields["source"].choices = [ANY, *source_choices()]  # type: ignore[attr-defined]
        self.fields["language"].choices = [ANY, *languages]  # type: ignore[attr-defined]

    def asked(self) -> dict[str, Any]:
        """What the service takes."""
        given = self.cleaned_data
        return {
            "kind": given["kind"],
            "format": given["format"],
            "texts": given["texts"],
            "filters": {name: given[name] for name in FILTERS if given[name]},
        }


@role_required(Role.RESEARCHER)
@require_http_methods(["GET", "HEAD", "POST"])
def exports(request: PageRequest) -> HttpResponse:
    """The list, and the form that asks for another one."""
    form = ExportForm(request.POST if request.method == "POST" else None)
    if form.is_bound and form.is_valid():
        try:
            export = start_export(**form.asked(), user=request.user)
        except ExportRequestError as error:
            for name, message in error.messages.items():
                form.add_error(name if name in form.fields else None, message)
        else:
            messages.success(request, "The export is queued; a worker writes it.")
            return redirect("export", pk=export.pk)
    found = listing(request, ExportFile.objects.select_related("created_by", "run"))
    context = {"form": form, "rows": found, "live": any(map(_is_live, found))}
    return render_page(
        request, "curation/exports.html", context, parts=["rows"], status=422 if form.errors else 200
    )


@role_required(Role.RESEARCHER)
@require_safe
def export(request: PageRequest, pk: int) -> HttpResponse:
    row = get_object_or_404(ExportFile.objects.select_related("created_by", "run"), pk=pk)
    context = {"export": row, "live": _is_live(row), "there": finished_file(row) is not None}
    return render_page(request, "curation/export.html", context, parts=["live"])


@role_required(Role.RESEARCHER)
@require_safe
def export_file(request: PageRequest, pk: int) -> FileResponse:
    response = download_of(get_object_or_404(ExportFile, pk=pk))
    if response is None:
        raise Http404(f"export {pk} has no file on this machine")
    return response


def _is_live(row: ExportFile) -> bool:
    return (
        row.state == ExportFile.State.WAITING
        and row.run is not None
        and row.run.state in (Run.State.RUNNING, Run.State.PAUSED)
    )
