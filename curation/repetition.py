"""Degenerate repetition: the loops that language models fall into. Pure, near-linear in the text's length.

    text ─┬─► all characters ───► runs of one character or of a few
          ├─► prose ─► tokens ──► loops, counting loops, one sentence over and over, few distinct n-grams
          └─► all tokens ───────► loops, under stricter limits

'Prose' leaves out fenced code, table rows, forms and rules, where repetition is the layout. Tokens are words,
or single characters of scripts without spaces. How often a passage must stand in a row falls with its length:
a refrain or a laugh returns a few times, a loop does not stop. The paper asks for the filter (3.3, check 5 of
A.1) and gives no numbers: all limits are ours, set on real requests and on made-up loops.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from llm.text import UNSPACED_RANGES


@dataclass(frozen=True, slots=True)
class RepetitionLimits:
    """Sizes are in letters: three to a character of an unspaced script, two to a Korean syllable. Shares of
    the text are from 0 to 1.

    `loop_repeats` maps the largest size of a passage to how often it must stand in a row. A loop that runs
    to the end of the text needs one less from `tail_size` on, but never under three; a sentence that is
    nearly the whole text (`whole_share`) needs half, but never under four.
    """

    loop_repeats: tuple[tuple[int, int], ...] = ((6, 20), (15, 12), (30, 8), (60, 6), (200, 5), (500, 4))
    longest_repeats: int = 3
    tail_size: int = 30
    whole_share: float = 0.8
    whole_repeats: int = 4
    counting_factor: int = 2
    counting_share: float = 0.6
    layout_factor: int = 4
    layout_share: float = 0.5
    character_run: int = 50
    group_run: int = 25
    symbol_run: int = 60
    rule_run: int = 400
    rule_share: float = 0.5
    sentence_size: int = 15
    sentence_count: int = 8
    sentence_share: float = 0.6
    window_tokens: int = 300
    window_minimum: int = 100
    distinct_ngrams: float = 0.2
    distinct_tokens: float = 0.08

    def repeats_needed(self, size: int) -> int:
        """How often a passage of this size must stand in a row to be a loop."""
        steps = (repeats for largest, repeats in self.loop_repeats if size <= largest)
        return next(steps, self.longest_repeats)


DEFAULT_LIMITS = RepetitionLimits()


def usual_limits() -> dict[str, Any]:
    """The usual limits of the repetition filter, by name."""
    return {each.name: getattr(DEFAULT_LIMITS, each.name) for each in fields(RepetitionLimits)}


def problems_of_limits(limits: Mapping[str, Any]) -> list[str]:
    """What is wrong with limits that differ from the usual ones; empty when nothing is. Pure.

    A limit is of the kind that it usually is: a number from 0 on, whole where the usual one is, or pairs of
    whole numbers.
    """
    usual = usual_limits()
    problems = []
    for name, value in limits.items():
        if name not in usual:
            problems.append(f"There is no limit {name!r}; there are: {', '.join(usual)}.")
        elif isinstance(usual[name], tuple):
            if not (isinstance(value, list) and value and all(map(_is_pair, value))):
                problems.append(f"{name} has to be a list of pairs of whole numbers from 1 on.")
        elif not _is_number(value):
            problems.append(f"{name} has to be a number from 0 on.")
        elif isinstance(usual[name], int) and not isinstance(value, int):
            problems.append(f"{name} has to be a whole number.")
    return problems


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < float("inf")


def _is_pair(value: Any) -> bool:
    return (
        isinstance(value, list)
        and len(value) == 2
        and all(isinstance(each, int) and not isinstance(each, bool) and each > 0 for each in value)
    )


def limits_from(changed: Mapping[str, Any]) -> RepetitionLimits:
    """The usual limits but for those named. Raises ValueError that names what is wrong."""
    if problems := problems_of_limits(changed):
        raise ValueError(" ".join(problems))
    values: dict[str, Any] = {
        name: tuple(map(tuple, value)) if isinstance(value, list) else value
        for name, value in changed.items()
    }
    return replace(DEFAULT_LIMITS, **values)


@dataclass(frozen=True, slots=True)
class RepetitionReport:
    """`reason` is a sentence for a person; `rule` names the check; `passage` is what repeats."""

    degenerate: bool
    reason: str = ""
    rule: str = ""
    passage: str = ""


def degenerate_repetition(text: str, limits: RepetitionLimits = DEFAULT_LIMITS) -> RepetitionReport:
    """Whether a text loops, and where; the first rule that finds something is reported.

    >>> degenerate_repetition("Tell me a story. " * 30).rule
    'loop'
    """
    prose, prose_share = _prose(text)
    tokens = _tokenize(prose)
    return (
        _character_run(text, limits)
        or _loop(prose, tokens, prose_share, limits)
        or _counting_loop(prose, tokens, prose_share, limits)
        or _layout_loop(text, prose_share, limits)
        or _repeated_sentence(prose, prose_share, limits)
        or _low_variety(prose, tokens, limits)
        or RepetitionReport(False)
    )


# Reading


_LAYOUT = re.compile(
    r"^\s*\||\|.*\||\t.*\t"  # table rows
    r"|_{3,}|\.{5,}|…{3,}|[□☐]|\[\s?\]|[（(]\s{2,}[）)]"  # blanks to fill in
    r"|^.{0,80}[:：]\s*$"  # a label alone on its line
)
_FENCE = re.compile(r"^\s*(?:```|~~~)")
_MIN_LETTER_SHARE = 0.5

_MARKER = r"(?<![\w.])[(（]?\d{1,4}[.)、）:：](?!\d)"  # the number of a list item: no part of its text
_TOKEN = re.compile(
    rf"{_MARKER}|\d+|[{UNSPACED_RANGES}]|[^\W\d_{UNSPACED_RANGES}]+(?:['’-][^\W\d_{UNSPACED_RANGES}]+)*"
)
_UNSPACED = re.compile(f"[{UNSPACED_RANGES}]")
_SENTENCE_END = re.compile(r"[.!?;。！？；\n]+")
_CHARACTER_SIZE = 3
_SYLLABLE_SIZE = 2  # Hangul
_NUMBER = -1


class Tokens(NamedTuple):
    """One entry per token: `ids` of equal tokens are equal, `sizes` are in letters, `numbers` hold the value
    of a number and -1 elsewhere, `places` count all matches of the token pattern in the text."""

    ids: NDArray[np.int64]
    sizes: NDArray[np.int64]
    numbers: NDArray[np.int64]
    places: NDArray[np.int64]


def _prose(text: str) -> tuple[str, float]:
    """The lines of running text, and their share of all characters but whitespace."""
    lines = text.split("\n")
    fences = [number for number, line in enumerate(lines) if _FENCE.match(line)]
    code = {
        number
        for opening, closing in zip(fences[::2], fences[1::2], strict=False)
        for number in range(opening, closing + 1)
    }
    prose = "\n".join(line for number, line in enumerate(lines) if number not in code and _is_prose(line))
    return prose, len("".join(prose.split())) / max(1, len("".join(text.split())))


def _is_prose(line: str) -> bool:
    if not line.strip():
        return False
    letters, visible = sum(map(str.isalpha, line)), len("".join(line.split()))
    return letters > 0 and letters >= _MIN_LETTER_SHARE * visible and not _LAYOUT.search(line)


def _tokenize(text: str) -> Tokens:
    matches = _TOKEN.findall(text)
    spellings = dict.fromkeys(matches)
    folded: dict[str, int] = {}
    words = {spelling: folded.setdefault(spelling.casefold(), len(folded)) for spelling in spellings}
    ids = np.fromiter(map(words.__getitem__, matches), dtype=np.int64, count=len(matches))
    sizes = np.array([_size(word) for word in folded], dtype=np.int64)
    numbers = np.array([int(word[-15:]) if word.isdecimal() else _NUMBER for word in folded], dtype=np.int64)
    places = np.flatnonzero(sizes[ids] > 0)
    ids = ids[places]
    return Tokens(ids, sizes[ids], numbers[ids], places)


def _size(token: str) -> int:
    """In letters; 0 for the number of a list item, which is the only token to end in a mark."""
    if _UNSPACED.match(token):
        return _CHARACTER_SIZE
    if not token[-1].isalnum():
        return 0
    return len(token) * (_SYLLABLE_SIZE if "\uac00" <= token[0] <= "\ud7a3" else 1)


# Rules


_RULE_CHARACTERS = re.compile(r"[-_=.*·…─━~～#|+<>/\\,:\d]")
_LONGEST_GROUP = 8


def _character_run(text: str, limits: RepetitionLimits) -> RepetitionReport | None:
    """One character, or a group of up to eight, over and over, whatever the spacing."""
    compact = "".join(text.split())
    codes = np.frombuffer(compact.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    for width in range(1, min(_LONGEST_GROUP, len(codes) - 1) + 1):
        repeats = limits.character_run if width == 1 else limits.group_run
        for start, length in _stretches(codes, width):
            unit = compact[start : start + width]
            if length // width >= repeats and _is_noise(unit, length, len(compact), limits):
                return _report("character_run", unit, f"stands {length // width} times in a row")
    return None


def _is_noise(unit: str, length: int, everything: int, limits: RepetitionLimits) -> bool:
    """Letters always; rules, blanks and digits only when they are most of the text; other symbols between."""
    if unit.isalpha():
        return True
    if _RULE_CHARACTERS.search(unit):
        return length >= limits.rule_run and length >= limits.rule_share * everything
    return length >= limits.symbol_run


def _loop(
    prose: str, tokens: Tokens, prose_share: float, limits: RepetitionLimits
) -> RepetitionReport | None:
    """A passage of running text, repeated word for word with nothing between."""
    for start, period, length in _periodic_runs(tokens.ids):
        size = int(tokens.sizes[start : start + period].sum())
        needed = limits.repeats_needed(size)
        at_end = start + length == len(tokens.ids)
        if at_end and size >= limits.tail_size:
            needed = max(limits.longest_repeats, needed - 1)
        if size >= limits.sentence_size and prose_share * length >= limits.whole_share * len(tokens.ids):
            needed = min(needed, max(limits.whole_repeats, needed // 2))
        if length // period >= needed:
            where = " to the end of the text" if at_end else ""
            what = f"stands {length // period} times in a row{where}"
            return _report("loop", _passage(prose, tokens, start, period), what)
    return None


def _counting_loop(
    prose: str, tokens: Tokens, prose_share: float, limits: RepetitionLimits
) -> RepetitionReport | None:
    """A passage repeated with nothing new in it but numbers that count on by a constant step."""
    if not np.any(tokens.numbers != _NUMBER):
        return None
    ids = np.where(tokens.numbers == _NUMBER, tokens.ids, _NUMBER)
    for start, period, length in _periodic_runs(ids):
        size = int(tokens.sizes[start : start + period][ids[start : start + period] != _NUMBER].sum())
        needed = limits.counting_factor * limits.repeats_needed(size)
        share = prose_share * length / len(ids)
        if size < limits.sentence_size or share < limits.counting_share or length // period < needed:
            continue
        slots = tokens.numbers[start : start + length - length % period].reshape(-1, period)
        if np.all(np.ptp(np.diff(slots, axis=0), axis=0) == 0):
            return _report(
                "counting_loop",
                _passage(prose, tokens, start, period),
                f"stands {length // period} times in a row with nothing new but the numbers",
            )
    return None


def _layout_loop(text: str, prose_share: float, limits: RepetitionLimits) -> RepetitionReport | None:
    """A passage of any text, tables and code with it, that fills most of it many times over."""
    if prose_share > 1 - limits.layout_share:
        return None  # what is left besides running text cannot be most of it
    tokens = _tokenize(text)
    for start, period, length in _periodic_runs(tokens.ids):
        size = int(tokens.sizes[start : start + period].sum())
        needed = limits.layout_factor * limits.repeats_needed(size)
        if length // period >= needed and length >= limits.layout_share * len(tokens.ids):
            return _report(
                "layout_loop",
                _passage(text, tokens, start, period),
                f"stands {length // period} times in a row and fills most of the text",
            )
    return None


def _repeated_sentence(prose: str, prose_share: float, limits: RepetitionLimits) -> RepetitionReport | None:
    """One sentence or line that makes up most of the text, wherever it stands."""
    parts = _SENTENCE_END.split(re.sub(_MARKER, "", prose))
    counts = Counter(" ".join(part.casefold().split()) for part in parts)
    everything = sum(len(sentence) * count for sentence, count in counts.items())
    for sentence, count in counts.most_common(3):
        share = prose_share * len(sentence) * count / max(1, everything)
        size = int(_tokenize(sentence).sizes.sum())
        if count >= limits.sentence_count and size >= limits.sentence_size and share >= limits.sentence_share:
            what = f"stands {count} times and makes up most of the text"
            return _report("repeated_sentence", sentence, what)
    return None


def _low_variety(prose: str, tokens: Tokens, limits: RepetitionLimits) -> RepetitionReport | None:
    """A stretch of text made of very few distinct words or four-word sequences."""
    length = min(len(tokens.ids), limits.window_tokens)
    if length < limits.window_minimum:
        return None
    for size, least, what in (
        (_GRAM, limits.distinct_ngrams, f"sequences of {_GRAM} words"),
        (1, limits.distinct_tokens, "words"),
    ):
        keys = _gram_keys(tokens.ids, size)
        last = max(0, len(keys) - length)
        starts = np.append(np.arange(0, last, length // 2), last)
        windows = np.sort(sliding_window_view(keys, min(length, len(keys)))[starts], axis=1)
        distinct = 1 + np.count_nonzero(windows[:, 1:] != windows[:, :-1], axis=1)
        poorest = int(np.argmin(distinct))
        share = float(distinct[poorest]) / windows.shape[1]
        if share < least:
            passage = _passage(prose, tokens, int(starts[poorest]), min(30, length))
            return _report("low_variety", passage, f"begins a stretch with {share:.0%} distinct {what}")
    return None


# Finding


_GRAM = 4
_MAX_PERIODS = 24
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


def _periodic_runs(ids: NDArray[np.int64]) -> Iterator[tuple[int, int, int]]:
    """Stretches that repeat with one period: (start, period, length) in tokens, longest first.

    In a loop n-grams were last seen exactly one period ago, so the distances that hold for the most
    positions in a row are the periods worth trying; each is then followed exactly.
    """
    if len(ids) <= _GRAM:
        return
    earlier = _previous_occurrence(_gram_keys(ids, _GRAM))
    distances = np.where(earlier < 0, 0, np.arange(len(earlier)) - earlier)
    bounds = np.flatnonzero(np.diff(distances, prepend=-1))
    lengths = np.diff(bounds, append=len(distances))
    steady = (lengths >= _GRAM) & (distances[bounds] > 0)
    order = np.argsort(-lengths[steady], kind="stable")
    periods = dict.fromkeys(distances[bounds[steady][order]].tolist())
    runs = []
    for period in list(periods)[:_MAX_PERIODS]:
        runs += [(start, period, length) for start, length in _stretches(ids, period)]
    yield from sorted(runs, key=lambda run: run[2], reverse=True)


def _stretches(entries: NDArray[np.generic], period: int) -> Iterator[tuple[int, int]]:
    """Where each entry equals the one a period before, for at least two periods more: (start, length)."""
    breaks = np.flatnonzero(entries[period:] != entries[:-period])
    edges = np.concatenate(([-1], breaks, [len(entries) - period]))
    widths = np.diff(edges) - 1
    for place in np.flatnonzero(widths >= 2 * period):
        yield int(edges[place]) + 1, int(widths[place]) + period


def _gram_keys(ids: NDArray[np.int64], size: int) -> NDArray[np.uint64]:
    """A hash for each n-gram of tokens."""
    tokens = ids.astype(np.uint64)
    count = len(tokens) - size + 1
    keys = np.zeros(count, dtype=np.uint64)
    for offset in range(size):
        keys = (keys ^ tokens[offset : offset + count]) * _MULTIPLIER
        keys ^= keys >> np.uint64(29)
    return keys


def _previous_occurrence(keys: NDArray[np.uint64]) -> NDArray[np.int64]:
    """For each position, where its key stood last before it; -1 for the first."""
    order = np.argsort(keys, kind="stable")
    same = keys[order[1:]] == keys[order[:-1]]
    earlier = np.full(len(keys), -1, dtype=np.int64)
    earlier[order[1:][same]] = order[:-1][same]
    return earlier


# Reporting


def _passage(text: str, tokens: Tokens, start: int, count: int) -> str:
    first, last = int(tokens.places[start]), int(tokens.places[start + count - 1])
    matches = list(islice(_TOKEN.finditer(text), first, last + 1))
    return text[matches[0].start() : matches[-1].end()]


def _report(rule: str, passage: str, what: str) -> RepetitionReport:
    """The passage is whole in `passage` and shortened in the sentence."""
    shown = passage if len(passage) <= 60 else passage[:60].rstrip() + "…"
    return RepetitionReport(True, f"'{shown}' {what}.", rule, passage)
