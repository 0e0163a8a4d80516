"""Reads of runs and endpoints: how far a run is, how fast, what failed, and its chart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Avg, Count, F, FloatField, Max, Min, QuerySet, Sum
from django.db.models.functions import Cast, Extract, Floor
from django.utils import timezone

from llm.engine.steps import step_labels
from llm.listing import Filter, equals
from llm.models import Endpoint, Run, RunItem, RunTick

RATE_WINDOW = timedelta(minutes=1)
"""How far back the rates of a run look."""

CHART_POINTS = 120
TICKS_PER_POINT = 4
"""How many ticks of one worker a point of the chart takes together at least."""

CHART_WIDTH, CHART_HEIGHT = 600.0, 120.0


@dataclass(frozen=True, slots=True)
class BarSegment:
    """A stretch of the progress bar, as SVG attributes."""

    state: str
    start: str
    width: str


@dataclass(frozen=True, slots=True)
class RunProgress:
    """`total` = `done` + `failed` + `leased` + `pending`. Rates are per second, None while unknown."""

    total: int
    done: int
    failed: int
    leased: int
    pending: int
    items_rate: float | None
    calls_rate: float | None
    in_flight: int
    allowed: int
    held_because: str
    workers: int
    expected_end: datetime | None

    @property
    def ended(self) -> int:
        return self.done + self.failed

    @property
    def left(self) -> int:
        return self.leased + self.pending

    @property
    def segments(self) -> list[BarSegment]:
        """The bar of the run: done, failed, at work, one after the other, in percent of the whole."""
        segments, start = [], 0.0
        for state, count in (("done", self.done), ("failed", self.failed), ("leased", self.leased)):
            width = 100 * count / self.total if self.total else 0.0
            segments.append(BarSegment(state, f"{start:.3f}", f"{width:.3f}"))
            start += width
        return segments


@dataclass(frozen=True, slots=True)
class FailureKind:
    """Failed items of one kind, with the first of them as the example."""

    kind: str
    count: int
    example: RunItem


@dataclass(frozen=True, slots=True)
class ChartLine:
    """One line of a chart as SVG points, on its own scale from 0 to `top`."""

    points: str
    top: float
    last: float


@dataclass(frozen=True, slots=True)
class RunChart:
    """Calls a second and calls in flight over time, in a box of CHART_WIDTH by CHART_HEIGHT."""

    start: datetime
    end: datetime
    rate: ChartLine
    in_flight: ChartLine


def kind_label(kind: str) -> str:
    return step_labels().get(kind, kind)


SPEED_FROM = 500
"""The latest calls that a server's speed is told by."""


@dataclass(frozen=True, slots=True)
class EndpointSpeed:
    """Of the latest `calls`: seconds that half and 95% of them took at most, and tokens a second in one."""

    calls: int
    p50_seconds: float
    p95_seconds: float
    tokens_per_second: float


