"""The terms that texts are found by: words and pairs of them, and pairs of characters where a script has no
spaces. Pure.

    'Write a 运河展览' ─► write · a · write a · 运河 · 河展 · 展览 · 览

The last character of a run stands for itself too, so that every character begins some term.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from llm.text import UNSPACED_RANGES

LONGEST_TERM = 60
"""Characters of a word that are kept (ours); longer 'words' are addresses and encoded blocks."""

MOST_BYTES = 400_000
"""Of one text's terms together (ours); the database takes a megabyte, places and gaps included."""

LONGEST_CHARACTER = 4
"""Bytes, in UTF-8."""

_FULL_WIDTH = 0xFEE0
"""From a visible ASCII character to its form of full width."""

_RUN = re.compile(f"(?P<unspaced>[{UNSPACED_RANGES}]+)|(?P<word>(?:(?![{UNSPACED_RANGES}])[^\\W_])+)")


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """What was typed, as terms that a text has to have, each whole or as a beginning.

    `exact` says that a text with all the terms has the phrase, so that nothing is left to compare. `pattern`
    is the phrase as a regular expression of Postgres, for texts without terms and where terms leave a doubt.
    """

    whole: tuple[str, ...]
    beginnings: tuple[str, ...]
    exact: bool
    pattern: str

    @property
    def empty(self) -> bool:
        return not self.whole and not self.beginnings

    def expression(self) -> str:
        """In the syntax of a tsquery: 'write a' & 'a lett':*"""
        return " & ".join([f"'{term}'" for term in self.whole] + [f"'{term}':*" for term in self.beginnings])


def normalized(text: str) -> str:
    """Compatibility forms unified (NFKC), lower case: full-width and half-width letters are the same."""
    return unicodedata.normalize("NFKC", text).lower()


def search_terms(text: str) -> list[str]:
    """A text's distinct terms, in the order in which they come; of a huge text those of its beginning.

    >>> search_terms("A letter: 运河展")
    ['a', 'letter', 'a letter', '运河', '河展', '展']
    """
    found = list(dict.fromkeys(_terms(normalized(text))))
    if sum(map(len, found)) * LONGEST_CHARACTER <= MOST_BYTES:
        return found
    sizes = itertools.accumulate(len(term.encode()) for term in found)
    return [term for term, size in zip(found, sizes, strict=True) if size <= MOST_BYTES]


def parse_query(typed: str) -> SearchQuery:
    """The terms of a query: its words side by side, the last of them perhaps the beginning of one.

    >>> parse_query("Write a let").expression()
    "'write a' & 'a let':*"
    >>> parse_query("运河").expression()
    "'运河'"
    """
    runs = [(run.lastgroup == "word", run.group()) for run in _RUN.finditer(normalized(typed))]
    whole: dict[str, None] = {}
    beginnings: dict[str, None] = {}
    for place, (word, text) in enumerate(runs):
        if not word:
            whole.update(dict.fromkeys(_pairs(text)))
            beginnings |= {text: None} if len(text) == 1 else {}
            continue
        after_word = place > 0 and runs[place - 1][0]
        before_word = place + 1 < len(runs) and runs[place + 1][0]
        last = place + 1 == len(runs)
        if after_word:
            term = f"{runs[place - 1][1][:LONGEST_TERM]} {text[:LONGEST_TERM]}"
            (beginnings if last else whole)[term] = None
        elif not before_word:
            (beginnings if last else whole)[text[:LONGEST_TERM]] = None
    cut = any(len(text) > LONGEST_TERM for word, text in runs if word)
    exact = len(whole) + len(beginnings) == 1 and not cut
    return SearchQuery(tuple(whole), tuple(beginnings), exact, _pattern(runs))


def _pattern(runs: list[tuple[bool, str]]) -> str:
    """Words with anything between them that is no word; letters and digits of full width are the same."""
    parts = []
    for place, (word, text) in enumerate(runs):
        if place:
            parts.append("[^[:alnum:]]+" if word and runs[place - 1][0] else "[^[:alnum:]]*")
        parts += [f"[{c}{chr(ord(c) + _FULL_WIDTH)}]" if c.isascii() else c for c in text]
    return "".join(parts)


def _terms(text: str) -> Iterator[str]:
    before = ""
    for run in _RUN.finditer(text):
        if run.lastgroup == "word":
            word = run.group()[:LONGEST_TERM]
            yield word
            if before:
                yield f"{before} {word}"
            before = word
        else:
            before = ""
            yield from _pairs(run.group())
            yield run.group()[-1]


def _pairs(run: str) -> list[str]:
    return [run[place : place + 2] for place in range(len(run) - 1)]
