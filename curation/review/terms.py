"""The words of the review room: what goes in, what comes out, and what can be in the way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any, Literal

AUTOMATIC_REVIEWER = "automatic-reviewer"
"""User name of the program that reviews in demonstrations; its reviews are marked `automatic`."""

LONGEST_NOTE = 5_000
"""Characters of a note, a flag's reason, or a quoted passage (ours)."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """A passage of one of the two texts; `start` and `end` count its characters (code points)."""

    side: str
    start: int
    end: int
    text: str

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class VerdictInput:
    """One check as it was filled in; '' for a verdict that was not given."""

    verdict: str
    note: str = ""
    evidence: Evidence | None = None


@dataclass(frozen=True, slots=True)
class LeftForOthers:
    """Items that are not settled, but of which nothing is left to do for one reviewer.

    `second_reviews` counts those that they have reviewed and somebody else is to review, `flags` those that
    are put aside, `disagreements` those that wait for adjudication.
    """

    second_reviews: int = 0
    flags: int = 0
    disagreements: int = 0

    def __bool__(self) -> bool:
        return bool(self.second_reviews or self.flags or self.disagreements)


@dataclass(frozen=True, slots=True)
class QueueState:
    """`waiting` counts the items that this reviewer could still take, the one in hand included; it is exact
    up to 200, and with `many` there are more.

    `held_until` is when the first item that others hold comes free, unless its reader goes on. `for_others`
    is looked up only when nothing is waiting.
    """

    waiting: int
    many: bool
    held_by_others: int
    held_until: datetime | None
    for_others: LeftForOthers = field(default_factory=LeftForOthers)


@dataclass(frozen=True, slots=True)
class LastAction:
    """What a reviewer did last, and with which item."""

    kind: Literal["accept", "reject", "skip", "flag"]
    reconstruction_id: int
    at: datetime


class ReviewError(Exception):
    """Input that cannot be taken as it is: messages by check name, or under 'decision'."""

    def __init__(self, messages: Mapping[str, str]) -> None:
        super().__init__("; ".join(messages.values()))
        self.messages = dict(messages)


class LeaseTakenError(Exception):
    """Other reviewers hold the item; the first lease ends at `until`. It never says whose."""

    def __init__(self, until: datetime) -> None:
        super().__init__(f"another reviewer holds this item until {until:%H:%M} UTC")
        self.until = until


class LeaseExpiredError(Exception):
    """The reviewer holds no live lease on the item, but could take it again."""


class NotWaitingError(Exception):
    """The item is not waiting for review, or this reviewer has decided on it already."""


class UndoError(Exception):
    """The last action cannot be taken back; the message says why."""