def endpoint_speed(endpoint: Endpoint) -> EndpointSpeed | None:
    """None before the first call."""
    latest = endpoint.completions.order_by("-created_at").values_list("latency_ms", "completion_tokens")
    rows = [(latency, tokens) for latency, tokens in latest[:SPEED_FROM] if latency]
    if not rows:
        return None
    took = sorted(latency for latency, _ in rows)
    return EndpointSpeed(
        len(rows),
        took[len(took) // 2] / 1000,
        took[min(len(took) - 1, int(0.95 * len(took)))] / 1000,
        1000 * sum(tokens for _, tokens in rows) / sum(took),
    )


@dataclass(frozen=True, slots=True)
class RunEstimate:
    """What the `left` items will cost if they are like the `ended` ones; `seconds` is None without a rate."""

    left: int
    ended: int
    calls: int
    tokens: int
    seconds: float | None


def run_estimate(run: Run, progress: RunProgress) -> RunEstimate | None:
    """None while nothing has ended, when nothing is left, and for runs that ask no model."""
    if run.endpoint_id is None or not progress.ended or not progress.left:
        return None
    share = progress.left / progress.ended
    worked = run.ticks.aggregate(seconds=Sum("seconds"))["seconds"]
    return RunEstimate(
        progress.left,
        progress.ended,
        round(run.calls * share),
        round((run.prompt_tokens + run.completion_tokens) * share),
        worked / run.parallelism * share if worked else None,
    )


def run_progress(run: Run) -> RunProgress:
    counts = dict(run.items.order_by().values_list("state").annotate(Count("pk")))
    items_rate, calls_rate = _rates(run)
    left = counts.get("pending", 0) + counts.get("leased", 0)
    expected = None
    if run.state == Run.State.RUNNING and items_rate and left:
        expected = timezone.now() + timedelta(seconds=left / items_rate)
    workers = run.workers.aggregate(
        count=Count("pk"), in_flight=Sum("in_flight"), allowed=Sum("allowed"), held=Max("held_because")
    )
    return RunProgress(
        total=run.total,
        done=counts.get("done", 0),
        failed=counts.get("failed", 0),
        leased=counts.get("leased", 0),
        pending=counts.get("pending", 0),
        items_rate=items_rate,
        calls_rate=calls_rate,
        in_flight=workers["in_flight"] or 0,
        allowed=workers["allowed"] or 0,
        held_because=workers["held"] or "",
        workers=workers["count"],
        expected_end=expected,
    )


def _rates(run: Run) -> tuple[float | None, float | None]:
    """Items and calls a second: of the last minute while it runs, of its whole time afterwards."""
    if run.started_at is None:
        return None, None
    now = timezone.now()
    if run.state == Run.State.RUNNING:
        since = max(now - RATE_WINDOW, run.started_at)
        seconds = (now - since).total_seconds()
        ended = run.items.filter(finished_at__gt=since).count()
        calls = run.ticks.filter(at__gt=since).aggregate(calls=Sum("calls"))["calls"] or 0
    else:
        seconds = ((run.finished_at or now) - run.started_at).total_seconds()
        ended = run.items.filter(finished_at__isnull=False).count()
        calls = run.calls
        if run.finished_at is None:
            return None, None
    return (ended / seconds, calls / seconds) if seconds > 0 else (None, None)


def run_failures(run: Run) -> Sequence[FailureKind]:
    """The kinds of failure in a run, the most frequent first."""
    failed = run.items.filter(state=RunItem.State.FAILED)
    examples = {item.error_kind: item for item in failed.order_by("error_kind", "pk").distinct("error_kind")}
    counts = failed.order_by().values_list("error_kind").annotate(count=Count("pk")).order_by("-count")
    return [FailureKind(kind, count, examples[kind]) for kind, count in counts if kind in examples]


def run_chart(run: Run) -> RunChart | None:
    """At most CHART_POINTS points from the workers' ticks; None while there are fewer than two."""
    span = run.ticks.aggregate(first=Min("at"), last=Max("at"), tick=Avg("seconds"))
    if span["first"] is None or span["first"] == span["last"]:
        return None
    seconds = (span["last"] - span["first"]).total_seconds()
    width = max(seconds / (CHART_POINTS - 1), span["tick"] * TICKS_PER_POINT)
    buckets = _buckets(run.ticks.all(), width)
    points = [buckets.get(bucket, (0.0, 0.0)) for bucket in range(min(buckets), max(buckets) + 1)]
    if len(points) < 2:
        return None
    return RunChart(
        span["first"], span["last"], _line([rate for rate, _ in points]), _line([busy for _, busy in points])
    )


def _buckets(ticks: QuerySet[RunTick], width: float) -> Mapping[int, tuple[float, float]]:
    """Bucket number -> calls a second and calls in flight, both summed over the workers.

    A worker's ticks lie end to end, so the seconds that they cover, over the bucket's width, are the number
    of workers; a tick that reaches over the edge of a bucket is why that number is rounded.
    """
    epoch = Cast(Extract("at", "epoch"), FloatField())
    rows = ticks.order_by().annotate(bucket=Floor(epoch / width)).values("bucket")
    sums = rows.annotate(
        made=Sum("calls"), busy=Sum(F("in_flight") * F("seconds")), covered=Sum("seconds")
    ).filter(covered__gt=0)
    points = {}
    for row in sums:
        workers = max(round(row["covered"] / width), 1)
        points[int(row["bucket"])] = (
            row["made"] / row["covered"] * workers,
            row["busy"] / row["covered"] * workers,
        )
    return points


def _line(values: Sequence[float]) -> ChartLine:
    top = max(values) or 1.0
    step = CHART_WIDTH / max(len(values) - 1, 1)
    points = " ".join(
        f"{place * step:.1f},{CHART_HEIGHT * (1 - value / top):.1f}" for place, value in enumerate(values)
    )
    return ChartLine(points, top, values[-1])


def run_filters() -> tuple[Filter, ...]:
    kinds = Run.objects.order_by("kind").values_list("kind", flat=True).distinct()
    return (
        equals("kind", "Kind", [(kind, kind_label(kind)) for kind in kinds]),
        equals("state", "State", Run.State.choices),
    )


def models_seen(endpoint: Endpoint) -> Sequence[Mapping[str, Any]]:
    """What the endpoint was asked for and what its server called it, with the number of calls."""
    calls = endpoint.completions.order_by().values("model", "resolved_model")
    return list(calls.annotate(count=Count("pk"), last=Max("created_at")).order_by("-last"))
