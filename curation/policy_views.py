"""The curation room's settings on a page."""

from __future__ import annotations

from typing import Any, ClassVar

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods

from curation.history import history_shown
from curation.models import CurationPolicy
from curation.policy import SETTINGS, change_policy
from curation.repetition import problems_of_limits, usual_limits
from curation.tokenizer import TokenizerError, load_encoder
from llm.access import Role, role_required
from llm.web import PageRequest, render_page

EFFECTS = {
    "second_review_share": "For items that come into the queue from now on; those in it keep what they have.",
    "second_review_seed": "With the next items that come into the queue.",
    "lease_minutes": "With the next claim or renewal of a lease.",
    "fastest_characters_per_second": "At once, on the quality page; no review is changed by it.",
    "tokenizer": "With the next filter run; what was screened before names the tokenizer of its time.",
    "minimum_shared_trigrams": "With the next filter run; what was decided before stays.",
    "repetition_limits": "With the next filter run; what was decided before stays.",
}
"""When a change of each setting takes effect."""


class PolicyForm(forms.ModelForm):  # type: ignore[type-arg]
    reason = forms.CharField(
        required=False, max_length=1_000, label="Why", help_text="Stays in the history, if you give one"
    )

    class Meta:
        model = CurationPolicy
        fields = SETTINGS
        labels: ClassVar = {
            "second_review_share": "Share with a second review",
            "second_review_seed": "Seed of the second reviews",
            "lease_minutes": "Minutes of a lease",
            "fastest_characters_per_second": "Fastest reading, characters a second",
            "minimum_shared_trigrams": "Fewest shared trigrams that discard",
            "repetition_limits": "Limits of the repetition filter",
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["second_review_share"].widget.attrs |= {"step": "any", "min": "0", "max": "1"}
        self.fields["repetition_limits"].widget.attrs["rows"] = 3
        for name, effect in EFFECTS.items():
            self.fields[name].help_text = f"{self.fields[name].help_text}. Takes effect: {_lower(effect)}"

    def clean_tokenizer(self) -> str:
        name: str = self.cleaned_data["tokenizer"].strip()
        try:
            load_encoder(name)
        except TokenizerError as error:
            raise forms.ValidationError(str(error)) from None
        return name

    def clean_repetition_limits(self) -> dict[str, Any]:
        limits = self.cleaned_data["repetition_limits"] or {}
        if not isinstance(limits, dict):
            raise forms.ValidationError(
                'Give an object of limits by name, e.g. {"runs": 12}, or {} for none.'
            )
        if problems := problems_of_limits(limits):
            raise forms.ValidationError(problems)
        return limits


@role_required(Role.RESEARCHER)
@require_http_methods(["GET", "HEAD", "POST"])
def policy(request: PageRequest) -> HttpResponse:
    current = CurationPolicy.current()
    form = PolicyForm(request.POST or None, instance=CurationPolicy.current())
    if request.method == "POST" and form.is_valid():
        values = {name: form.cleaned_data[name] for name in SETTINGS}
        if change_policy(by=request.user, values=values, reason=form.cleaned_data["reason"]):
            messages.success(request, "The settings are saved.")
        else:
            messages.info(request, "Nothing was different from before.")
        return redirect("policy")
    context = {
        "form": form,
        "policy": current,
        "defaults": usual_limits(),
        "history": history_shown(CurationPolicy(pk=1), request.user),
    }
    return render_page(request, "curation/policy.html", context, status=422 if form.errors else 200)


def _lower(sentence: str) -> str:
    return sentence[0].lower() + sentence[1:]
