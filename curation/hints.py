"""What code notices about a reconstruction beside its source, for a reviewer who has judged first. Pure.

A hint is an observation for one check, never a verdict: it says what was found and where. It is right to
ignore one. All rules and limits are ours; they are set so that an ordinary reconstruction gets none.

    source, reconstruction ─┬─► task clarity: reads like an answer, or like remarks on the editing
                            ├─► constraint consistency: another language, a demand that is gone
                            ├─► contextual coherence: speaks of a passage that is not there
                            ├─► substantive variation: wording taken over
                            └─► usable length: much shorter or longer, ends in mid-sentence
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from curation.languages import mostly_unspaced
from llm.text import UNSPACED_RANGES

Side = Literal["source", "reconstruction"]

TASK_CLARITY = "task_clarity"
CONSTRAINT_CONSISTENCY = "constraint_consistency"
CONTEXTUAL_COHERENCE = "contextual_coherence"
SUBSTANTIVE_VARIATION = "substantive_variation"
USABLE_LENGTH = "usable_length"

LONGEST_PASSAGE = 400
"""Characters of a passage that a hint points at."""


@dataclass(frozen=True, slots=True)
class Passage:
    """Where to look; `start` and `end` count characters (code points) of that side's text."""

    side: Side
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Hint:
    """`check` is a check's name; `sentence` is for a person."""

    check: str
    sentence: str
    passage: Passage | None = None


def find_hints(
    source: str, reconstruction: str, *, source_language: str = "", language: str = ""
) -> tuple[Hint, ...]:
    """Everything noticed, in the order of the checks. Languages are ISO 639-1 codes, '' or 'und' if unknown.

    >>> [hint.sentence for hint in find_hints("Write a poem about the sea.", "Sure! The sea is wide.")]
    ["It begins like a reply: 'Sure!'"]
    """
    return (
        *_reads_like_an_answer(reconstruction),
        *_another_language(source_language, language),
        *_demands_that_are_gone(source, reconstruction),
        *_missing_passage(reconstruction),
        *_copied(source, reconstruction),
        *(() if _languages_differ(source_language, language) else _length_ratio(source, reconstruction)),
        *_abrupt_end(reconstruction),
    )


# Numbers

_WORDED = "one|two|three|four|five|six|seven|eight|nine|ten|twelve|fifteen|twenty|fifty"
_NUMBER = rf"(?:\d[\d,]*|(?:{_WORDED})(?: (?:hundred|thousand))?|a (?:hundred|thousand))"
_RANGE = rf"\b{_NUMBER}(?:\s*(?:-|–|to|or|and)\s*{_NUMBER})?[\s-]*"
_HAN_NUMBER = "(?:[0-9０-９]+|[一二两三四五六七八九十百千万几]+)"
_HAN_RANGE = rf"{_HAN_NUMBER}\s*(?:(?:-|—|~|～|到|至)\s*{_HAN_NUMBER}\s*)?"
LENGTH = re.compile(
    rf"{_RANGE}(?:words?|characters?|pages?|lines?|minutes?)\b"
    rf"|{_HAN_RANGE}(?:个?(?:汉字|字|词)(?!体|符)|页|行|分钟)",
    re.IGNORECASE,
)


# Task clarity

_EDGE = 1_500
"""Characters at the beginning and at the end of a text in which a request says what it wants."""

