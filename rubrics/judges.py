"""What the judges' readings come to: each judge by itself, and any two on what both have read.

A response is a text under a rubric. A judge's word on it is the mean over its readings, fallbacks and
failures left out; a dimension's is the mean of its scores over their maxima.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

from django.db.models import Max, QuerySet

from curation.agreement import Coefficient
from llm import sql
from llm.models import Endpoint
from rubrics.agreement import interval_alpha
from rubrics.models import Assessment
from rubrics.readings import Judge, Reading, Summary, by_judge, mean_and_spread, summarise
from rubrics.rubric import name_key

LATEST = 20_000
"""Readings that the report looks at, the latest (ours): all of what four thousand prompts have."""

LATEST_SCORED = 5_000
"""Of those, readings whose single scores are compared: of responses that two judges share (ours)."""

LISTED_DIMENSIONS = 20
BINS = 20

Response = tuple[int, str]
Score = tuple[Response, str]


@dataclass(frozen=True, slots=True)
class JudgeRow:
    """One judge. `mean` and `spread` are over the `n` values of single readings; `own_spread` is how far its
    readings of the same response lie apart: the root of the mean variance over `repeated` responses. `bins`
    counts the values in steps of 1 / BINS."""

    judge: Judge
    endpoint: str
    responses: int
    n: int
    mean: float | None
    spread: float | None
    fallbacks: int
    failures: int
    cut: int
    own_spread: float | None
    repeated: int
    bins: tuple[int, ...]

    @property
    def readings(self) -> int:
        return self.n + self.fallbacks + self.failures


@dataclass(frozen=True, slots=True)
class PairRow:
    """Two judges on the `n` responses that both have read: how much more the first gives, in the mean, how
    far they lie apart, and their agreement on responses and on single scores."""

    first: JudgeRow
    second: JudgeRow
    n: int
    more: float | None
    apart: float | None
    alpha: Coefficient
    scores: Coefficient


@dataclass(frozen=True, slots=True)
class DimensionRow:
    """A dimension's name, with the agreement of all judges on it, over all rubrics that have it."""

    name: str
    alpha: Coefficient


@dataclass(frozen=True, slots=True)
class JudgesReport:
    """`looked_at` readings; with `more` there are earlier ones. `alpha` is over all judges' responses."""

    judges: tuple[JudgeRow, ...]
    pairs: tuple[PairRow, ...]
    dimensions: tuple[DimensionRow, ...]
    alpha: Coefficient
    looked_at: int
    more: bool


def judges_report(policy: str = "") -> JudgesReport:
    """Over the latest readings, of one policy or of all; worked out anew only when there are new readings."""
    newest = Assessment.objects.aggregate(newest=Max("pk"))["newest"] or 0
    return _report(policy, newest)


@lru_cache(maxsize=16)
def _report(policy: str, newest: int) -> JudgesReport:
    rows = _latest(policy, newest)
    by_response: dict[Response, list[Reading]] = defaultdict(list)
    for response, reading, _ in rows:
        by_response[response].append(reading)
    read = {response: by_judge(readings) for response, readings in by_response.items()}
    cut = Counter(reading.judge for _, reading, was_cut in rows if was_cut)
    names = dict(Endpoint.objects.values_list("pk", "name"))
    judges = _judge_rows(read, cut, names)
    means = {
        response: {judge: summarise(readings).mean for judge, readings in own.items()}
        for response, own in read.items()
    }
    scores, spellings = _scores(policy, newest) if len(judges) > 1 else ({}, {})
    more = len(rows) == LATEST and _of(policy).count() > LATEST
    return JudgesReport(
        judges=judges,
        pairs=tuple(_pair(first, second, means, scores) for first, second in combinations(judges, 2)),
        dimensions=_dimension_rows(scores, spellings),
        alpha=interval_alpha([_given(own.values()) for own in means.values()]),
        looked_at=len(rows),
        more=more,
    )


def _of(policy: str) -> QuerySet[Assessment]:
    return Assessment.objects.filter(policy=policy) if policy else Assessment.objects.all()


def _latest(policy: str, newest: int) -> list[tuple[Response, Reading, bool]]:
    rows = _of(policy).filter(pk__lte=newest).order_by("-pk")
    fields = ("rubric_id", "response_digest", "pk", "endpoint_id", "judge", "policy", "sample_index")
    return [
        ((rubric, digest), Reading(pk, Judge(endpoint, model, by), sample, value, fallback), was_cut)
        for rubric, digest, pk, endpoint, model, by, sample, value, fallback, was_cut in rows.values_list(
            *fields, "value", "fallback", "response_cut"
        )[:LATEST]
    ]


