"""Template tags that know more than one room."""

from __future__ import annotations

from django import template
from django.urls import reverse

register = template.Library()

SUBJECT_PAGES = {
    "reconstruct": "reconstruction",
    "filter": "reconstruction",
    "mine": "corpus-prompt",
    "write": "rubric",
    "assess": "candidate",
    "select": "rubric",
    "export": "snapshot",
}
"""The page of a run item's subject, by the run's kind."""


@register.simple_tag
def subject_url(kind: str, subject_id: int) -> str:
    """Where a run item's subject is shown; '' for a kind without a page."""
    page = SUBJECT_PAGES.get(kind)
    return reverse(page, args=[subject_id]) if page else ""
