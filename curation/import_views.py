"""Imports: the list, the upload, the choice of fields, and what became of it."""

from __future__ import annotations

import json
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from curation.import_formats import FORMAT_NAMES, FileFormat, Preview, preview_file
from curation.import_forms import FieldsForm, UploadForm
from curation.import_progress import import_progress
from curation.models import ImportFile, Source
from curation.rows import ImportFormatError
from curation.services import (
    ImportOptions,
    ImportStateError,
    begin_import,
    discard_import,
    import_options,
    receive_import,
    stored_path,
)
from llm.access import Role, role_required
from llm.listing import equals, listing
from llm.web import PageRequest, render_page

SHOWN_VALUE = 400


@role_required(Role.RESEARCHER)
@require_safe
def imports(request: PageRequest) -> HttpResponse:
    rows = ImportFile.objects.select_related("run", "created_by")
    found = listing(request, rows, filters=[equals("state", "State", ImportFile.State.choices)])
    return render_page(request, "curation/imports.html", {"rows": found}, parts=["rows"])


@role_required(Role.RESEARCHER)
@require_http_methods(["GET", "HEAD", "POST"])
def import_new(request: PageRequest) -> HttpResponse:
    form = UploadForm(request.POST, request.FILES) if request.method == "POST" else UploadForm()
    if request.method == "POST" and form.is_valid():
        upload = form.cleaned_data["file"]
        try:
            received = receive_import(
                chunks=upload.chunks(),
                file_name=upload.name,
                name=form.cleaned_data["name"],
                kind=form.cleaned_data["kind"],
                user=request.user,
            )
        except ImportFormatError as error:
            form.add_error("file", str(error))
        else:
            return redirect("import", pk=received.pk)
    return render_page(
        request, "curation/import_form.html", {"form": form}, status=422 if form.errors else 200
    )


@role_required(Role.RESEARCHER)
@require_safe
def import_page(request: PageRequest, pk: int) -> HttpResponse:
    row = _import(pk)
    if row.state == ImportFile.State.DRAFT:
        return _draft_page(request, row)
    progress = import_progress(row)
    context = {
        "import": row,
        "format_name": FORMAT_NAMES[FileFormat(row.format)],
        "progress": progress,
        "live": progress.live,
        "options": import_options(row) if row.kind == ImportFile.Kind.PROMPTS else None,
        "source": Source.objects.filter(name=row.name).first() if row.kind == "prompts" else None,
        "reports": [
            (title, row.report.get(count, 0), row.report.get(f"{lines}_lines", []))
            for title, count, lines in (
                ("Refused", "refused", "refused"),
                ("Duplicates", "duplicates", "duplicate"),
                ("Near duplicates", "near", "near"),
                ("Taken, with a note", "noted", "noted"),
            )
        ],
    }
    return render_page(request, "curation/import.html", context, parts=["live"])


@role_required(Role.RESEARCHER)
@require_POST
def import_start(request: PageRequest, pk: int) -> HttpResponse:
    """Queues a draft with its fields, or once more an import that failed."""
    row = _import(pk)
    options: ImportOptions | None = None
    if row.state == ImportFile.State.DRAFT and row.kind == ImportFile.Kind.PROMPTS:
        try:
            preview = preview_file(stored_path(row), FileFormat(row.format), row.file_name)
        except (ImportFormatError, OSError):
            return _draft_page(request, row, status=422)
        form = FieldsForm(preview, request.POST)
        if not form.is_valid():
            return _draft_page(request, row, form, status=422)
        options = form.options()
    try:
        begin_import(import_file=row, options=options, user=request.user)
    except ImportStateError as error:
        messages.warning(request, str(error))
    else:
        messages.success(request, f"The import of {row.file_name} is queued; a worker does it.")
    return redirect("import", pk=pk)


@role_required(Role.RESEARCHER)
@require_POST
def import_discard(request: PageRequest, pk: int) -> HttpResponse:
    row = _import(pk)
    try:
        discard_import(import_file=row)
    except ImportStateError as error:
        messages.warning(request, str(error))
        return redirect("import", pk=pk)
    messages.success(request, f"{row.file_name} was not imported, and its file is deleted.")
    return redirect("imports")


def _import(pk: int) -> ImportFile:
    return get_object_or_404(ImportFile.objects.select_related("run", "created_by"), pk=pk)


def _draft_page(
    request: PageRequest, row: ImportFile, form: FieldsForm | None = None, status: int = 200
) -> HttpResponse:
    context: dict[str, Any] = {"import": row, "format_name": FORMAT_NAMES[FileFormat(row.format)]}
    if row.kind == ImportFile.Kind.PROMPTS:
        try:
            preview = preview_file(stored_path(row), FileFormat(row.format), row.file_name)
        except (ImportFormatError, OSError) as error:
            context["problem"] = str(error)
        else:
            options = import_options(row)
            chosen = options.text_field or preview.guess.text
            context |= {
                "preview": preview,
                "cells": _cells(preview),
                "likely": chosen,
                "form": form or FieldsForm(preview, initial=options.as_json()),
            }
    return render_page(request, "curation/import_fields.html", context, status=status)


def _cells(preview: Preview) -> list[tuple[int, list[tuple[str, str]]]]:
    """By row: its number, and each column with what is in it, as text."""
    return [
        (row.number, [(name, _shown(row.values.get(name))) for name in preview.columns])
        for row in preview.rows
    ]


def _shown(value: object) -> str:
    if value is None:
        return ""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text[:SHOWN_VALUE].replace("\0", "").encode("utf-8", "replace").decode()
