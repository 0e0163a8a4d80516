"""The form that starts a run."""

from __future__ import annotations

from typing import Any

from django import forms

from config.pipeline import STAGES
from llm.models import Endpoint


class StartForm(forms.Form):
    """Which stage, on which endpoint, and how many at most."""

    stage = forms.ChoiceField(widget=forms.RadioSelect)
    endpoint = forms.ModelChoiceField(
        Endpoint.objects.all(),
        required=False,
        empty_label="none",
        help_text="The model that is asked. Stages that ask no model need none.",
    )
    limit = forms.IntegerField(
        required=False, min_value=1, help_text="At most so many; empty takes everything that waits."
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["stage"].choices = [(stage.name, stage.label) for stage in STAGES.values()]  # type: ignore[attr-defined]

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        stage = STAGES.get(cleaned.get("stage", ""))
        if (
            stage
            and stage.needs_endpoint
            and cleaned.get("endpoint") is None
            and not self.errors.get("endpoint")
        ):
            self.add_error("endpoint", f"“{stage.label}” asks a model: choose an endpoint.")
        if stage and not stage.needs_endpoint:
            cleaned["endpoint"] = None
        return cleaned
