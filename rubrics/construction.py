"""What every way of constructing a rubric has in common: its bounds, its trace, its outcome (A.4). Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from llm.types import UnusableReplyError
from rubrics.parsing import Dimension, ScoreInterval
from rubrics.rubric import MIN_DIMENSIONS, MIN_LEVELS, Rubric, RubricDimension, numbered_levels


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptanceBounds:
    """How much a reply must hold to be taken; the defaults are the paper's (A.4).

    `min_discovered`, `min_consolidated`: dimensions in a discovery and a consolidation reply, which are asked
    for 15 to 20 and 5 to 8. `max_consolidated`: dimensions kept, the first ones. `min_intervals`: score
    intervals of a dimension. `min_dimensions`: scored dimensions of a rubric.

    Raises ValueError for bounds that no rubric could meet.
    """

    min_discovered: int = 2
    min_consolidated: int = 4
    max_consolidated: int = 8
    min_intervals: int = MIN_LEVELS
    min_dimensions: int = MIN_DIMENSIONS

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if value < 1:
                raise ValueError(f"{name} is {value}: it must be at least 1")
        if self.min_intervals < MIN_LEVELS:
            raise ValueError(f"min_intervals is {self.min_intervals}: a rubric has at least {MIN_LEVELS}")
        for name in ("min_consolidated", "min_dimensions"):
            if getattr(self, name) > self.max_consolidated:
                raise ValueError(f"{name} is larger than max_consolidated, {self.max_consolidated}")

    @classmethod
    def from_json(cls, stored: Mapping[str, Any] | None) -> AcceptanceBounds:
        """Reads what `to_json` gave; a run from before there was a choice has none and took the paper's."""
        return cls(**(stored or {}))

    def to_json(self) -> dict[str, int]:
        return asdict(self)


PAPER_BOUNDS = AcceptanceBounds()


@dataclass(frozen=True, slots=True)
class Specification:
    """What became of one dimension: its intervals, or why it was left out.

    `completion_keys` names the replies of its own scoring call; a rubric that came in one reply has none.
    """

    dimension: Dimension
    intervals: tuple[ScoreInterval, ...]
    failure: str = ""
    completion_keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MiningTrace:
    """The sets between request and rubric, as far as they came, and the replies that they were read from.

    `completion_keys` names every stored reply, unusable ones too: discovery, consolidation, then one
    dimension's scoring after the other. A rubric that came in one reply has specifications only.
    """

    discovered: tuple[Dimension, ...] = ()
    consolidated: tuple[Dimension, ...] = ()
    specifications: tuple[Specification, ...] = ()
    completion_keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MiningOutcome:
    """A rubric and the trace that led to it."""

    rubric: Rubric
    trace: MiningTrace


class MiningFailedError(UnusableReplyError):
    """No rubric came of a request; `trace` holds what did."""

    def __init__(self, reason: str, trace: MiningTrace) -> None:
        super().__init__(reason)
        self.reason = reason
        self.trace = trace


def assemble_rubric(trace: MiningTrace, bounds: AcceptanceBounds = PAPER_BOUNDS) -> Rubric:
    """The scored dimensions in their order, their intervals labelled anew as 1-2, 3-4, … (A.4).

    Raises MiningFailedError when fewer than `bounds.min_dimensions` are scored.
    """
    scored = [spec for spec in trace.specifications if spec.intervals]
    if len(scored) < bounds.min_dimensions:
        dropped = "; ".join(
            f"{spec.dimension.name}: {spec.failure}" for spec in trace.specifications if not spec.intervals
        )
        reason = f"{len(scored)} scored dimensions, at least {bounds.min_dimensions} are needed"
        raise MiningFailedError(f"{reason} ({dropped})" if dropped else reason, trace)
    return Rubric(
        tuple(
            RubricDimension(
                spec.dimension.name,
                spec.dimension.reason,
                numbered_levels(interval.description for interval in spec.intervals),
            )
            for spec in scored
        )
    )
