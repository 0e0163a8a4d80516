"""The review form: five checks, with a verdict, a note and a quoted passage each."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django import forms
from django.forms import BoundField

from curation.evidence import NotQuotedError, locate_evidence
from curation.guidelines import GUIDELINES, Guideline
from curation.models import CheckVerdict, Reconstruction
from curation.review import Evidence, VerdictInput
from curation.review.terms import LONGEST_NOTE

PARTS = ("verdict", "note", "evidence", "evidence-side", "evidence-start", "evidence-end")
"""What a check's fields are called after its name and a dash."""


@dataclass(frozen=True, slots=True)
class CheckRow:
    """One check as the page draws it; the quote's fields hold what was sent, `quote` what was found."""

    name: str
    label: str
    guideline: Guideline
    verdict: BoundField
    note: BoundField
    evidence: BoundField
    side: BoundField
    start: BoundField
    end: BoundField
    quote: Evidence | None
    problem: str


class ReviewForm(forms.Form):
    """Fields `<check>-verdict`, `<check>-note` and `<check>-evidence…`; what a decision demands of them, the
    service says. `draft` is a stored draft's content, by check."""

    def __init__(
        self, posted: Any = None, *, item: Reconstruction, draft: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(posted, initial=_initial(draft or {}))
        for check, label in CheckVerdict.Check.choices:
            self.fields |= {f"{check}-{part}": field for part, field in _fields(str(label)).items()}
        self.texts = {"source": item.source_prompt.text, "reconstruction": item.text}
        self.evidence: dict[str, Evidence | None] = {
            check: Evidence(**entry["evidence"]) if entry.get("evidence") else None
            for check, entry in (draft or {}).items()
        }
        self.problems: dict[str, str] = {}

    def clean(self) -> dict[str, Any]:
        self.evidence = {}
        for check in CheckVerdict.Check.values:
            try:
                self.evidence[check] = locate_evidence(
                    self.cleaned_data.get(f"{check}-evidence", ""),
                    self.texts,
                    side=self.cleaned_data.get(f"{check}-evidence-side", ""),
                    start=self.cleaned_data.get(f"{check}-evidence-start"),
                    end=self.cleaned_data.get(f"{check}-evidence-end"),
                )
            except NotQuotedError as error:
                self.add_error(f"{check}-evidence", str(error))
        if unknown := _unknown_checks(self.data):
            self.add_error(None, f"There is no check {', '.join(unknown)}.")
        return self.cleaned_data

    def verdicts(self) -> dict[str, VerdictInput]:
        """By check name; a browser sends line breaks as CR LF, and they are kept as LF."""
        return {
            check: VerdictInput(
                self.cleaned_data[f"{check}-verdict"],
                self.cleaned_data[f"{check}-note"].replace("\r\n", "\n"),
                self.evidence[check],
            )
            for check in CheckVerdict.Check.values
        }

    def content(self) -> dict[str, dict[str, Any]]:
        """The same as a draft's content."""
        return {
            check: {
                "verdict": given.verdict,
                "note": given.note,
                "evidence": given.evidence.as_json() if given.evidence else None,
            }
            for check, given in self.verdicts().items()
        }

    def rows(self) -> Iterator[CheckRow]:
        for check, label in CheckVerdict.Check.choices:
            verdict, note, evidence, side, start, end = (self[f"{check}-{part}"] for part in PARTS)
            errors = [*verdict.errors, *note.errors, *evidence.errors, *side.errors]
            problem = self.problems.get(check, "") or " ".join(errors)
            yield CheckRow(
                check,
                str(label),
                GUIDELINES[check],
                verdict,
                note,
                evidence,
                side,
                start,
                end,
                self.evidence.get(check),
                problem,
            )

    def complaint(self) -> str:
        """One sentence over the whole form, '' when nothing is wrong with it."""
        if self.problems:
            return self.problems.get("decision") or (
                "Some checks have no verdict yet. Nothing is stored; your input is kept."
            )
        if self.is_bound and self.errors:
            general = [entry["message"] for entry in self.non_field_errors().get_json_data()]
            return " ".join(general) or "Something cannot be taken as it is. Your input is kept."
        return ""


def _fields(label: str) -> dict[str, forms.Field]:
    return {
        "verdict": forms.ChoiceField(
            choices=CheckVerdict.Verdict.choices, required=False, widget=forms.RadioSelect
        ),
        "note": forms.CharField(
            required=False,
            max_length=LONGEST_NOTE,
            label=f"Note on {label.lower()}",
            widget=forms.Textarea(attrs={"rows": 2, "placeholder": "Note"}),
        ),
        "evidence": forms.CharField(required=False, strip=False, widget=forms.Textarea(attrs={"rows": 1})),
        "evidence-side": forms.ChoiceField(
            choices=(("", "either text"), ("source", "source"), ("reconstruction", "reconstruction")),
            required=False,
        ),
        "evidence-start": forms.IntegerField(required=False, widget=forms.HiddenInput),
        "evidence-end": forms.IntegerField(required=False, widget=forms.HiddenInput),
    }


def _initial(draft: Mapping[str, Any]) -> dict[str, Any]:
    initial: dict[str, Any] = {}
    for check, entry in draft.items():
        quoted = entry.get("evidence") or {}
        initial |= {
            f"{check}-verdict": entry.get("verdict", ""),
            f"{check}-note": entry.get("note", ""),
            f"{check}-evidence": quoted.get("text", ""),
            f"{check}-evidence-side": quoted.get("side", ""),
            f"{check}-evidence-start": quoted.get("start", ""),
            f"{check}-evidence-end": quoted.get("end", ""),
        }
    return initial


_FIELD_NAME = re.compile(rf"(.*)-(?:{'|'.join(PARTS)})", re.DOTALL)


def _unknown_checks(posted: Any) -> list[str]:
    """Names of checks that a form carries and this method does not have."""
    known = {f"{check}-{part}" for check in CheckVerdict.Check.values for part in PARTS}
    others = (_FIELD_NAME.fullmatch(name) for name in posted if name not in known)
    return sorted({match[1][:40] for match in others if match})
