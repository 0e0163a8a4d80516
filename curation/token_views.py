"""One's own tokens: made, shown once, and revoked."""

from __future__ import annotations

from django import forms
from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from curation.api.models import ApiToken
from curation.api.tokens import make_token, revoke_token
from llm.access import Role, role_required
from llm.web import PageRequest, render_page


class TokenForm(forms.Form):
    name = forms.CharField(
        max_length=80,
        label="What is it for?",
        help_text="So that you know later which one to revoke, e.g. 'weekly export'.",
    )
    days = forms.TypedChoiceField(
        choices=[(7, "7 days"), (30, "30 days"), (90, "90 days"), (365, "a year")],
        coerce=int,
        initial=90,
        label="Ends after",
    )


@role_required(*Role)
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def my_tokens(request: PageRequest) -> HttpResponse:
    """The answer to a POST is the only one that ever holds the token's text."""
    form = TokenForm(request.POST if request.method == "POST" else None)
    made, text = None, ""
    if form.is_bound and form.is_valid():
        made, text = make_token(user=request.user, **form.cleaned_data)
        form = TokenForm()
    context = {
        "form": form,
        "made": made,
        "text": text,
        "tokens": ApiToken.objects.filter(user=request.user),
        "now": timezone.now(),
    }
    return render_page(request, "curation/tokens.html", context, status=422 if form.errors else 200)


@role_required(*Role)
@require_POST
def token_revoke(request: PageRequest, pk: int) -> HttpResponse:
    try:
        revoke_token(token_id=pk, user=request.user)
    except ApiToken.DoesNotExist:
        raise Http404(f"you have no token {pk}") from None
    messages.success(request, "The token is revoked: nothing can be done with it any more.")
    return redirect("my-tokens")
