"""The forms of an import: the file, and then its fields."""

from __future__ import annotations

from typing import Any

from django import forms

from curation.import_formats import Preview
from curation.models import ImportFile
from curation.near_duplicates import LOWEST_THRESHOLD
from curation.services import ImportOptions, NearDuplicates
from llm.text import LengthPolicy

LENGTH_POLICIES = (
    (LengthPolicy.PAPER, "Segments between spaces, as in the paper. A Chinese text counts as a few."),
    (LengthPolicy.SCRIPT, "Words, and single characters in scripts without spaces."),
)

NEAR_DUPLICATES = (
    (NearDuplicates.REPORT, "Report them, with the prompt that each is like."),
    (NearDuplicates.EXCLUDE, "Exclude the later one, so that it is not reconstructed."),
    (NearDuplicates.OFF, "Do not look for them."),
)


class UploadForm(forms.Form):
    file = forms.FileField(
        help_text="JSON lines, CSV with column names, Parquet, or the zipped folder of a saved dataset."
    )
    kind = forms.ChoiceField(
        label="What is in it",
        choices=ImportFile.Kind.choices,
        initial=ImportFile.Kind.PROMPTS,
        widget=forms.RadioSelect,
    )
    name = forms.CharField(
        required=False,
        max_length=120,
        help_text="Of the source, or of the benchmark. Empty takes the file's name, or the benchmark's own.",
    )


class FieldsForm(forms.Form):
    """Which fields to take, among those that the file has, and what to do with its rows."""

    text_field = forms.ChoiceField(label="Text", help_text="The request: a text, or chat turns.")
    id_field = forms.ChoiceField(label="Id", required=False)
    reconstruction_field = forms.ChoiceField(
        label="Reconstruction",
        required=False,
        help_text="If rows bring one, it is filtered, screened and reviewed as if it had been written here.",
    )
    split = forms.ChoiceField(required=False)
    length_policy = forms.ChoiceField(
        label="Lengths count", choices=LENGTH_POLICIES, widget=forms.RadioSelect
    )
    near_duplicates = forms.ChoiceField(
        label="Near duplicates", choices=NEAR_DUPLICATES, widget=forms.RadioSelect
    )
    threshold = forms.FloatField(
        label="Similarity of near duplicates",
        min_value=LOWEST_THRESHOLD,
        max_value=1,
        help_text="Share of common shingles (Jaccard), from 0.5 to 1.",
    )

    def __init__(self, preview: Preview, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        columns = [(name, name) for name in preview.columns]
        self._offer("text_field", columns)
        self._offer("id_field", [("", "the first of id, index, external_id"), *columns])
        self._offer("reconstruction_field", [("", "none"), *columns])
        if preview.splits:
            self._offer("split", [("", "all"), *((name, name) for name in preview.splits)])
        else:
            del self.fields["split"]

    def _offer(self, field: str, choices: list[tuple[str, str]]) -> None:
        self.fields[field].choices = choices  # type: ignore[attr-defined]

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        text = cleaned.get("text_field")
        for field in ("id_field", "reconstruction_field"):
            if text and cleaned.get(field) == text:
                self.add_error(field, "This field is taken for the text already.")
        return cleaned

    def options(self) -> ImportOptions:
        chosen = self.cleaned_data
        return ImportOptions(
            text_field=chosen["text_field"],
            id_field=chosen["id_field"] or None,
            reconstruction_field=chosen["reconstruction_field"] or None,
            split=chosen.get("split", ""),
            length_policy=LengthPolicy(chosen["length_policy"]),
            near_duplicates=NearDuplicates(chosen["near_duplicates"]),
            threshold=chosen["threshold"],
        )