_REPLY_OPENING = re.compile(
    r"\s*(?:(?:sure|certainly|of course|absolutely|no problem|great question)\b\s*[!,.:—-]"
    r"|(?:好的|好呀|没问题|当然可以|当然)\s*[，,！!。.：:])",
    re.IGNORECASE,
)
_COMMENTARY = re.compile(
    r"(?:here(?:'s| is| are)|below is|this is) (?:the|an?|your|my) "
    r"(?:rewritten|revised|reconstructed|reworked|improved|expanded|enriched|updated) [^.\n]{0,60}"
    r"|\bI(?:'ve| have) (?:rewritten|revised|reworked|expanded|changed|replaced) [^.\n]{0,60}"
    r"|\b(?:let me know if you|I hope this (?:helps|meets)|feel free to (?:ask|adjust))[^.\n]{0,60}"
    r"|(?:以下|下面|这)是[^。\n]{0,12}(?:改写|重写|修改|优化|扩写|润色)[^。\n]{0,20}"
    r"|我(?:已经?|对)[^。\n]{0,20}(?:改写|重写|修改|替换|扩写)[^。\n]{0,20}"
    r"|(?:希望(?:这|以上)[^。\n]{0,16}(?:帮助|满意)|如(?:需|果需要)[^。\n]{0,10}(?:修改|调整)[^。\n]{0,16}告诉我)",
    re.IGNORECASE,
)
_REQUEST = re.compile(
    r"\b(?:write|writing|introduce|list|find|come up|draft|compose|create|prepare|produce|develop|design"
    r"|describe|explain|summari[sz]e|rewrite|translate|outline|plan|tell|give|make|help|generate|craft"
    r"|continue|complete|expand|edit|polish|analy[sz]e"
    r"|compare|discuss|review|provide|imagine|please|should|must|need(?:s|ed)?|want|would like|your task"
    r"|assignment|requirements?)\b|[?？]"
    r"|请|写|出\d|撰|创作|生成|编|拟|帮|要求|需要|应当|必须|如何|怎么|设计|制作|续|概括|总结|翻译|改成|分析|介绍|说明|谈谈|作文|题目",
    re.IGNORECASE,
)


def _reads_like_an_answer(text: str) -> Iterator[Hint]:
    if opening := _REPLY_OPENING.match(text):
        yield _hint(TASK_CLARITY, f"It begins like a reply: {_quoted(opening[0])}", opening)
        return
    for remark in edge_matches(_COMMENTARY, text):
        yield _hint(TASK_CLARITY, "It carries a remark on its own editing.", remark)
        return
    asks = next(edge_matches(_REQUEST, text), None) or next(edge_matches(LENGTH, text), None)
    if text.strip() and not asks:
        yield Hint(
            TASK_CLARITY,
            "Nothing in it asks for something to be written: it may be an answer, not a request.",
        )


# Intent and constraint consistency

_LANGUAGES = {
    **{"en": "English", "zh": "Chinese", "ja": "Japanese", "ko": "Korean", "de": "German", "fr": "French"},
    **{
        "es": "Spanish",
        "pt": "Portuguese",
        "it": "Italian",
        "ru": "Russian",
        "ar": "Arabic",
        "vi": "Vietnamese",
    },
}


def _languages_differ(one: str, other: str) -> bool:
    return not {one, other} & {"", "und"} and one != other


def _another_language(source: str, reconstruction: str) -> Iterator[Hint]:
    if _languages_differ(source, reconstruction):
        names = [_LANGUAGES.get(code, code) for code in (source, reconstruction)]
        yield Hint(CONSTRAINT_CONSISTENCY, f"The source is in {names[0]}, the reconstruction in {names[1]}.")


_PARTS = (
    "paragraph|section|part|chapter|stanza|verse|scene|act|point|bullet point|item|step|example|slide"
    "|sentence"
)

