"""The frame around every page: which places the rail offers to whom, and the way back up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse

from llm.access import Role, roles_of

ANNOTATING = frozenset({Role.ANNOTATOR, Role.RESEARCHER})
RESEARCH = frozenset({Role.RESEARCHER})
EVERYBODY = frozenset(Role)


@dataclass(frozen=True, slots=True)
class Place:
    """One entry of the rail; `group` is the heading that it stands under."""

    name: str
    label: str
    roles: frozenset[Role]
    group: str = ""


RAIL = (
    Place("home", "Overview", RESEARCH),
    Place("sources", "Sources", RESEARCH, "Prompts"),
    Place("source-prompts", "Source prompts", RESEARCH, "Prompts"),
    Place("reconstructions", "Reconstructions", RESEARCH, "Prompts"),
    Place("screening", "Screening", RESEARCH, "Prompts"),
    Place("corpus-prompts", "Corpus prompts", RESEARCH, "Prompts"),
    Place("review", "Review", ANNOTATING, "Review"),
    Place("my-work", "My work", ANNOTATING, "Review"),
    Place("adjudication", "Adjudication", RESEARCH, "Review"),
    Place("flags", "Flags", RESEARCH, "Review"),
    Place("quality", "Quality", RESEARCH, "Review"),
    Place("rubrics", "Rubrics", RESEARCH, "Corpus"),
    Place("candidates", "Candidates", RESEARCH, "Corpus"),
    Place("judges", "Judges", RESEARCH, "Corpus"),
    Place("snapshots", "Corpora", RESEARCH, "Corpus"),
    Place("recipes", "Recipes", RESEARCH, "Corpus"),
    Place("runs", "Runs", RESEARCH, "Work"),
    Place("imports", "Imports", RESEARCH, "Work"),
    Place("exports", "Exports", RESEARCH, "Work"),
    Place("endpoints", "Endpoints", RESEARCH, "Work"),
    Place("history", "History", RESEARCH, "Work"),
    Place("policy", "Settings", RESEARCH, "Work"),
    Place("my-study", "My study", frozenset({Role.EXPERT}), "Study"),
    Place("my-tokens", "My tokens", EVERYBODY, "Account"),
)

PARENTS: Mapping[str, str] = {
    "source": "sources",
    "source-prompt": "source-prompts",
    "reconstruction": "reconstructions",
    "corpus-prompt": "corpus-prompts",
    "review-item": "review",
    "review-skip": "review",
    "review-lease": "review",
    "review-flag": "review",
    "review-undo": "review",
    "review-draft": "review",
    "review-hints": "review",
    "my-keys": "review",
    "my-review": "my-work",
    "adjudication-item": "adjudication",
    "flag-put-back": "flags",
    "review-withdraw": "reconstructions",
    "bulk": "reconstructions",
    "import": "imports",
    "import-new": "imports",
    "import-start": "imports",
    "import-discard": "imports",
    "export": "exports",
    "export-file": "exports",
    "token-revoke": "my-tokens",
    "screening-item": "screening",
    "rubric": "rubrics",
    "rubric-compare": "rubrics",
    "rubric-edit": "rubrics",
    "rubric-file": "rubrics",
    "rubric-export": "rubrics",
    "rubric-statistics": "rubrics",
    "prompt-rubrics": "corpus-prompts",
    "rubric-new": "corpus-prompts",
    "candidate": "candidates",
    "candidate-choose": "candidates",
    "choice": "candidates",
    "choice-undo": "candidates",
    "bias-check": "judges",
    "snapshot": "snapshots",
    "recipe": "recipes",
    "snapshot-new": "snapshots",
    "run": "runs",
    "run-start": "runs",
    "run-limit": "runs",
    "run-clone": "runs",
    "endpoint": "endpoints",
    "endpoint-new": "endpoints",
    "endpoint-edit": "endpoints",
    "endpoint-test": "endpoints",
    "endpoint-metrics": "endpoints",
    "call": "endpoints",
}
"""Which list a page stands under, by route name."""


@dataclass(frozen=True, slots=True)
class Link:
    label: str
    url: str
    current: bool
    heading: str


@cache
def rail_for(roles: frozenset[Role], here: str) -> tuple[Link, ...]:
    """The places for these roles; `heading` is filled on the first of each group."""
    links: list[Link] = []
    group = ""
    for place in RAIL:
        if place.roles & roles:
            heading = place.group if place.group != group else ""
            links.append(Link(place.label, reverse(place.name), place.name == here, heading))
            group = place.group
    return tuple(links)


def frame(request: HttpRequest) -> dict[str, Any]:
    """Context processor: `rail`, `parent` (the breadcrumb above this page) and the workbench's name."""
    roles = roles_of(request.user) if hasattr(request, "user") else frozenset()
    route = request.resolver_match.url_name if request.resolver_match else None
    above = PARENTS.get(route or "", "")
    labels = {place.name: place.label for place in RAIL}
    return {
        "workbench": settings.SITE_NAME,
        "rail": rail_for(roles, above or route or ""),
        "parent": Link(labels[above], reverse(above), False, "") if above else None,
        "roles": sorted(roles),
    }
