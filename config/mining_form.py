"""The part of the form that starts a run which says what rubrics are made or read."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from django import forms

from rubrics.construction import PAPER_BOUNDS, AcceptanceBounds
from rubrics.models import Rubric
from rubrics.steps import CONSTRUCTORS

METHOD_LABELS = {
    Rubric.Method.IRG: "IRG: discovery, consolidation, one scoring call for each dimension",
    Rubric.Method.DRG: "DRG: one call, the baseline",
    Rubric.Method.RUBRICGEN: "RubricGen: one call to a generator trained on mined rubrics",
    Rubric.Method.HUMAN: "Human: written by people",
}
BOUND_LABELS = {
    "min_discovered": "Candidates from discovery, at least",
    "min_consolidated": "Dimensions after consolidation, at least",
    "max_consolidated": "Dimensions kept, at most",
    "min_intervals": "Score intervals of a dimension, at least",
    "min_dimensions": "Scored dimensions of a rubric, at least",
}


class MiningForm(forms.Form):
    """The method and the acceptance bounds, `bounds` in cleaned data; an empty one is the paper's (A.4)."""

    method = forms.ChoiceField(
        choices=[(str(method), label) for method, label in METHOD_LABELS.items()],
        required=False,
        initial=str(Rubric.Method.IRG),
        label="Rubrics by which method",
        help_text="A prompt has one rubric for each method and model, so several stand side by side.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, value in PAPER_BOUNDS.to_json().items():
            self.fields[name] = forms.IntegerField(
                required=False, min_value=1, initial=value, label=BOUND_LABELS[name]
            )

    def bound_fields(self) -> list[forms.BoundField]:
        """The fields of the acceptance bounds, in the order of the stages."""
        return [self[bound.name] for bound in fields(AcceptanceBounds)]

    def bounds_have_errors(self) -> bool:
        return any(field.errors for field in self.bound_fields())

    def clean_method(self) -> str:
        return self.cleaned_data["method"] or str(Rubric.Method.IRG)

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        if cleaned.get("stage") == "mine" and cleaned.get("method") not in (None, *CONSTRUCTORS):
            self.add_error("method", "A run cannot make rubrics by people: choose another method.")
        given = {name: cleaned.pop(name, None) or value for name, value in PAPER_BOUNDS.to_json().items()}
        try:
            cleaned["bounds"] = AcceptanceBounds(**given)
        except ValueError as error:
            message = f"No rubric could meet these bounds: {error}."
            for name, label in BOUND_LABELS.items():
                message = message.replace(name, f"“{label}”")
            self.add_error("min_dimensions", message)
        return cleaned
