"""Rubrics as downloads: one in its canonical form, and a narrowed list in WritingBench's shape."""

from __future__ import annotations

from collections.abc import Iterator

from django.db.models import QuerySet
from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_safe

from llm.access import Role, role_required
from llm.listing import narrowed
from llm.web import PageRequest
from rubrics import selectors
from rubrics.checklists import checklist_line, in_canonical_order
from rubrics.models import Rubric
from rubrics.rubric import Rubric as RubricValue

READ_AT_ONCE = 200


@role_required(Role.RESEARCHER)
@require_safe
def rubric_file(request: PageRequest, pk: int) -> HttpResponse:
    row = get_object_or_404(Rubric, pk=pk)
    text = RubricValue.from_json(row.dimensions).serialize()
    return HttpResponse(
        f"{text}\n",
        content_type="application/json; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="rubric-{row.pk}.json"'},
    )


@role_required(Role.RESEARCHER)
@require_safe
def rubric_export(request: PageRequest) -> StreamingHttpResponse:
    """The rubrics that the list shows under the same filters, a line each, read from the database as they
    are sent."""
    asked = narrowed(
        request,
        Rubric.objects.select_related("prompt").order_by("pk"),
        filters=selectors.rubric_filters(),
        search=selectors.REQUEST_SEARCH,
    )
    return StreamingHttpResponse(
        _lines(asked.rows),
        content_type="application/jsonl; charset=utf-8",
        headers={"Content-Disposition": 'attachment; filename="rubrics.jsonl"'},
    )


def _lines(rows: QuerySet[Rubric]) -> Iterator[str]:
    for row in rows.iterator(READ_AT_ONCE):
        yield checklist_line(
            index=row.pk,
            query=row.prompt.text,
            checklist=list(map(in_canonical_order, row.dimensions)),
            provenance={
                "prompt": row.prompt_id,
                "method": row.method,
                "constructor": row.constructor,
                "templates": row.templates,
                "version": row.version,
                "sha256": row.digest,
                "findings": [finding["check"] for finding in row.lint] if row.lint_version else None,
            },
        )
