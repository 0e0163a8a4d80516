"""From a judge's reply to a reward: item scores, their sum over their maxima, the fallback (B.5). Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from rubrics.parsing import NAME_WORDS, FieldLabels, is_fence, split_lines
from rubrics.rubric import name_key

FALLBACK_REWARD = 0.4
"""The reward when a reply holds no valid score (paper B.5). It says nothing about the response."""

_FIELDS = FieldLabels(
    name=NAME_WORDS,
    score=r"score|分数|得分|评分",
    comments=(
        r"comments?(?:\s*+(?:and|&)\s*+suggestions?)?|suggestions?"
        r"|(?:评语|评论|评价|点评|意见)(?:[与和及](?:改进)?建议)?|建议"
    ),
)
_SCORE = re.compile(r"(-?[0-9]{1,6})\s*+分?\s*+(?:/\s*+(-?[0-9]{1,6})\s*+分?)?")
_PLAIN = str.maketrans("０１２３４５６７８９／−－", "0123456789/--")
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class ItemScore:
    """What a judge gave one dimension: integers as written, which need not be valid scores.

    `maximum` is None when neither the reply nor the rubric gives one.
    """

    name: str
    score: int
    maximum: int | None
    comment: str

    @property
    def valid(self) -> bool:
        """A positive maximum and a score between 0 and it (paper B.5)."""
        return self.maximum is not None and self.maximum > 0 and 0 <= self.score <= self.maximum


@dataclass(frozen=True, slots=True)
class Reward:
    """`value` in [0, 1]; with `fallback` set it is FALLBACK_REWARD, for want of any valid item.

    `valid` items went into it and `dropped` ones did not.
    """

    value: float
    fallback: bool
    valid: int
    dropped: int


def reward(items: Iterable[ItemScore]) -> Reward:
    """Sum of the valid scores over the sum of their maxima, within [0, 1] (paper B.5).

    >>> reward([ItemScore("Plot", 9, 10, ""), ItemScore("Tone", 3, 6, ""), ItemScore("Pace", 11, 10, "")])
    Reward(value=0.75, fallback=False, valid=2, dropped=1)
    """
    given = list(items)
    valid = [(item.score, item.maximum) for item in given if item.valid and item.maximum is not None]
    if not valid:
        return Reward(FALLBACK_REWARD, fallback=True, valid=0, dropped=len(given))
    ratio = sum(score for score, _ in valid) / sum(maximum for _, maximum in valid)
    return Reward(
        min(1.0, max(0.0, ratio)), fallback=False, valid=len(valid), dropped=len(given) - len(valid)
    )


def parse_assessment(text: str, *, maxima: Mapping[str, int] | None = None) -> list[ItemScore]:
    """Reads `name:` / `score:` / `comments and suggestions:` items in the reply's order (paper G.4).

    Never raises: what is no item is left out. An item has a name and, between that and its comments, one
    score field with whole numbers and nothing else: `9`, `9/10`, `9／10 分`. No score field, two of them,
    `9.5/10` or words beside the number make it no item. Comments run until the next name, and a line in
    them that looks like a score is a part of the comments: it can neither change a score nor remove one.
    Out-of-range numbers (`11/10`, `-1/10`, `9/0`) are kept here for the report, and `reward` drops them.

    `maxima` gives the rubric's maxima by dimension name, for scores written without one. Without it such
    a score has the maximum None and is not valid: 10 would be a guess.

    >>> parse_assessment("name: Plot\\nscore: 9/10\\ncomments and suggestions: Tight; end it sooner.")
    [ItemScore(name='Plot', score=9, maximum=10, comment='Tight; end it sooner.')]
    """
    known = {name_key(name): maximum for name, maximum in (maxima or {}).items()}
    items = []
    for block in _blocks(text):
        score = _SCORE.fullmatch(_only(block.scores))
        if score is None or not block.name:
            continue
        stated = int(score[2]) if score[2] else known.get(name_key(block.name))
        comment = "\n".join(block.comment or []).strip()
        items.append(ItemScore(block.name, int(score[1]), stated, comment))
    return items


def departures(items: Sequence[ItemScore], maxima: Mapping[str, int]) -> list[str]:
    """In what a reading departs from its rubric, as sentences for people; nothing when it is whole.

    It is whole when it scores each dimension of the rubric, under its own name and out of its own maximum,
    and nothing else. The same dimension twice with the same score is no departure. (Policy `checked`, ours.)

    >>> departures([ItemScore("Plot", 9, 10, ""), ItemScore("Tone", 3, 5, "")], {"Plot": 10, "Pace": 8})
    ['the rubric has no dimension "Tone"', '"Pace" is not scored']
    """
    known = {name_key(name): maximum for name, maximum in maxima.items()}
    first: dict[str, ItemScore] = {}
    found = []
    for item in items:
        maximum = known.get(name_key(item.name))
        earlier = first.setdefault(name_key(item.name), item)
        if maximum is None:
            found.append(f'the rubric has no dimension "{item.name}"')
        elif earlier.score != item.score:
            found.append(f'"{item.name}" is scored twice, {earlier.score} and {item.score}')
        elif item.maximum != maximum:
            found.append(f'"{item.name}" is scored out of {item.maximum}, its maximum is {maximum}')
        elif not item.valid:
            found.append(f'"{item.name}" has the score {item.score} of {maximum}')
    found += [f'"{name}" is not scored' for name in maxima if name_key(name) not in first]
    return found


def first_of_each(items: Iterable[ItemScore]) -> list[ItemScore]:
    """The items without those whose dimension came before."""
    first: dict[str, ItemScore] = {}
    for item in items:
        first.setdefault(name_key(item.name), item)
    return list(first.values())


@dataclass(slots=True)
class _Block:
    """The lines from one name field to the next; `comment` is None until its label has come."""

    name: str
    scores: list[str] = field(default_factory=list)
    comment: list[str] | None = None


def _blocks(text: str) -> Iterator[_Block]:
    block: _Block | None = None
    for line in split_lines(_UNSTORABLE.sub("\ufffd", text)):
        label, value = _FIELDS.match(line) or ("", line.strip())
        if label == "name":
            if block:
                yield block
            block = _Block(" ".join(value.split()))
        elif block is None or is_fence(line):
            continue
        elif block.comment is not None:
            block.comment.append(line.strip())
        elif label == "score":
            block.scores.append(value)
        elif label == "comments":
            block.comment = [value]
    if block:
        yield block


def _only(scores: list[str]) -> str:
    """The one score field's text in plain digits; empty when there is none or more than one."""
    return scores[0].translate(_PLAIN) if len(scores) == 1 else ""
