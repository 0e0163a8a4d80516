"""What every view shares: the request as the middleware leaves it, and one template in two renderings."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django_htmx.middleware import HtmxDetails


class PageRequest(HttpRequest):
    """A request of a signed-in person, after all middleware."""

    user: User
    htmx: HtmxDetails


def render_page(
    request: PageRequest,
    template: str,
    context: Mapping[str, Any],
    *,
    parts: Collection[str] = (),
    status: int = 200,
) -> HttpResponse:
    """The whole page, or the one part of it that htmx asks for.

    A part is a `partialdef` of the template whose name is also the id of its element; htmx names the id in
    HX-Target. Anything not in `parts` gets the whole page.
    """
    wanted = request.htmx.target if request.htmx and not request.htmx.boosted else None
    name = f"{template}#{wanted}" if wanted in parts else template
    response = render(request, name, dict(context), status=status)
    response["Vary"] = "HX-Request, HX-Target"
    return response
