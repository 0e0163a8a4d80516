"""The form that starts a run."""

from __future__ import annotations

from typing import Any

from django import forms

from config.judging_form import JudgingForm
from config.mining_form import MiningForm
from config.pipeline import STAGES
from curation.models import Source
from curation.services import LARGEST_SEED, MOST_PER_SOURCE
from llm.limits_form import LimitsForm
from llm.models import Endpoint


class StartForm(MiningForm, JudgingForm, LimitsForm):
    """Which stage, on which endpoint, how many at most, what a stage that plans is to plan, how one that
    mines is to mine, and how one that judges is to read.

    Asked for a preview (`preview` among its data) it needs the plan only.
    """

    stage = forms.ChoiceField(widget=forms.RadioSelect)
    endpoint = forms.ModelChoiceField(
        Endpoint.objects.all(),
        required=False,
        empty_label="none",
        help_text="The model that is asked. Stages that ask no model need none.",
    )
    limit = forms.IntegerField(
        required=False,
        min_value=1,
        help_text=(
            "At most so many; empty takes everything that waits. Reconstruct counts source prompts, in the "
            "order of import."
        ),
    )
    per_source = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=MOST_PER_SOURCE,
        initial=1,
        label="Reconstructions of each source prompt",
        help_text="What is there already counts: a plan is topped up, never doubled.",
    )
    source = forms.ModelChoiceField(
        Source.objects.order_by("name"), required=False, empty_label="all sources", label="Of which source"
    )
    seed = forms.IntegerField(
        required=False,
        min_value=0,
        max_value=LARGEST_SEED,
        initial=0,
        help_text="Decides which one is made by which strategy. The same seed gives the same plan.",
    )

    pilot_items = forms.IntegerField(
        required=False,
        min_value=1,
        label="Try so many items first",
        help_text="Then the run pauses, and its page says what the rest will cost.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["stage"].choices = [(stage.name, stage.label) for stage in STAGES.values()]  # type: ignore[attr-defined]
        self.previews = self.is_bound and "preview" in self.data
        self.fields["stage"].required = not self.previews

    def clean_per_source(self) -> int:
        return self.cleaned_data["per_source"] or 1

    def clean_seed(self) -> int:
        return self.cleaned_data["seed"] or 0

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        stage = STAGES.get(cleaned.get("stage", ""))
        if (
            stage
            and stage.needs_endpoint
            and cleaned.get("endpoint") is None
            and not self.previews
            and not self.errors.get("endpoint")
        ):
            self.add_error("endpoint", f"“{stage.label}” asks a model: choose an endpoint.")
        if stage and not stage.needs_endpoint:
            cleaned["endpoint"] = None
        return cleaned

    def plan(self) -> dict[str, Any]:
        """What a valid form says of how many to plan, for a preview."""
        return {name: self.cleaned_data[name] for name in ("per_source", "limit", "source")}
