"""A reviewer's own progress: what they have done today and in all, and how long an item takes them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import tzinfo
from statistics import median
from zoneinfo import ZoneInfo

from django.contrib.auth.models import User
from django.db.models import Count, Q
from django.http import HttpRequest
from django.utils import timezone

from curation.models import Review

RECENT = 50
"""The reviews whose median is the time an item takes (ours)."""


@dataclass(frozen=True, slots=True)
class ReviewerProgress:
    """`seconds_per_item` is None until a review has a time."""

    today: int
    in_all: int
    seconds_per_item: float | None


def progress_of(reviewer: User, zone: tzinfo) -> ReviewerProgress:
    """Standing reviews only; today begins at midnight in `zone`."""
    own = Review.objects.filter(reviewer=reviewer, withdrawn_at__isnull=True)
    midnight = timezone.localtime(timezone=zone).replace(hour=0, minute=0, second=0, microsecond=0)
    counts = own.order_by().aggregate(all=Count("pk"), today=Count("pk", filter=Q(created_at__gte=midnight)))
    recent = own.exclude(seconds=None).values_list("seconds", flat=True)[:RECENT]
    seconds = [each for each in recent if each is not None]
    return ReviewerProgress(counts["today"], counts["all"], median(seconds) if seconds else None)


def zone_of(request: HttpRequest) -> tzinfo:
    """The reader's time zone, as the page's script has put it into a cookie; UTC without one."""
    try:
        return ZoneInfo(request.COOKIES.get("timezone", "UTC"))
    except (ValueError, OSError, KeyError):
        return timezone.get_default_timezone()
