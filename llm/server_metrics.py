"""What a vLLM server says of itself at /metrics, in Prometheus' text form. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

_SAMPLE = re.compile(r"^(?P<name>[a-zA-Z_:][\w:]*)(?:\{[^}]*\})?\s+(?P<value>[-+\w.]+)", re.MULTILINE)

_NAMES = {
    "running": ("vllm:num_requests_running",),
    "waiting": ("vllm:num_requests_waiting",),
    "cache_share": ("vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc"),
    "prompt_tokens": ("vllm:prompt_tokens_total",),
    "completion_tokens": ("vllm:generation_tokens_total",),
}
"""By our name, vLLM's names, newest first."""


@dataclass(frozen=True, slots=True)
class ServerMetrics:
    """Requests `running` and `waiting`, the share of the KV cache in use from 0 to 1, and tokens read and
    written since the server started; None for what it does not say."""

    running: float | None = None
    waiting: float | None = None
    cache_share: float | None = None
    prompt_tokens: float | None = None
    completion_tokens: float | None = None


def read_metrics(text: str) -> ServerMetrics | None:
    """None for a text that is not vLLM's. Where a server runs several engines their samples are added, and
    the fullest cache counts.

    >>> sample = 'vllm:num_requests_running{engine="%d"} %.1f\\n'
    >>> read_metrics(sample % (0, 3) + sample % (1, 1)).running
    4.0
    """
    samples: dict[str, list[float]] = {}
    for match in _SAMPLE.finditer(text):
        try:
            samples.setdefault(match["name"], []).append(float(match["value"]))
        except ValueError:
            continue
    found = {}
    for ours, theirs in _NAMES.items():
        values = next((samples[name] for name in theirs if name in samples), None)
        if values is not None:
            found[ours] = max(values) if ours == "cache_share" else sum(values)
    return ServerMetrics(**found) if found else None


def metrics_address(base_url: str) -> str:
    """
    >>> metrics_address("http://host:8000/v1/")
    'http://host:8000/metrics'
    """
    return base_url.rstrip("/").removesuffix("/v1") + "/metrics"
