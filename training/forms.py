"""The form that asks for a corpus snapshot."""

from __future__ import annotations

from fractions import Fraction

from django import forms

from training.models import CorpusSnapshot

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
