"""The form of an adjudicator: a verdict and a note for each check, and the reason of the decision."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django import forms
from django.forms import BoundField

from curation.models import CheckVerdict
from curation.review import VerdictInput
from curation.review.terms import LONGEST_NOTE


@dataclass(frozen=True, slots=True)
class VerdictRow:
    """One check as the page draws it: what each reviewer gave, and the adjudicator's own fields.

    `given` has the reviewers' verdicts in the order of the reviews, None where one gave none.
    """

    name: str
    label: str
    given: tuple[CheckVerdict | None, ...]
    verdict: BoundField
    note: BoundField
    problem: str

    @property
    def differ(self) -> bool:
        return len({each.verdict if each else None for each in self.given}) > 1


class AdjudicationForm(forms.Form):
    """Fields `<check>-verdict`, `<check>-note` and `reason`; what a decision demands, the service says.

    `agreed` are the verdicts on which all reviewers agree: they are filled in to begin with.
    """

    reason = forms.CharField(
        required=False,
        max_length=LONGEST_NOTE,
        label="Why you decide so",
        widget=forms.Textarea(attrs={"rows": 3}),
    )

    def __init__(self, posted: Any = None, *, agreed: Mapping[str, str] | None = None) -> None:
        initial = {f"{check}-verdict": verdict for check, verdict in (agreed or {}).items()}
        super().__init__(posted, initial=initial)
        for check, label in CheckVerdict.Check.choices:
            self.fields[f"{check}-verdict"] = forms.ChoiceField(
                choices=CheckVerdict.Verdict.choices, required=False, widget=forms.RadioSelect
            )
            self.fields[f"{check}-note"] = forms.CharField(
                required=False,
                max_length=LONGEST_NOTE,
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

    def rows(self, given: Mapping[str, tuple[CheckVerdict | None, ...]]) -> Iterator[VerdictRow]:
        for check, label in CheckVerdict.Check.choices:
            verdict, note = self[f"{check}-verdict"], self[f"{check}-note"]
            problem = self.problems.get(check, "") or " ".join([*verdict.errors, *note.errors])
            yield VerdictRow(check, str(label), given.get(check, ()), verdict, note, problem)

    @property
    def decision_problem(self) -> str:
        return self.problems.get("decision", "")

    @property
    def reason_problem(self) -> str:
        return self.problems.get("reason", "") or " ".join(map(str, self["reason"].errors))
