"""The two texts of a review, so that a place in one of them is the same place for the server and the page."""

from __future__ import annotations

from collections.abc import Iterable

from django import template
from django.utils.html import escape, format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

register = template.Library()


@register.simple_tag
def exact_reading(text: str, language: str = "") -> SafeString:
    """Like `reading`; and a carriage return stays one, where a parser of HTML would drop it."""
    return _reading(_exact(text), language)


@register.simple_tag
def marked_reading(runs: Iterable[tuple[str, bool]], side: str, language: str = "") -> SafeString:
    """The same with what is changed marked: deleted on the source's side, inserted on the other's."""
    element = mark_safe("del" if side == "source" else "ins")  # noqa: S308
    parts = (
        format_html("<{}>{}</{}>", element, _exact(text), element) if changed else _exact(text)
        for text, changed in runs
    )
    return _reading(format_html_join("", "{}", ((part,) for part in parts)), language)


@register.simple_tag
def passage_reading(runs: Iterable[tuple[str, bool]], language: str = "") -> SafeString:
    """A text whose passages shared with another are marked."""
    parts = (
        format_html("<mark>{}</mark>", _exact(text)) if shared else _exact(text) for text, shared in runs
    )
    return _reading(format_html_join("", "{}", ((part,) for part in parts)), language)


@register.filter
def passage_of(hint_text: str, passage: object) -> str:
    """The beginning of the passage that a hint points at, on one line."""
    start, end = getattr(passage, "start", 0), getattr(passage, "end", 0)
    words = " ".join(hint_text[start:end].split())
    return f"{words[:90]}…" if len(words) > 90 else words


def _exact(text: str) -> SafeString:
    return mark_safe(escape(text).replace("\r", "&#13;"))  # noqa: S308


def _reading(content: SafeString, language: str) -> SafeString:
    return format_html('<div class="reading" lang="{}" dir="auto">{}</div>', language or "und", content)
