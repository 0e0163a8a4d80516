"""The audit trail as a page of recent changes."""

from __future__ import annotations

from django.http import HttpResponse
from django.views.decorators.http import require_safe

from curation.history import history_filters, recent_changes, shown_to
from llm.access import Role, role_required
from llm.listing import NumberFilter, listing
from llm.web import PageRequest, render_page

OBJECT = NumberFilter("object", "Number of the object", lambda rows, value: rows.filter(subject_id=value))


@role_required(Role.RESEARCHER)
@require_safe
def history(request: PageRequest) -> HttpResponse:
    found = listing(request, recent_changes(), filters=(*history_filters(), OBJECT))
    context = {"rows": found, "history": shown_to(request.user, found)}
    return render_page(request, "curation/history.html", context, parts=["rows"])
