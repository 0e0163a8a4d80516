"""How a candidate's reward looks in a list: never a mean without its number of readings."""

from __future__ import annotations

from typing import Any

from django import template

from rubrics.models import Rubric
from training.models import Candidate
from training.readings import own_summary

register = template.Library()


@register.filter
def method_label(method: str) -> str:
    """How rubrics of a method are called on pages."""
    return str(dict(Rubric.Method.choices).get(method, method))


@register.inclusion_tag("parts/reward.html")
def reward(candidate: Candidate) -> dict[str, Any]:
    """The mean over the selecting judge's readings; fetch them with `training.readings.with_readings`."""
    return {"summary": own_summary(candidate)}
