"""A reviewer's own keys."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods

from curation.review_keys import ACTIONS, keys_of, store_keys, usual_keys
from llm.access import Role, role_required
from llm.web import PageRequest, render_page


@role_required(Role.ANNOTATOR, Role.RESEARCHER)
@require_http_methods(["GET", "HEAD", "POST"])
def my_keys(request: PageRequest) -> HttpResponse:
    keys, problems = keys_of(request.user), dict[str, str]()
    if request.method == "POST":
        chosen = {action: request.POST.get(action, "").strip() for action in ACTIONS}
        keys = usual_keys() if "reset" in request.POST else chosen
        problems = store_keys(reviewer=request.user, keys=keys)
        if not problems:
            messages.success(request, "Your keys are stored.")
            return redirect("my-keys")
    rows = [
        {
            "action": action,
            "what": what,
            "usual": usual,
            "key": keys[action],
            "problem": problems.get(action, ""),
        }
        for action, (usual, what) in ACTIONS.items()
    ]
    context = {"rows": rows, "problems": problems}
    return render_page(request, "curation/my_keys.html", context, status=422 if problems else 200)
