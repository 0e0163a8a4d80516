"""Mutated replies through every parser: nothing but a refusal may come of them, and no score out of bounds.

    python -m benchmarks.fuzz [--count 100000] [--seed 0]

Takes the recorded and the handwritten replies, changes each in up to eight places (cuts, repeats, swaps of
punctuation, other widths, control characters, lines doubled, moved or lost) and reads it as dimensions, as
intervals, as a rubric and as an assessment. Prints how many were read and how many refused; a fault ends it
with the seed and the reply.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from llm.text import answer_text
from llm.types import UnusableReplyError
from rubrics.assessment import parse_assessment, reward
from rubrics.construction import MiningTrace, assemble_rubric
from rubrics.parsing import parse_dimensions, parse_intervals
from rubrics.rubric import InvalidRubricError, Rubric, name_key
from rubrics.rubric_reply import parse_rubric
from tests.replies.handwritten import HANDWRITTEN

REPLIES = Path(__file__).parent.parent / "tests" / "replies"
LONGEST = 6_000
"""Characters of a reply that are mutated: parsing is linear, and more of the same finds no more."""

MARKS = (*':：,，.。-–～/／|*#"“”{}[]\\<>=【】（）', "**", "```")
FRAGMENTS = (
    *("\n", "\n\n", "\r\n", "\t", "\0", "\ud800", "\u200b", "\ufeff", "\u2028", "\x85", "\u202e"),
    *("name:", "reason：", "名称：", "理由：", "score: 11/10", "score: -1/10", "分数：９／10", "score: 9/0"),
    *(
        "comments and suggestions:",
        "1-2:",
        "3–4",
        "<think>",
        "</think>",
        '"name": "',
        '", "3-4": "',
        "9" * 30,
    ),
    *('{"', '"}', "[{", "}]", '\\"', "\\u12", "```json\n", "---\n", "NaN", "1e999", "null"),
)
WIDER = str.maketrans({chr(code): chr(code + 0xFEE0) for code in range(0x21, 0x7F)})
NARROWER = str.maketrans({chr(code + 0xFEE0): chr(code) for code in range(0x21, 0x7F)})


Mutation = Callable[[str, random.Random], str]


class FaultError(Exception):
    """A parser did something other than read or refuse."""


def replies() -> list[str]:
    """Every recorded and handwritten reply, each once."""
    found = [one.reply for one in HANDWRITTEN]
    for path in sorted(REPLIES.glob("*.jsonl")):
        lines = path.read_text(encoding="utf-8").split("\n")
        found += [json.loads(line)["reply"] for line in lines if line]
    return list(dict.fromkeys(reply[:LONGEST] for reply in found))


def mutated(reply: str, dice: random.Random) -> str:
    """The reply changed in one to eight places."""
    for _ in range(dice.randint(1, 8)):
        mutate: Mutation = dice.choice(MUTATIONS)
        reply = mutate(reply, dice)
    return reply


def _span(reply: str, dice: random.Random, longest: int = 40) -> tuple[int, int]:
    start = dice.randint(0, len(reply))
    return start, min(len(reply), start + dice.randint(0, longest))


def _delete(reply: str, dice: random.Random) -> str:
    start, end = _span(reply, dice)
    return reply[:start] + reply[end:]


def _insert(reply: str, dice: random.Random) -> str:
    start, _ = _span(reply, dice)
    piece: str = dice.choice((*FRAGMENTS, *MARKS, chr(dice.randint(0, 0xFFFF)), chr(dice.randint(0, 0x1F))))
    return reply[:start] + piece + reply[start:]


def _swap_mark(reply: str, dice: random.Random) -> str:
    present = [mark for mark in MARKS if mark in reply]
    if not present:
        return reply
    old, new = dice.choice(present), dice.choice(MARKS)
    return reply.replace(old, new, dice.choice((1, 1, 1, -1)))


def _truncate(reply: str, dice: random.Random) -> str:
    return reply[: dice.randint(0, len(reply))]


def _repeat(reply: str, dice: random.Random) -> str:
    start, end = _span(reply, dice)
    return reply[:end] + reply[start:end] * dice.randint(1, 3) + reply[end:]


def _widen(reply: str, dice: random.Random) -> str:
    start, end = _span(reply, dice)
    return reply[:start] + reply[start:end].translate(dice.choice((WIDER, NARROWER))) + reply[end:]


def _lines(reply: str, dice: random.Random) -> str:
    lines = reply.split("\n")
    place, other = dice.randrange(len(lines)), dice.randrange(len(lines))
    match dice.randrange(4):
        case 0:
            lines.insert(other, lines[place])
        case 1:
            del lines[place]
        case 2:
            lines[place], lines[other] = lines[other], lines[place]
        case _:
            lines[place] = dice.choice(("  ", "- ", "> ", "**", "\u3000", "1. ")) + lines[place]
    return "\n".join(lines)


MUTATIONS: tuple[Mutation, ...] = (
    *(_delete, _insert, _insert, _swap_mark, _repeat, _widen, _lines, _lines, _truncate),
)


def check(reply: str) -> Iterator[str]:
    """Reads a reply as everything; yields the parsers that could. Raises FaultError for what must not be."""
    try:
        answer = answer_text(reply)
    except UnusableReplyError:
        answer = reply
    for reader in (_dimensions, _intervals, _rubric, _serialized):
        try:
            reader(answer)
        except (UnusableReplyError, InvalidRubricError):
            continue
        yield reader.__name__.strip("_")
    if _assessment(answer):
        yield "assessment"


def _dimensions(text: str) -> None:
    found = parse_dimensions(text)
    if not found or len({name_key(one.name) for one in found}) < len(found):
        raise FaultError("no dimensions, or one twice")


def _intervals(text: str) -> None:
    found = parse_intervals(text)
    scores = [score for one in found for score in (one.low, one.high)]
    if not found or scores != sorted(set(scores)) or any(one.high != one.low + 1 for one in found):
        raise FaultError("intervals that do not rise by two")


def _rubric(text: str) -> None:
    rubric = assemble_rubric(MiningTrace(specifications=tuple(parse_rubric(text))))
    if Rubric.from_json(rubric.serialize()) != rubric or not 3 <= len(rubric.dimensions) <= 8:
        raise FaultError("a rubric that is not what it says")


def _serialized(text: str) -> None:
    Rubric.from_json(text)


def _assessment(text: str) -> bool:
    given = reward(parse_assessment(text, maxima={"Plot": 10}))
    if not 0 <= given.value <= 1:
        raise FaultError(f"a reward of {given.value}")
    return not given.fallback


def fuzz(count: int, seed: int) -> Counter[str]:
    """`count` mutated replies; how many each parser could read. Raises FaultError with the seed and reply."""
    originals = replies()
    read: Counter[str] = Counter()
    for number in range(count):
        dice = random.Random(f"{seed} {number}")
        reply = mutated(dice.choice(originals), dice)
        try:
            read.update(check(reply))
        except Exception as error:
            raise FaultError(f"seed {seed}, number {number}: {error!r} from {reply!r}") from error
    return read


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    try:
        read = fuzz(options.count, options.seed)
    except FaultError as fault:
        sys.exit(f"FAULT: {fault}")
    parts = ", ".join(f"{count:,} as {name}" for name, count in sorted(read.items()))
    print(f"{options.count:,} mutated replies, no fault; read: {parts}")


if __name__ == "__main__":
    main()
