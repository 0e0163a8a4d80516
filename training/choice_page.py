"""What the page of a rubric's candidates shows: all of them, and why one is the demonstration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from curation.agreement import Coefficient
from rubrics.agreement import interval_alpha
from rubrics.models import Assessment, Rubric
from rubrics.readings import Judge, Summary, mean_and_spread, summarise
from rubrics.rubric import name_key
from training.models import Candidate
from training.readings import assessments_of, judge_of, reading, scored
from training.selection import TIES, Selection, select_demonstration


@dataclass(frozen=True, slots=True)
class JudgeWord:
    """What one judge's readings of a candidate come to; `row` is the first of them, `cut` says that it read
    a part of the response."""

    judge: Judge
    endpoint: str
    summary: Summary
    row: Assessment
    cut: bool

    @property
    def failure(self) -> str:
        return self.row.failure


@dataclass(frozen=True, slots=True)
class DimensionScore:
    """The selecting judge's mean on one dimension of candidate `index`; None without a valid score for it."""

    index: int
    mean: float | None
    maximum: int
    n: int
    best: bool = False


@dataclass(frozen=True, slots=True)
class Card:
    """One candidate: the selecting judge's word, those of the others, and its comments by dimension."""

    candidate: Candidate
    own: JudgeWord | None
    others: tuple[JudgeWord, ...]
    comments: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True, slots=True)
class DimensionLine:
    """One dimension across the candidates; `alpha` is the judges' agreement on it, None with one judge."""

    name: str
    scores: tuple[DimensionScore, ...]
    alpha: Coefficient | None


@dataclass(frozen=True, slots=True)
class ChoicePage:
    """`automatic` is what selection says now; `by_hand` the candidate that a person chose over it."""

    cards: tuple[Card, ...]
    lines: tuple[DimensionLine, ...]
    judge: JudgeWord | None
    judges: int
    automatic: Selection
    by_hand: Candidate | None
    demonstration: Candidate | None
    rule: str = TIES

    @property
    def best(self) -> set[int]:
        """The candidates with the highest reward, by key."""
        values = {card.candidate.pk: card.own.summary.value for card in self.cards if card.own}
        known = [value for value in values.values() if value is not None]
        return {pk for pk, value in values.items() if known and value == max(known)}


def choice_page(rubric: Rubric) -> ChoicePage:
    rows = list(
        rubric.candidates.select_related("overruled_by", "assessment__endpoint")
        .prefetch_related("assessments__endpoint")
        .order_by("index")
    )
    words = [_words(row) for row in rows]
    own = next((judge_of(row.assessment) for row in rows if row.assessment), None)
    cards = tuple(_card(row, given, own) for row, given in zip(rows, words, strict=True))
    judges = {word.judge for given in words for word in given}
    return ChoicePage(
        cards=cards,
        lines=_lines(rubric, rows, own, len(judges)),
        judge=next((card.own for card in cards if card.own), None),
        judges=len(judges),
        automatic=select_demonstration(scored(rows)),
        by_hand=next((row for row in rows if row.overruled_at), None),
        demonstration=next((row for row in rows if row.demonstration), None),
    )


def words_on(candidate: Candidate) -> list[JudgeWord]:
    """Each judge's word on a candidate, the one that selects first."""
    own = judge_of(candidate.assessment) if candidate.assessment else None
    return sorted(_words(candidate), key=lambda word: word.judge != own)


def _words(candidate: Candidate) -> list[JudgeWord]:
    by: dict[Judge, list[Assessment]] = {}
    for row in assessments_of(candidate):
        by.setdefault(judge_of(row), []).append(row)
    return [
        JudgeWord(
            judge,
            rows[0].endpoint.name if rows[0].endpoint else "unknown endpoint",
            summarise(reading(row) for row in rows),
            min(rows, key=lambda row: (row.value is None, row.sample_index)),
            any(row.response_cut for row in rows),
        )
        for judge, rows in by.items()
    ]


def _card(candidate: Candidate, words: Sequence[JudgeWord], own: Judge | None) -> Card:
    mine = next((word for word in words if word.judge == own), None)
    comments = tuple(
        (str(item["name"]), f"{item['score']}/{item['maximum']}", str(item.get("comment", "")))
        for item in (mine.row.items if mine else [])
    )
    return Card(candidate, mine, tuple(word for word in words if word is not mine), comments)


def _lines(
    rubric: Rubric, rows: Sequence[Candidate], own: Judge | None, judges: int
) -> tuple[DimensionLine, ...]:
    shares = [_shares(row) for row in rows]
    lines = []
    for dimension in rubric.dimensions:
        key = name_key(str(dimension["name"]))
        maximum = max(int(label.split("-")[1]) for label in dimension if label[0].isdecimal())
        given = [shares_of.get(own, {}).get(key, []) if own else [] for shares_of in shares]
        units = [
            [mean for by in shares_of.values() if (mean := mean_and_spread(by.get(key, []))[0]) is not None]
            for shares_of in shares
        ]
        scores = _scores([row.index for row in rows], given, maximum)
        alpha = interval_alpha(units) if judges > 1 else None
        lines.append(DimensionLine(str(dimension["name"]), scores, alpha))
    return tuple(lines)


def _scores(indices: Sequence[int], given: Sequence[list[float]], maximum: int) -> tuple[DimensionScore, ...]:
    """One dimension's means; where they differ the highest are the best."""
    means = [mean_and_spread(shares)[0] for shares in given]
    known = {mean for mean in means if mean is not None}
    best = max(known) if len(known) > 1 else None
    return tuple(
        DimensionScore(
            index,
            None if mean is None else mean * maximum,
            maximum,
            len(shares),
            mean is not None and mean == best,
        )
        for index, mean, shares in zip(indices, means, given, strict=True)
    )


def _shares(candidate: Candidate) -> Mapping[Judge, Mapping[str, list[float]]]:
    """By judge and dimension the valid scores over their maxima; readings without a value have none."""
    found: dict[Judge, dict[str, list[float]]] = {}
    for row in assessments_of(candidate):
        if row.value is None or row.fallback:
            continue
        own = found.setdefault(judge_of(row), {})
        for item in row.items:
            if item["maximum"] and item["maximum"] > 0 and 0 <= item["score"] <= item["maximum"]:
                own.setdefault(name_key(str(item["name"])), []).append(item["score"] / item["maximum"])
    return found