DEMANDS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (name, re.compile(pattern, re.IGNORECASE))
    for name, pattern in (
        ("a length", LENGTH.pattern),
        (
            "a number of parts",
            rf"(?!one\b){_RANGE}(?<=[\s-])(?:\w+[\s-]+)?(?:{_PARTS})s?\b"
            rf"|{_HAN_NUMBER}\s*个?(?:段落?|部分|章节?|小节|节|要点|例子|步骤|场|幕|条(?!件)|点(?!钟)|句)",
        ),
        (
            "a table",
            r"\b(?:in|as|with|into|include|including|add|using|use) (?:an? |the )?(?:\w+ )?tables?\b|表格",
        ),
        ("a list", r"\bbullet(?:ed|s)?\b|\b(?:numbered|as a|in a) list\b|列表|逐条|分条|分点"),
        ("a format", r"\b(?:JSON|YAML|XML|HTML|CSV|LaTeX|Markdown)\b"),
        ("headings", r"\b(?:sub-?)?headings?\b|小标题|副标题|分标题"),
        ("a person to write in", r"\b(?:first|second|third)[- ]person\b|第[一二三]人称"),
        (
            "rhyme or a verse form",
            r"\b(?:rhym(?:e|es|ed|ing)|sonnet|haiku|limerick|iambic|villanelle)\b"
            r"|押韵|对仗|平仄|[五七][律绝言]|词牌",
        ),
    )
)
"""Kinds of demands that a request states in so many words, each with the expression that finds one."""


def _demands_that_are_gone(source: str, reconstruction: str) -> Iterator[Hint]:
    """A demand counts as kept while the reconstruction has any of its kind: other numbers are no loss."""
    for name, pattern in DEMANDS:
        demand = next(edge_matches(pattern, source), None)
        if demand and not pattern.search(reconstruction):
            said = f"The source asks for {name} ({_quoted(demand[0])}); the reconstruction does not."
            yield _hint(CONSTRAINT_CONSISTENCY, said, demand, "source")


# Contextual coherence

_MATERIAL = (
    "text|passage|article|essay|story|poem|letter|e-?mail|message|excerpt|extract|paragraph|transcript|notes|draft"
    "|report|speech|dialogue|conversation|abstract|summary|review|data|document|material|materials|interview"
)
_HAN_MATERIAL = (
    "文章|文字|材料|段落|文本|故事|诗歌?|信件?|邮件|对话|报道|报告|摘录|片段|原文|草稿|资料|数据"
    "|采访|演讲稿|初稿"
)
_SPEAKS_OF = re.compile(
    rf"\b(?:the )?following (?:\w+ ){{0,2}}(?:{_MATERIAL})s?\b"
    rf"|\b(?:{_MATERIAL})s? (?:given |provided |quoted |printed |set out |shown )?(?:below|above)\b(?! \d)"
    rf"|\bthe (?:attached|enclosed|above) (?:\w+ ){{0,2}}(?:{_MATERIAL})s?\b"
    rf"|(?:以下|下面|下列|下述|上面|上述|以上)(?:这[段篇份]|的|提供的)?[^，。；\n]{{0,6}}(?:{_HAN_MATERIAL})"
    rf"|(?:所给|给定|提供的|附上的|附件中?的?)(?:{_HAN_MATERIAL})",
    re.IGNORECASE,
)
_BEFORE = re.compile("above|上面|上述|以上", re.IGNORECASE)
LEAST_MATERIAL = 160
"""Letters (an unspaced character counts three) that a passage has at least."""


def _missing_passage(text: str) -> Iterator[Hint]:
    """There is no room for the passage where the text says that it stands."""
    for mention in _SPEAKS_OF.finditer(text):
        sides = (text[: mention.start()],) if _BEFORE.search(mention[0]) else (text[mention.end() :],)
        if all(_letters(side) < LEAST_MATERIAL for side in sides):
            said = f"It speaks of a passage ({_quoted(mention[0])}), and none seems to be there."
            yield _hint(CONTEXTUAL_COHERENCE, said, mention)
            return


# Substantive variation

_WORD = re.compile(rf"[{UNSPACED_RANGES}]|[^\W_{UNSPACED_RANGES}]+(?:['’-][^\W_{UNSPACED_RANGES}]+)*")
_COPIED_SHARE = 0.35
_GRAMS = {True: 10, False: 6}
_LONG_RUNS = {True: 50, False: 25}
"""Unspaced text -> characters, other text -> words: what counts as taken over, and as a long passage."""


