"""How well the reviewers work, for researchers."""

from __future__ import annotations

from django.http import HttpResponse
from django.views.decorators.http import require_safe

from curation.models import CheckVerdict
from curation.quality import agreement, pace
from llm.access import Role, role_required
from llm.web import PageRequest, render_page


@role_required(Role.RESEARCHER)
@require_safe
def quality(request: PageRequest) -> HttpResponse:
    context = {"agreement": agreement(), "pace": pace(), "checks": CheckVerdict.Check.choices}
    return render_page(request, "curation/quality.html", context)
