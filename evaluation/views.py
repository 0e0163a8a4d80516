"""The expert's room."""

from __future__ import annotations

from django.http import HttpResponse
from django.views.decorators.http import require_safe

from llm.access import Role, role_required
from llm.web import PageRequest, render_page


@role_required(Role.EXPERT, Role.RESEARCHER)
@require_safe
def my_study(request: PageRequest) -> HttpResponse:
    """There are no studies yet, and the page says so."""
    return render_page(request, "evaluation/my_study.html", {})
