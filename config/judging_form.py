"""The part of the form that starts a run which says how a judge reads."""

from __future__ import annotations

from django import forms

from rubrics.models import Assessment
from training.services import MOST_SAMPLES

POLICY_LABELS = {
    Assessment.Policy.PAPER: "paper: B.5 as it is, with its fallback of 0.4",
    Assessment.Policy.CHECKED: "checked: a reply that strays from the rubric's names or maxima has no value",
}


class JudgingForm(forms.Form):
    """The policy and the number of readings; empty ones are the paper's policy and one reading."""

    policy = forms.ChoiceField(
        choices=[(str(policy), label) for policy, label in POLICY_LABELS.items()],
        required=False,
        initial=str(Assessment.Policy.PAPER),
        label="What counts as a reading",
    )
    samples = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=MOST_SAMPLES,
        initial=1,
        label="Readings of each response",
        help_text="What the endpoint has read already counts. Another endpoint adds its own readings.",
    )

    def clean_policy(self) -> str:
        return self.cleaned_data["policy"] or str(Assessment.Policy.PAPER)

    def clean_samples(self) -> int:
        return self.cleaned_data["samples"] or 1
