"""What the reward is told through its environment."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from llm.types import EndpointSettings

PREFIX = "RUBRIC_REWARD_"
Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class RewardSettings:
    """The judge, and how long and how often it may fail.

    All completions of a batch are judged within `deadline` seconds. `fallback_limit` is the share of
    fallback rewards among the latest ones above which training stops: more would teach the writer about the
    judge's outages. `assessments` is the file that every assessment is appended to.
    """

    judge: EndpointSettings
    deadline: float
    fallback_limit: float
    assessments: Path


def settings_from(environment: Mapping[str, str]) -> RewardSettings:
    """Raises ValueError that names the variable which is missing or wrong."""

    def read(name: str, kind: Callable[[str], Value], default: str = "") -> Value:
        text = environment.get(PREFIX + name, default)
        if not text:
            raise ValueError(f"{PREFIX}{name} is not set")
        try:
            return kind(text)
        except ValueError as error:
            raise ValueError(f"{PREFIX}{name} is {text!r}: {error}") from error

    judge = EndpointSettings(
        base_url=read("JUDGE_URL", str),
        model=read("JUDGE_MODEL", str),
        api_key=environment.get(PREFIX + "JUDGE_KEY", ""),
        timeout=read("TIMEOUT", _positive, "300"),
        max_in_flight=read("IN_FLIGHT", _count, "32"),
        max_output_tokens=read("MAX_TOKENS", _count, "4096"),
        constrained=read("CONSTRAINED", _yes, "no"),
    )
    return RewardSettings(
        judge,
        deadline=read("DEADLINE", _positive, "900"),
        fallback_limit=read("FALLBACK_LIMIT", _share, "0.2"),
        assessments=read("ASSESSMENTS", Path, "assessments.jsonl"),
    )


def _positive(text: str) -> float:
    number = float(text)
    if not 0 < number < float("inf"):
        raise ValueError("a number of seconds greater than 0 is needed")
    return number


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError("a whole number greater than 0 is needed")
    return number


def _share(text: str) -> float:
    number = float(text)
    if not 0 < number <= 1:
        raise ValueError("a share above 0 and up to 1 is needed")
    return number


def _yes(text: str) -> bool:
    try:
        return {"yes": True, "no": False}[text]
    except KeyError:
        raise ValueError("yes or no is needed") from None
