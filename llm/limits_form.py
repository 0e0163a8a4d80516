"""What a run may cost before it pauses."""

from __future__ import annotations

from django import forms

LARGEST = 10**15


class LimitsForm(forms.Form):
    """Both empty: no limit."""

    max_calls = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=LARGEST,
        label="Calls, at most",
        help_text="Then the run pauses.",
    )
    max_tokens = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=LARGEST,
        label="Tokens, at most",
        help_text="Read and written together.",
    )
