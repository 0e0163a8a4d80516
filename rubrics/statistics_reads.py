"""The numbers of all rubrics by method and constructor, quick however many there are.

What a rubric says never changes, so each is counted once in the life of a process; findings can change and
are counted anew. Tokens are counted for the newest of each group only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from threading import Lock

from django.db import connection
from django.db.models import Count, Max, Q, Sum

from curation.tokenizer import qwen3_encoder
from rubrics.lint import Check
from rubrics.models import Rubric
from rubrics.rubric import SCORES_PER_LEVEL
from rubrics.rubric import Rubric as RubricValue
from rubrics.statistics import Tally

MEASURED = 100
"""Rubrics of a group whose length in tokens is counted (ours), the newest ones."""

Key = tuple[str, str]
"""Method and constructor."""

_SHAPES = """
    SELECT method, constructor, dimensions, levels, count(*)
    FROM (SELECT method, constructor, jsonb_array_length(dimensions) AS dimensions,
              ARRAY(SELECT (SELECT count(*) - 2 FROM jsonb_object_keys(one))
                    FROM jsonb_array_elements(dimensions) AS one) AS levels
          FROM rubrics_rubric WHERE id > %s AND id <= %s) AS shapes
    GROUP BY method, constructor, dimensions, levels
"""
_FINDINGS = """
    SELECT method, constructor, finding ->> 'check', count(*), count(DISTINCT id)
    FROM rubrics_rubric, jsonb_array_elements(lint) AS finding
    GROUP BY method, constructor, finding ->> 'check'
"""


@dataclass(slots=True)
class Shapes:
    """What the rubrics of one group look like."""

    dimensions: Tally = field(default_factory=Tally)
    levels: Tally = field(default_factory=Tally)
    maxima: Tally = field(default_factory=Tally)


@dataclass(frozen=True, slots=True)
class CheckCount:
    """Findings of one check in a group, and the rubrics that have any."""

    check: Check
    findings: int
    rubrics: int


@dataclass(frozen=True, slots=True)
class Group:
    """The rubrics of one method and constructor. `read` is how many of them lint has read."""

    method: str
    constructor: str
    rubrics: int
    shapes: Shapes
    tokens: Tally
    read: int
    clean: int
    checks: tuple[CheckCount, ...]

    @property
    def label(self) -> str:
        return str(Rubric.Method(self.method).label)

    @property
    def findings(self) -> int:
        return sum(each.findings for each in self.checks)

    @property
    def findings_each(self) -> float | None:
        """Findings of a rubric that lint has read, on average."""
        return self.findings / self.read if self.read else None


def groups() -> list[Group]:
    """All groups, the largest first."""
    shapes = _KEPT.shapes()
    found = _findings()
    seen = Q(lint_version__gt=0)
    sizes = (
        Rubric.objects.order_by()
        .values_list("method", "constructor")
        .annotate(
            rubrics=Count("pk"), read=Count("pk", filter=seen), spotless=Count("pk", filter=seen & Q(lint=[]))
        )
    )
    return [
        Group(
            method,
            constructor,
            rubrics,
            shapes.get((method, constructor), Shapes()),
            _KEPT.tokens((method, constructor)),
            read,
            clean,
            tuple(
                CheckCount(check, *found.get((method, constructor, check.value), (0, 0))) for check in Check
            ),
        )
        for method, constructor, rubrics, read, clean in sorted(sizes, key=lambda each: (-each[2], *each[:2]))
    ]


class _Counted:
    """What has been counted in this process: shapes up to a key, and the tokens of single rubrics."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._up_to, self._fingerprint = 0, (0, 0)
        self._shapes: dict[Key, Shapes] = {}
        self._tokens: dict[tuple[int, str], int] = {}

    def shapes(self) -> Mapping[Key, Shapes]:
        """Counts what is new; all of it again when a row is gone, or came in below the last one counted."""
        with self._lock:
            if self._rows_up_to(self._up_to) != self._fingerprint:
                self._up_to, self._shapes = 0, {}
            newest = Rubric.objects.aggregate(tip=Max("pk"))["tip"] or 0
            if newest > self._up_to:
                self._add(newest)
            return dict(self._shapes)

    def tokens(self, key: Key) -> Tally:
        method, constructor = key
        rows = Rubric.objects.filter(method=method, constructor=constructor).order_by("-pk")
        named = list(rows.values_list("pk", "digest")[:MEASURED])
        with self._lock:
            missing = [pk for pk, digest in named if (pk, digest) not in self._tokens]
            for pk, digest, dimensions in Rubric.objects.filter(pk__in=missing).values_list(
                "pk", "digest", "dimensions"
            ):
                text = RubricValue.from_json(dimensions).serialize()
                self._tokens[(pk, digest)] = len(qwen3_encoder().encode(text))
            return Tally(Counter(self._tokens[each] for each in named if each in self._tokens))

    def _rows_up_to(self, key: int) -> tuple[int, int]:
        rows = Rubric.objects.filter(pk__lte=key).aggregate(n=Count("pk"), sum=Sum("pk"))
        return rows["n"], rows["sum"] or 0

    def _add(self, newest: int) -> None:
        with connection.cursor() as cursor:
            cursor.execute(_SHAPES, [self._up_to, newest])
            for method, constructor, dimensions, levels, count in cursor.fetchall():
                shapes = self._shapes.setdefault((method, constructor), Shapes())
                shapes.dimensions.counts[dimensions] += count
                shapes.maxima.counts[SCORES_PER_LEVEL * sum(levels)] += count
                for each in levels:
                    shapes.levels.counts[each] += count
        self._up_to, self._fingerprint = newest, self._rows_up_to(newest)


_KEPT = _Counted()


def _findings() -> dict[tuple[str, str, str], tuple[int, int]]:
    """(method, constructor, check) -> findings, and rubrics that have any."""
    with connection.cursor() as cursor:
        cursor.execute(_FINDINGS)
        return {
            (method, constructor, check): (findings, rubrics)
            for method, constructor, check, findings, rubrics in cursor.fetchall()
        }
