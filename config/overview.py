"""The pipeline as a picture: what each stage holds, what passed on, what fell out and why.

Every number is the length of the list that it links to, and at each stage the parts add up to the whole:
what came in = what passed + what fell out + what waits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from django.db.models import Count, Exists, OuterRef, Q
from django.urls import reverse
from django.utils.http import urlencode

from curation import selectors as curation
from curation.models import CorpusPrompt
from llm.models import Run, RunItem
from llm.selectors import kind_label, run_progress
from rubrics.models import Rubric
from training.models import Candidate, CorpusSnapshot


@dataclass(frozen=True, slots=True)
class Tally:
    """A number and the list that it counts."""

    count: int
    label: str
    url: str


@dataclass(frozen=True, slots=True)
class Errand:
    """Something that goes no further without a person; `count` is None for a single thing."""

    label: str
    url: str
    count: int | None = None


@dataclass(frozen=True, slots=True)
class Activity:
    """A run at work on a stage."""

    run_id: int
    label: str
    rate: float | None
    left: int


@dataclass(frozen=True, slots=True)
class Stage:
    """One box. `passed` goes on to the next box; `out` fell out for good; `waiting` is still to come."""

    name: str
    whole: Tally
    passed: Tally | None = None
    out: tuple[Tally, ...] = ()
    waiting: tuple[Tally, ...] = ()
    kinds: tuple[str, ...] = ()
    activity: tuple[Activity, ...] = ()


@dataclass(frozen=True, slots=True)
class Overview:
    """The stages in their order, what waits for a person, and whether anything is at work."""

    stages: tuple[Stage, ...]
    attention: tuple[Errand, ...]
    live: bool


WAITING_FOR_PEOPLE = (
    ("in_review", "reconstructions to review", "review"),
    ("disputed", "disagreements to settle", "adjudication"),
    ("flagged", "flagged items", "flags"),
)
"""States in which a person has to do something: what, and where."""


def _to(route: str, **query: str) -> str:
    return reverse(route) + (f"?{urlencode(query)}" if query else "")


def _reconstructions(count: int, label: str, **query: str) -> Tally:
    return Tally(count, label, _to("reconstructions", **query))


def source_stage() -> Stage:
    counts = curation.source_counts()
    return Stage(
        "Source prompts",
        Tally(counts.total, "imported", _to("source-prompts")),
        Tally(counts.planned, "with reconstructions", _to("source-prompts", state="planned")),
        (Tally(counts.excluded, "excluded", _to("source-prompts", state="excluded")),),
        (Tally(counts.waiting, "no reconstruction yet", _to("source-prompts", state="waiting")),),
    )


def reconstruction_stages(states: Mapping[str, int]) -> tuple[Stage, ...]:
    """From rewriting to review; `states` counts the reconstructions in each state."""
    with_text = sum(states[state] for state in curation.WITH_TEXT)
    not_repetitive = sum(states[state] for state in curation.NOT_REPETITIVE)
    screened = sum(states[state] for state in curation.SCREENED)
    return (
        Stage(
            "Reconstructions",
            _reconstructions(sum(states.values()), "planned in all"),
            _reconstructions(with_text, "rewritten", reached="text"),
            (_reconstructions(states["failed"], "not reconstructed", state="failed"),),
            (_reconstructions(states["planned"], "to be written", state="planned"),),
            kinds=("reconstruct",),
        ),
        Stage(
            "Filters",
            _reconstructions(with_text, "rewritten", reached="text"),
            _reconstructions(not_repetitive, "passed", reached="filters"),
            (_reconstructions(states["repetitive"], "repetition", state="repetitive"),),
            (_reconstructions(states["rewritten"], "to be filtered", state="rewritten"),),
            kinds=("filter",),
        ),
        Stage(
            "Screening",
            _reconstructions(not_repetitive, "compared", reached="filters"),
            _reconstructions(screened, "passed", reached="screening"),
            (_reconstructions(states["contaminated"], "overlap with a benchmark", state="contaminated"),),
            kinds=("filter",),
        ),
        Stage(
            "Review",
            _reconstructions(screened, "came to review", reached="screening"),
            _reconstructions(states["accepted"], "accepted", state="accepted"),
            (_reconstructions(states["rejected"], "rejected", state="rejected"),),
            (
                _reconstructions(states["in_review"], "to be reviewed", state="in_review"),
                _reconstructions(states["disputed"], "to be adjudicated", state="disputed"),
                _reconstructions(states["flagged"], "put aside", state="flagged"),
            ),
        ),
    )


def prompt_stage() -> Stage:
    standing = CorpusPrompt.objects.filter(withdrawn_at=None)
    kept = standing.filter(excluded_because="")
    total, unexcluded = standing.count(), kept.count()
    ready = kept.filter(Exists(Rubric.objects.filter(prompt=OuterRef("pk")))).count()
    return Stage(
        "Corpus prompts",
        Tally(total, "accepted", _to("corpus-prompts", acceptance="standing")),
        Tally(ready, "with a rubric", _to("corpus-prompts", excluded="no", rubric="yes")),
        (
            Tally(
                total - unexcluded,
                "excluded",
                _to("corpus-prompts", excluded="yes", acceptance="standing"),
            ),
        ),
        (Tally(unexcluded - ready, "without a rubric", _to("corpus-prompts", excluded="no", rubric="no")),),
    )


def rubric_stage() -> Stage:
    mined = Rubric.objects.count()
    written = Rubric.objects.filter(Exists(Candidate.objects.filter(rubric=OuterRef("pk")))).count()
    return Stage(
        "Rubrics",
        Tally(mined, "mined", _to("rubrics")),
        Tally(written, "with candidates", _to("rubrics", candidates="yes")),
        waiting=(Tally(mined - written, "without candidates", _to("rubrics", candidates="no")),),
        kinds=("mine",),
    )


def candidate_stages() -> tuple[Stage, ...]:
    counts = Candidate.objects.aggregate(
        all=Count("pk"),
        made=Count("pk", filter=Q(assessment__isnull=False)),
        fallback=Count("pk", filter=Q(assessment__fallback=True)),
        failed=Count("pk", filter=Q(assessment__isnull=False, assessment__value=None)),
        chosen=Count("pk", filter=Q(demonstration=True)),
    )
    made, fallback, failed = counts["made"], counts["fallback"], counts["failed"]
    assessed = _to("candidates", assessment="any")
    return (
        Stage(
            "Candidates",
            Tally(counts["all"], "written", _to("candidates")),
            Tally(made, "assessed", assessed),
            waiting=(Tally(counts["all"] - made, "not assessed yet", _to("candidates", assessment="none")),),
            kinds=("write",),
        ),
        Stage(
            "Assessments",
            Tally(made, "made", assessed),
            Tally(made - fallback - failed, "read", _to("candidates", assessment="assessed")),
            (
                Tally(fallback, "unreadable, fallback 0.4", _to("candidates", assessment="fallback")),
                Tally(failed, "no usable reply", _to("candidates", assessment="failed")),
            ),
            kinds=("assess",),
        ),
        Stage(
            "Demonstrations",
            Tally(counts["chosen"], "selected", _to("candidates", kind="demonstration")),
            kinds=("select",),
        ),
    )


def snapshot_stage() -> Stage:
    total = CorpusSnapshot.objects.count()
    return Stage("Corpora", Tally(total, "snapshots", _to("snapshots")), kinds=("export",))


def _activities() -> dict[str, list[Activity]]:
    """Runs at work, by kind."""
    found: dict[str, list[Activity]] = {}
    for run in Run.objects.filter(state=Run.State.RUNNING).order_by("pk"):
        progress = run_progress(run)
        found.setdefault(run.kind, []).append(
            Activity(run.pk, kind_label(run.kind), progress.items_rate, progress.left)
        )
    return found


def _attention(states: Mapping[str, int]) -> tuple[Errand, ...]:
    failed = RunItem.objects.filter(state=RunItem.State.FAILED).order_by("run")
    paused = Run.objects.filter(state=Run.State.PAUSED)
    broken = CorpusSnapshot.objects.filter(state=CorpusSnapshot.State.FAILED)
    return (
        *(
            Errand(label, reverse(route), states[state])
            for state, label, route in WAITING_FOR_PEOPLE
            if states[state]
        ),
        *(
            Errand(f"failed items in run {run_id}", _to_run(run_id, state="failed"), count)
            for run_id, count in failed.values_list("run").annotate(Count("pk"))
        ),
        *(
            Errand(f"Run {run.pk} is paused: {kind_label(run.kind)}", reverse("run", args=[run.pk]))
            for run in paused
        ),
        *(Errand(f"Snapshot failed: {row.name}", reverse("snapshot", args=[row.pk])) for row in broken),
    )


def _to_run(run_id: int, **query: str) -> str:
    return f"{reverse('run', args=[run_id])}?{urlencode(query)}"


def overview() -> Overview:
    """The whole picture, in a dozen queries and one for each run at work."""
    working, states = _activities(), curation.reconstruction_counts()
    stages = (
        source_stage(),
        *reconstruction_stages(states),
        prompt_stage(),
        rubric_stage(),
        *candidate_stages(),
        snapshot_stage(),
    )
    return Overview(
        tuple(
            replace(stage, activity=tuple(run for kind in stage.kinds for run in working.get(kind, [])))
            for stage in stages
        ),
        _attention(states),
        bool(working),
    )