def _judge_rows(
    read: Mapping[Response, Mapping[Judge, Sequence[Reading]]],
    cut: Mapping[Judge, int],
    names: Mapping[int, str],
) -> tuple[JudgeRow, ...]:
    own: dict[Judge, list[tuple[Summary, list[float]]]] = defaultdict(list)
    for by in read.values():
        for judge, readings in by.items():
            values = [one.value for one in readings if one.value is not None and not one.fallback]
            own[judge].append((summarise(readings), values))
    rows = [_judge_row(judge, found, cut.get(judge, 0), names) for judge, found in own.items()]
    return tuple(
        sorted(rows, key=lambda row: (-row.responses, row.endpoint, row.judge.model, row.judge.policy))
    )


def _judge_row(
    judge: Judge, found: Sequence[tuple[Summary, list[float]]], cut: int, names: Mapping[int, str]
) -> JudgeRow:
    values = [value for _, given in found for value in given]
    mean, spread = mean_and_spread(values)
    variances = [summary.spread**2 for summary, _ in found if summary.spread is not None]
    bins = Counter(min(int(value * BINS), BINS - 1) for value in values)
    return JudgeRow(
        judge=judge,
        endpoint=names.get(judge.endpoint or 0, ""),
        responses=len(found),
        n=len(values),
        mean=mean,
        spread=spread,
        fallbacks=sum(summary.fallbacks for summary, _ in found),
        failures=sum(summary.failures for summary, _ in found),
        cut=cut,
        own_spread=(sum(variances) / len(variances)) ** 0.5 if variances else None,
        repeated=len(variances),
        bins=tuple(bins[step] for step in range(BINS)),
    )


def _pair(
    first: JudgeRow,
    second: JudgeRow,
    means: Mapping[Response, Mapping[Judge, float | None]],
    scores: Mapping[Score, Mapping[Judge, float]],
) -> PairRow:
    judges = (first.judge, second.judge)
    shared = [
        given for own in means.values() if len(given := _given(own.get(judge) for judge in judges)) == 2
    ]
    alike = [
        given for own in scores.values() if len(given := _given(own.get(judge) for judge in judges)) == 2
    ]
    more, _ = mean_and_spread([one - two for one, two in shared])
    apart, _ = mean_and_spread([abs(one - two) for one, two in shared])
    return PairRow(first, second, len(shared), more, apart, interval_alpha(shared), interval_alpha(alike))


def _dimension_rows(
    scores: Mapping[Score, Mapping[Judge, float]], spellings: Mapping[str, str]
) -> tuple[DimensionRow, ...]:
    units: dict[str, list[list[float]]] = defaultdict(list)
    for (_, name), own in scores.items():
        if len(own) > 1:
            units[name].append(list(own.values()))
    most = sorted(units.items(), key=lambda one: (-len(one[1]), one[0]))[:LISTED_DIMENSIONS]
    return tuple(DimensionRow(spellings[key], interval_alpha(found)) for key, found in most)


def _given(values: Iterable[float | None]) -> list[float]:
    return [value for value in values if value is not None]


_SCORES = """
    WITH latest AS (
        SELECT id, rubric_id, response_digest, endpoint_id, judge, policy, items FROM rubrics_assessment
        WHERE id <= %(newest)s AND value IS NOT NULL AND NOT fallback
            AND (%(policy)s = '' OR policy = %(policy)s)
        ORDER BY id DESC LIMIT %(latest)s
    ), shared AS (
        SELECT latest.* FROM latest JOIN (
            SELECT rubric_id, response_digest FROM latest GROUP BY 1, 2
            HAVING count(DISTINCT (endpoint_id, judge, policy)) > 1
        ) AS several USING (rubric_id, response_digest)
        ORDER BY id DESC LIMIT %(scored)s
    )
    SELECT rubric_id, response_digest, endpoint_id, judge, policy, item->>'name',
        avg((item->>'score')::numeric / (item->>'maximum')::numeric)::float8
    FROM shared, jsonb_array_elements(items) AS item
    WHERE (item->>'maximum')::numeric > 0
        AND (item->>'score')::numeric BETWEEN 0 AND (item->>'maximum')::numeric
    GROUP BY 1, 2, 3, 4, 5, 6
"""


def _scores(policy: str, newest: int) -> tuple[dict[Score, dict[Judge, float]], dict[str, str]]:
    """What each judge gave each dimension, over its maximum, of responses that several judges have read; and
    how the dimensions' names are written."""
    found: dict[Score, dict[Judge, float]] = defaultdict(dict)
    spellings: dict[str, str] = {}
    given = {"newest": newest, "policy": policy, "latest": LATEST, "scored": LATEST_SCORED}
    for rubric, digest, endpoint, model, by, name, share in sql.fetch(_SCORES, given):
        spellings.setdefault(name_key(name), name)
        found[(rubric, digest), name_key(name)][Judge(endpoint, model, by)] = share
    return found, spellings
