"""Asking people to sign in without losing what they have before them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from django.contrib.auth.middleware import LoginRequiredMiddleware
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponseBase, JsonResponse
from django.shortcuts import resolve_url
from django.urls import reverse

from llm.access import View

SAFE = ("GET", "HEAD", "OPTIONS")


def part_of(page: str) -> Callable[[View], View]:
    """Marks a view that has no page of its own: after signing in, one goes on at `page`, a route that takes
    the same arguments."""

    def decorate(view: View) -> View:
        view.page = page  # type: ignore[attr-defined]
        return view

    return decorate


class SignInMiddleware(LoginRequiredMiddleware):
    """A request of a page's script is answered 401, because it would put the sign-in page wherever its answer
    goes. All others are sent to sign in, and from there to a page."""

    def handle_no_permission(  # type: ignore[override]
        self, request: HttpRequest, view_func: Any
    ) -> HttpResponseBase:
        sign_in = self.get_login_url(view_func)
        if "HX-Request" in request.headers or not request.accepts("text/html"):
            answer = {"message": "You are signed out.", "sign_in": resolve_url(sign_in)}
            return JsonResponse(answer, status=401)
        return redirect_to_login(
            _way_back(request, view_func), sign_in, self.get_redirect_field_name(view_func)
        )


def _way_back(request: HttpRequest, view: Any) -> str:
    """The page that the request is for, or comes from. What was to be stored is not done afterwards."""
    if page := getattr(view, "page", None):
        match = request.resolver_match
        return reverse(page, kwargs=match.kwargs if match else None)
    if request.method in SAFE:
        return request.get_full_path()
    came_from = urlsplit(request.headers.get("Referer", ""))
    return came_from.path if came_from.netloc == request.get_host() else reverse("home")
