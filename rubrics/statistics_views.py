"""The page of the corpus' numbers."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode

from django.http import HttpResponse
from django.views.decorators.http import require_safe

from llm.access import Role, role_required
from llm.web import PageRequest, render_page
from rubrics.lint import CHECK_LABELS, Check
from rubrics.statistics import Bar, Plot, plot
from rubrics.statistics_reads import MEASURED, CheckCount, Group, groups

PLOTTED = 8
"""Groups that are drawn, the largest ones; the tables have them all."""


@dataclass(frozen=True, slots=True)
class GroupLine:
    """A group with the query string that narrows the list of rubrics to it."""

    group: Group
    query: str

    @property
    def cells(self) -> list[tuple[CheckCount, str]]:
        """By check, with the query string of the rubrics that have a finding of it."""
        return [(each, f"{self.query}&{urlencode({'lint': each.check.value})}") for each in self.group.checks]


@dataclass(frozen=True, slots=True)
class Measure:
    """One thing that is measured: its plot, with the bars of each group that is drawn."""

    name: str
    explained: str
    plot: Plot
    drawn: list[tuple[Group, tuple[Bar, ...], int]]


@role_required(Role.RESEARCHER)
@require_safe
def statistics(request: PageRequest) -> HttpResponse:
    found = groups()
    lines = [
        GroupLine(one, urlencode({"method": one.method, "constructor": one.constructor})) for one in found
    ]
    context = {
        "lines": lines,
        "total": sum(one.rubrics for one in found),
        "unread": sum(one.rubrics - one.read for one in found),
        "measures": _measures(found[:PLOTTED]),
        "checks": [(check, CHECK_LABELS[check]) for check in Check],
        "measured": MEASURED,
        "plotted": PLOTTED,
    }
    return render_page(request, "rubrics/statistics.html", context)


def _measures(drawn: list[Group]) -> list[Measure]:
    measured = [
        ("Dimensions", "of a rubric", [one.shapes.dimensions for one in drawn]),
        ("Intervals", "of a dimension", [one.shapes.levels for one in drawn]),
        ("Points", "that a rubric gives at most", [one.shapes.maxima for one in drawn]),
        ("Tokens", "of a rubric as writer and judge read it", [one.tokens for one in drawn]),
    ]
    found = []
    for name, explained, tallies in measured:
        drawing = plot(tallies)
        sizes = [tally.n for tally in tallies]
        found.append(Measure(name, explained, drawing, list(zip(drawn, drawing.bars, sizes, strict=True))))
    return found