def _copied(source: str, reconstruction: str) -> Iterator[Hint]:
    unspaced = mostly_unspaced(reconstruction)
    size = _GRAMS[unspaced]
    words = list(_WORD.finditer(reconstruction))
    known = set(_grams([word[0].casefold() for word in _WORD.finditer(source)], size))
    taken = [gram in known for gram in _grams([word[0].casefold() for word in words], size)]
    first, last = _longest(taken)
    if first == last:
        return
    length = last - first + size - 1
    share = len({place + each for place, is_in in enumerate(taken) if is_in for each in range(size)}) / len(
        words
    )
    place = Passage(
        "reconstruction", words[first].start(), _cut(words[first].start(), words[first + length - 1].end())
    )
    unit = "characters" if unspaced else "words"
    if share >= _COPIED_SHARE:
        said = f"{share:.0%} of its {unit} are taken over in stretches; the longest has {length}."
        yield Hint(SUBSTANTIVE_VARIATION, said, place)
    elif length >= _LONG_RUNS[unspaced]:
        yield Hint(
            SUBSTANTIVE_VARIATION, f"A passage of {length} {unit} stands in the source as it is.", place
        )


def _grams(words: list[str], size: int) -> Iterator[tuple[str, ...]]:
    return zip(*(words[offset:] for offset in range(size)), strict=False)


def _longest(flags: list[bool]) -> tuple[int, int]:
    """Start and end of the longest stretch of true ones; two equal numbers without any."""
    best, start = (0, 0), 0
    for place, flag in enumerate([*flags, False]):
        if not flag:
            best = max(best, (start, place), key=lambda stretch: stretch[1] - stretch[0])
            start = place + 1
    return best


# Textual integrity and usable length

_SHORT, _LONG = 0.6, 1.8
_LEAST_LENGTH_CHANGE = 100


def _length_ratio(source: str, reconstruction: str) -> Iterator[Hint]:
    """A.1 asks the model to match the source's length in characters."""
    before, after = len(source.strip()), len(reconstruction.strip())
    if not before or not after or abs(before - after) < _LEAST_LENGTH_CHANGE:
        return
    if after / before < _SHORT:
        said = (
            f"It is much shorter than its source: {after:,} of {before:,} characters ({after / before:.0%})."
        )
        yield Hint(USABLE_LENGTH, said)
    elif after / before > _LONG:
        said = f"It is {after / before:.1f} times as long as its source: {after:,} to {before:,} characters."
        yield Hint(USABLE_LENGTH, said)


_UNFINISHED = re.compile(
    r"[^\n]{0,40}(?:[,，、(（\[【“‘《-]|\b(?:and|or|the|an?|of|to|with|for|in|that|which|because|but|by)|[的和与及在是把被])\s*\Z",
    re.IGNORECASE,
)


def _abrupt_end(text: str) -> Iterator[Hint]:
    if ending := _UNFINISHED.search(text[-80:]):
        offset = max(0, len(text) - 80)
        place = Passage("reconstruction", offset + ending.start(), offset + ending.end())
        yield Hint(USABLE_LENGTH, "It ends in the middle of a sentence.", place)


# Pointing


def edge_matches(pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    """Matches near the beginning and the end: what stands between is mostly material."""
    tail = max(_EDGE, len(text) - _EDGE)
    yield from pattern.finditer(text, 0, _EDGE)
    yield from pattern.finditer(text, tail)


def _hint(check: str, sentence: str, match: re.Match[str], side: Side = "reconstruction") -> Hint:
    return Hint(check, sentence, Passage(side, match.start(), _cut(match.start(), match.end())))


def _cut(start: int, end: int) -> int:
    return min(end, start + LONGEST_PASSAGE)


def _quoted(passage: str) -> str:
    words = " ".join(passage.split())
    return f"'{words[:60]}…'" if len(words) > 60 else f"'{words}'"


def _letters(text: str) -> int:
    return sum(3 if re.match(f"[{UNSPACED_RANGES}]", each) else 1 for each in text if each.isalnum())
