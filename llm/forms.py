"""Regular expressions that keep a small model's text within bounds under constrained decoding. Pure.

Only the length is bounded, and only for endpoints with constrained decoding; what the text says is the
model's own affair.
"""

from __future__ import annotations

WIDE = "⺀-\U0010ffff"
"""From U+2E80 on: Chinese characters, kana, hangul, emoji. One of them costs a small model's tokenizer up to
four tokens, and carries about as much as three letters."""


def bounded_line(shortest: int, longest: int) -> str:
    """One line without colons and bars, which separate fields; in letters, a third of it in wide scripts."""
    return _either(rf"[^\s|<{WIDE}][^\n\r:：|{WIDE}]", r"[^\s|<][^\n\r:：|]", shortest, longest)


def bounded_text(shortest: int, longest: int) -> str:
    """Any text that begins with a visible character; lengths in letters, a third in wide scripts."""
    return _either(rf"[^\s{WIDE}][^{WIDE}]", r"[^\s][\s\S]", shortest, longest)


def _either(narrow: str, wide: str, shortest: int, longest: int) -> str:
    return (
        f"({narrow}{{{shortest - 1},{longest - 1}}}|{wide}{{{max(1, shortest // 3 - 1)},{longest // 3 - 1}}})"
    )
