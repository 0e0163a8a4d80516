"""The form that asks for a corpus snapshot."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from django import forms

from llm import sql
from rubrics.models import Rubric
from training.models import CorpusSnapshot
from training.rubric_choice import DEFAULT_METHOD, RubricChoice

PAPER_SFT_SHARE = Fraction(15, 19)
"""15K of the paper's 19K prompts go to SFT, the rest to RL (A.1)."""


class SnapshotForm(forms.Form):
    name = forms.CharField(
        max_length=120, help_text="One that is not taken; it names the files' folder for people."
    )
    seed = forms.IntegerField(
        initial=0,
        min_value=0,
        max_value=2**31 - 1,
        help_text="The same seed splits the same prompts in the same way.",
    )
    sft_share = forms.CharField(
        max_length=20,
        label="SFT share",
        initial=f"{PAPER_SFT_SHARE.numerator}/{PAPER_SFT_SHARE.denominator}",
        help_text="The prompts' share for SFT, as a fraction or a decimal; the rest is RL. The paper: 15/19.",
    )

    method = forms.ChoiceField(
        choices=Rubric.Method.choices,
        required=False,
        initial=DEFAULT_METHOD,
        label="Rubrics made by",
        help_text="A prompt may have several rubrics; those of one method are exported.",
    )
    constructor = forms.CharField(
        max_length=200,
        required=False,
        label="Constructor",
        help_text="The model or person that made them, as on the rubric's page; empty takes the first.",
    )
    versions = forms.ChoiceField(
        choices=[("newest", "the newest, people's revisions included"), ("first", "as first made")],
        required=False,
        initial="newest",
        label="Version",
    )
    max_lint_findings = forms.IntegerField(
        required=False,
        min_value=0,
        max_value=1_000,
        label="Lint findings at most",
        help_text="Rubrics with more are left out; empty takes any. What lint has not read is exported, "
        "and counted.",
    )
    excluded_checks = forms.MultipleChoiceField(
        required=False,
        label="Leave out rubrics with findings of",
        widget=forms.CheckboxSelectMultiple,
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        checks = lint_checks()
        self.fields["excluded_checks"].choices = [(name, name) for name in checks]  # type: ignore[attr-defined]
        if not checks:
            del self.fields["excluded_checks"]

    def clean_name(self) -> str:
        name = str(self.cleaned_data["name"])
        if CorpusSnapshot.objects.filter(name=name).exists():
            raise forms.ValidationError(
                "A snapshot with this name exists. Snapshots never change; choose another name."
            )
        return name

    def clean_sft_share(self) -> Fraction:
        try:
            share = Fraction(str(self.cleaned_data["sft_share"]).replace(" ", ""))
        except (ValueError, ZeroDivisionError):
            raise forms.ValidationError("Write a fraction such as 15/19 or a decimal such as 0.8.") from None
        if not 0 <= share <= 1:
            raise forms.ValidationError("A share lies between 0 and 1.")
        return share

    def wanted(self) -> dict[str, Any]:
        """What a valid form asks for, as `training.services.request_snapshot` takes it."""
        given = self.cleaned_data
        rubrics = RubricChoice(
            method=given["method"] or DEFAULT_METHOD,
            constructor=given["constructor"],
            revisions=given["versions"] != "first",
            max_lint_findings=given["max_lint_findings"],
            excluded_checks=tuple(given.get("excluded_checks", ())),
        )
        return {name: given[name] for name in ("name", "seed", "sft_share")} | {"rubrics": rubrics}


_CHECKS = """
    SELECT DISTINCT finding->>'check' FROM rubrics_rubric, jsonb_array_elements(lint) AS finding
    WHERE lint <> '[]' ORDER BY 1
"""


def lint_checks() -> list[str]:
    """The names of the lint checks that have found anything in a rubric."""
    return [name for (name,) in sql.fetch(_CHECKS, {}) if name]
