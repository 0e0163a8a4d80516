"""Recipes: beside the paper's table, and as the engines read them."""

from __future__ import annotations

from django.http import Http404, HttpResponse
from django.views.decorators.http import require_safe

from llm.access import Role, role_required
from llm.web import PageRequest, render_page
from training.recipes.catalogue import RECIPES, with_changes
from training.recipes.comparison import Standing, compared
from training.recipes.rendering import Places, render

SHOWN_PLACES = Places(model="MODEL", data="SNAPSHOT", output="OUTPUT", plugin="PLUGIN")
"""Stand-ins for what only the machine that trains knows."""


@role_required(Role.RESEARCHER)
@require_safe
def recipes(request: PageRequest) -> HttpResponse:
    rows = [
        (recipe, sum(row.standing is Standing.DIFFERS for row in compared(recipe)))
        for recipe in RECIPES.values()
    ]
    return render_page(request, "training/recipes.html", {"rows": rows})


@role_required(Role.RESEARCHER)
@require_safe
def recipe(request: PageRequest, name: str) -> HttpResponse:
    if name not in RECIPES:
        raise Http404(f"no recipe {name}")
    base, problem, status = RECIPES[name], "", 200
    given = {key: str(text) for key, text in request.GET.items()}
    changes = {key: text for key, text in given.items() if text != _text(getattr(base, key, None))}
    shown = base
    try:
        shown = with_changes(base, changes)
    except ValueError as error:
        problem, status = str(error), 422
    launch = render(shown, SHOWN_PLACES)
    context = {
        "recipe": shown,
        "rows": [(row, given.get(row.name, _text(row.value)), _text(row.usual)) for row in compared(shown)],
        "launch": launch,
        "command": " ".join(launch.arguments),
        "environment": " ".join(f"{key}={value}" for key, value in launch.environment.items()),
        "changes": changes,
        "problem": problem,
    }
    return render_page(request, "training/recipe.html", context, status=status)


def _text(value: object) -> str:
    return "" if value is None else str(value)
