"""The review form: five checks, with a verdict, a note and a quoted passage each."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django import forms

from curation.evidence import NotQuotedError, locate_evidence
from curation.guidelines import GUIDELINES, Guideline
from curation.models import CheckVerdict, Reconstruction
from curation.review import Evidence, VerdictInput
from curation.review.drafts import SIDES
from curation.review.terms import LONGEST_NOTE

PARTS = ("verdict", "note", "evidence", "evidence-side", "evidence-start", "evidence-end")
"""What a check's fields are called after its name and a dash."""


@dataclass(frozen=True, slots=True)
class CheckRow:
    """One check as the page draws it: the values of its fields as they came in or were left, and `quote`, the
    passage that was found. `untouched` ones are all alike."""

    name: str
    label: str
    guideline: Guideline
    verdict: str
    note: str
    evidence: str
    side: str
    start: str
    end: str
    quote: Evidence | None
    problem: str

    @property
    def untouched(self) -> bool:
        given = (self.verdict, self.note, self.evidence, self.side, self.start, self.end)
        return not (any(given) or self.quote or self.problem)


def _fields_of(check: str) -> dict[str, forms.Field]:
    sides = [(side, side) for side in SIDES]
    fields: dict[str, forms.Field] = {
        "verdict": forms.ChoiceField(choices=CheckVerdict.Verdict.choices, required=False),
        "note": forms.CharField(required=False, max_length=LONGEST_NOTE),
        "evidence": forms.CharField(required=False, strip=False),
        "evidence-side": forms.ChoiceField(choices=sides, required=False),
        "evidence-start": forms.IntegerField(required=False),
        "evidence-end": forms.IntegerField(required=False),
    }
    return {f"{check}-{part}": field for part, field in fields.items()}


FIELDS = {name: field for check in CheckVerdict.Check.values for name, field in _fields_of(check).items()}
"""Shared by all forms: nothing changes them, and making them takes as long as the rest of a page."""


class ReviewForm(forms.Form):
    """Fields `<check>-verdict`, `<check>-note` and `<check>-evidence…`; what a decision demands of them, the
    service says. `draft` is a stored draft's content, by check."""

    def __init__(
        self, posted: Any = None, *, item: Reconstruction, draft: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(posted, initial=_initial(draft or {}))
        self.fields = FIELDS
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
        values = self.data if self.is_bound else self.initial
        for check, label in CheckVerdict.Check.choices:
            names = [f"{check}-{part}" for part in PARTS]
            verdict, note, evidence, side, start, end = (str(values.get(name, "")) for name in names)
            errors = (
                [str(each) for name in names for each in self.errors.get(name, ())] if self.is_bound else []
            )
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
                quote=self.evidence.get(check),
                problem=self.problems.get(check, "") or " ".join(errors),
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
