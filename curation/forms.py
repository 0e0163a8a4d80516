"""The review form: five checks, a verdict and a note each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django import forms
from django.forms import BoundField

from curation.models import CheckVerdict
from curation.review import VerdictInput

DEFINITIONS: Mapping[str, str] = {
    CheckVerdict.Check.TASK_CLARITY: (
        "It is plain what is to be written and what for. A request: no answer, editing remarks or fragment."
    ),
    CheckVerdict.Check.CONSTRAINT_CONSISTENCY: (
        "Same kind of task, about as hard. Demands on language, style, structure and length go together."
    ),
    CheckVerdict.Check.CONTEXTUAL_COHERENCE: (
        "Material, people, events and references fit together. Any passage that it speaks of is there."
    ),
    CheckVerdict.Check.SUBSTANTIVE_VARIATION: (
        "More than other words for the same thing: content or setting is new, the aim still a related one."
    ),
    CheckVerdict.Check.USABLE_LENGTH: (
        "Readable and complete, with enough detail for its task. No repeated passages, no sudden end."
    ),
}
"""The five checks of the paper's A.1, in our words."""


@dataclass(frozen=True, slots=True)
class CheckRow:
    """One check as the page draws it."""

    name: str
    label: str
    definition: str
    verdict: BoundField
    note: BoundField
    problem: str


class ReviewForm(forms.Form):
    """Fields `<check>-verdict` and `<check>-note`; what a decision demands of them, the service says."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for check, label in CheckVerdict.Check.choices:
            self.fields[f"{check}-verdict"] = forms.ChoiceField(
                choices=CheckVerdict.Verdict.choices, required=False, widget=forms.RadioSelect
            )
            self.fields[f"{check}-note"] = forms.CharField(
                required=False,
                strip=True,
                max_length=5_000,
                label=f"Note on {label.lower()}",
                widget=forms.Textarea(attrs={"rows": 1, "placeholder": "Note"}),
            )
        self.problems: dict[str, str] = {}

    def verdicts(self) -> dict[str, VerdictInput]:
        """By check name; a browser sends line breaks as CR LF, and they are kept as LF."""
        return {
            check: VerdictInput(
                self.cleaned_data[f"{check}-verdict"],
                self.cleaned_data[f"{check}-note"].replace("\r\n", "\n"),
            )
            for check in CheckVerdict.Check.values
        }

    def rows(self) -> Iterator[CheckRow]:
        for check, label in CheckVerdict.Check.choices:
            verdict, note = self[f"{check}-verdict"], self[f"{check}-note"]
            problem = self.problems.get(check, "") or " ".join([*verdict.errors, *note.errors])
            yield CheckRow(check, str(label), DEFINITIONS[check], verdict, note, problem)
