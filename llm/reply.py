"""What a server answered to one call."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Reply:
    """What a server answered. Token counts are 0 where it reported none."""

    text: str
    finish_reason: str
    resolved_model: str
    prompt_tokens: int
    completion_tokens: int
    latency_ms: int
