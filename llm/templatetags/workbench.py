"""How texts, states, numbers and times look on every page."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from django import template
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

register = template.Library()

EXCERPT = 180
"""Characters of a text that a list shows."""

_TONES = {
    "good": {"done", "accepted", "accept", "pass", "demonstration", "set", "kept"},
    "warn": {
        "paused",
        "unsure",
        "fallback",
        "cut",
        "not set",
        "automatic",
        "flagged",
        "disputed",
        "withdrawn",
    },
    "bad": {"failed", "rejected", "reject", "fail", "repetitive", "contaminated", "excluded", "dropped"},
    "info": {"running", "leased", "writing", "waiting", "in_review", "rewritten", "merged"},
}
_SELECTED = SafeString(" selected")
_SIGNS = {"good": "✓", "warn": "!", "bad": "✕", "info": "●", "plain": "○"}


def tone_of(state: str) -> str:
    """One of good, warn, bad, info, plain."""
    return next((tone for tone, states in _TONES.items() if state in states), "plain")


@register.simple_tag
def chip(state: str, label: str = "") -> SafeString:
    """A state as a labelled chip: a sign and a word, the colour only beside them."""
    tone = tone_of(state)
    return format_html(
        '<span class="chip chip-{}"><span class="chip-sign" aria-hidden="true">{}</span>{}</span>',
        tone,
        _SIGNS[tone],
        (label or state.replace("_", " ")).lower(),
    )


@register.simple_tag
def options(choices: Iterable[tuple[str, str]], chosen: str) -> SafeString:
    """The options of a select; a loop in a template takes ten times as long, and lists have many."""
    return format_html_join(
        "",
        '<option value="{}"{}>{}</option>',
        ((value, _SELECTED if value == chosen else "", label) for value, label in choices),
    )


@register.simple_tag
def reading(text: str, language: str = "") -> SafeString:
    """A text to be read, whole, as text: nothing in it is markup."""
    return format_html('<div class="reading" lang="{}" dir="auto">{}</div>', language or "und", text)


@register.simple_tag
def excerpt(text: str, language: str = "", length: int = EXCERPT) -> SafeString:
    """The beginning of a text on one line, for lists."""
    beginning = " ".join(text[: length * 2].split())
    shown = beginning[:length] + ("…" if len(beginning) > length or len(text) > length * 2 else "")
    return format_html('<bdi class="excerpt" lang="{}" dir="auto">{}</bdi>', language or "und", shown or "—")


@register.simple_tag
def bar(value: float, maximum: float = 1.0, label: str = "") -> SafeString:
    """A thin bar filled to value / maximum, with the numbers for those who do not see it."""
    share = min(max(value / maximum, 0.0), 1.0) if maximum > 0 else 0.0
    return format_html(
        '<svg class="bar" viewBox="0 0 100 6" preserveAspectRatio="none" role="img" aria-label="{}">'
        '<rect class="bar-track" width="100" height="6"/><rect class="bar-fill" width="{}" height="6"/>'
        "</svg>",
        label or f"{share:.0%}",
        f"{share * 100:.2f}",
    )


@register.simple_tag
def moment(at: datetime | None, form: str = "full") -> SafeString:
    """A time in UTC; the page's script shows it in the reader's own zone. `form`: full, or clock."""
    if at is None:
        return format_html('<span class="muted">{}</span>', "—")
    at = timezone.localtime(at, timezone.get_default_timezone())
    shown = f"{at:%H:%M} UTC" if form == "clock" else f"{at:%Y-%m-%d %H:%M} UTC"
    return format_html('<time datetime="{}" data-form="{}">{}</time>', at.isoformat(), form, shown)


@register.filter
def duration(value: float | timedelta | None) -> str:
    """Seconds or a timedelta in the two largest units: '45 s', '3 min 20 s', '2 h 10 min', '1 d 4 h'."""
    if value is None:
        return "—"
    seconds = round(value.total_seconds() if isinstance(value, timedelta) else value)
    if seconds < 60:
        return f"{seconds} s"
    for size, name, smaller, small_name in (
        (86_400, "d", 3_600, "h"),
        (3_600, "h", 60, "min"),
        (60, "min", 1, "s"),
    ):
        if seconds >= size:
            rest = seconds % size // smaller
            return f"{seconds // size} {name}" + (f" {rest} {small_name}" if rest else "")
    return f"{seconds} s"


@register.filter
def percent(value: float | None, digits: int = 0) -> str:
    return "—" if value is None else f"{value * 100:.{digits}f}%"


@register.filter
def rate(value: float | None) -> str:
    """Something a second, with as many digits as a reader needs."""
    if not value:
        return "—" if value is None else "0/s"
    return f"{value:.0f}/s" if value >= 10 else f"{value:.1f}/s" if value >= 0.1 else f"{value * 60:.1f}/min"


@register.filter
def over(value: float, base: float) -> float | None:
    """value / base; nothing over zero."""
    return value / base if base else None


@register.filter
def words(name: str) -> str:
    """A name from code as words: 'sft_share' is 'sft share'."""
    return str(name).replace("_", " ")


@register.filter
def as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)


@register.filter
def item(mapping: Any, key: Any) -> Any:
    """mapping[key], or None."""
    return mapping.get(key) if hasattr(mapping, "get") else None
