"""A reviewer's own progress: what they have done today and in all, and how long an item takes them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import tzinfo
from zoneinfo import ZoneInfo

from django.contrib.auth.models import User
from django.http import HttpRequest
from django.utils import timezone

from llm import sql

RECENT = 50
"""The reviews whose median is the time an item takes (ours)."""

PROGRESS = """
    SELECT count(*) FILTER (WHERE created_at >= %(midnight)s), count(*), (
        SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY seconds) FROM (
            SELECT seconds FROM curation_review
            WHERE reviewer_id = %(reviewer)s AND withdrawn_at IS NULL AND seconds IS NOT NULL
            ORDER BY id DESC LIMIT %(recent)s) AS recent)
    FROM curation_review WHERE reviewer_id = %(reviewer)s AND withdrawn_at IS NULL
"""


@dataclass(frozen=True, slots=True)
class ReviewerProgress:
    """`seconds_per_item` is None until a review has a time."""

    today: int
    in_all: int
    seconds_per_item: float | None


def progress_of(reviewer: User, zone: tzinfo) -> ReviewerProgress:
    """Standing reviews only; today begins at midnight in `zone`."""
    midnight = timezone.localtime(timezone=zone).replace(hour=0, minute=0, second=0, microsecond=0)
    parameters = {"reviewer": reviewer.pk, "midnight": midnight, "recent": RECENT}
    return ReviewerProgress(*sql.fetch(PROGRESS, parameters)[0])


def zone_of(request: HttpRequest) -> tzinfo:
    """The reader's time zone, as the page's script has put it into a cookie; UTC without one."""
    try:
        return ZoneInfo(request.COOKIES.get("timezone", "UTC"))
    except (ValueError, OSError, KeyError):
        return timezone.get_default_timezone()
