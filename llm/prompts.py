"""Prompt templates: versioned files beside the code of the app that uses them.

A template is a file `NAME.vN.txt` in an app's `prompts/` folder; `NAME.vN.zh.txt` beside it is its Chinese
version. Text comes in at `{{slot}}`. Between two markers `{{fence:slot}}` a slot's text is data: the marker
becomes a line that does not occur in the text, so that nothing in the text can end the data and pose as an
instruction, and the text itself stays whole.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources

from llm.types import ChatMessage

_SLOT = re.compile(r"\{\{(fence:)?([a-z_]+)\}\}")


@dataclass(frozen=True, slots=True)
class PromptTemplate:
    """`identity` is 'name@version', stored with every call made from the template."""

    identity: str
    body: str

    def render(self, **texts: str) -> tuple[ChatMessage, ...]:
        """One user message with every slot filled. Raises KeyError for a slot without a text."""

        def fill(match: re.Match[str]) -> str:
            text = texts[match.group(2)]
            return fence(match.group(2), text) if match.group(1) else text

        return (ChatMessage("user", _SLOT.sub(fill, self.body)),)


def fence(slot: str, text: str) -> str:
    """A marker line for `slot` that is sure not to occur in `text`; the same text gets the same marker."""
    salt = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    width = 6
    while (marker := f"=== {slot} {salt[:width]} ===") in text:
        width += 6
    return marker


def template_language(language: str) -> str:
    """The language of the template for a request in `language` (a code such as en, zh, zh-Hant): zh or en.

    >>> template_language("zh-Hant"), template_language("de")
    ('zh', 'en')
    """
    return "zh" if re.split("[-_]", language.lower())[0] == "zh" else "en"


@lru_cache
def load_template(app: str, name: str, version: int, *, language: str = "en") -> PromptTemplate:
    """Reads `APP/prompts/NAME.vVERSION.txt`, or its Chinese version for a request in Chinese.

    The identity is `NAME@VERSION`, and `NAME.zh@VERSION` for the Chinese version.
    """
    suffix = "" if template_language(language) == "en" else ".zh"
    file = resources.files(app) / "prompts" / f"{name}.v{version}{suffix}.txt"
    return PromptTemplate(f"{name}{suffix}@{version}", file.read_text(encoding="utf-8").strip())
