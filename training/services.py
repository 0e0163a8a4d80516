"""Starting the work on candidates and on their judges, and asking for a corpus."""

from __future__ import annotations

from collections.abc import Collection
from fractions import Fraction

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Count, Q, QuerySet

from curation.services import made_from
from llm.models import Endpoint, Run
from llm.services import start_run
from rubrics.models import Assessment, Rubric
from training.corpora import place
from training.models import Candidate, CorpusSnapshot
from training.rubric_choice import DEFAULT_CHOICE, DEFAULT_METHOD, RubricChoice, newest_versions

MOST_SAMPLES = 20
"""Readings of one response that a run may ask of one judge (ours)."""


def start_writing(
    *,
    endpoint: Endpoint,
    method: str = DEFAULT_METHOD,
    limit: int | None = None,
    among: Collection[int] | None = None,
    user: User | None = None,
) -> Run:
    """Queues the newest version of each rubric of a method that has no candidates yet.

    A rubric of another method and the older versions of a revised one are not written for.
    """
    waiting = newest_versions(method).filter(prompt__excluded_because="", candidates=None).order_by("pk")
    waiting = made_from(among, waiting, "prompt__reconstruction__source_prompt")
    return start_run(
        kind="write",
        subject_ids=waiting.values_list("pk", flat=True)[:limit],
        endpoint=endpoint,
        parameters={"limit": limit, "method": method},
        user=user,
    )


def start_assessing(
    *,
    endpoint: Endpoint,
    policy: str = Assessment.Policy.PAPER,
    samples: int = 1,
    limit: int | None = None,
    among: Collection[int] | None = None,
    user: User | None = None,
) -> Run:
    """Queues every candidate that this endpoint has read fewer than `samples` times under this policy.

    What other judges have read stays; their readings stand side by side. Raises ValueError for an unknown
    policy or a number of samples that is not from 1 to MOST_SAMPLES.
    """
    if policy not in Assessment.Policy.values:
        raise ValueError(f"there is no policy {policy!r}; use {' or '.join(Assessment.Policy.values)}")
    if not 1 <= samples <= MOST_SAMPLES:
        raise ValueError(f"{samples} readings of one response: from 1 to {MOST_SAMPLES} can be asked for")
    waiting = made_from(
        among, unread_by(endpoint, policy, samples), "prompt__reconstruction__source_prompt"
    ).order_by("pk")
    return start_run(
        kind="assess",
        subject_ids=waiting.values_list("pk", flat=True)[:limit],
        endpoint=endpoint,
        parameters={"limit": limit, "policy": policy, "samples": samples},
        user=user,
        alike=Q(run__endpoint=endpoint, run__parameters__policy=policy),
    )


def start_bias_check(
    *,
    endpoint: Endpoint,
    policy: str = Assessment.Policy.CHECKED,
    seed: int = 0,
    limit: int | None = None,
    user: User | None = None,
) -> Run:
    """Queues candidates, spread over the corpus by the seed, for the checks of `rubrics.bias`."""
    if policy not in Assessment.Policy.values:
        raise ValueError(f"there is no policy {policy!r}; use {' or '.join(Assessment.Policy.values)}")
    candidates = Candidate.objects.exclude(text="").filter(cut=False, prompt__withdrawn_at=None)
    places = sorted(candidates.values_list("pk", flat=True), key=lambda pk: place(seed, pk))
    return start_run(
        kind="bias",
        subject_ids=sorted(places[:limit]),
        endpoint=endpoint,
        parameters={"limit": limit, "policy": policy, "seed": seed},
        user=user,
    )


def _by(endpoint: Endpoint, policy: str, samples: int) -> Q:
    return Q(
        assessments__endpoint=endpoint, assessments__policy=policy, assessments__sample_index__lt=samples
    )


def unread_by(endpoint: Endpoint, policy: str, samples: int) -> QuerySet[Candidate]:
    """Candidates that an endpoint has read fewer than so many times."""
    often = Count("assessments__sample_index", filter=_by(endpoint, policy, samples), distinct=True)
    read = Candidate.objects.annotate(often=often).filter(often__gte=samples)
    return Candidate.objects.exclude(pk__in=read.values("pk"))


def start_selecting(
    *, limit: int | None = None, among: Collection[int] | None = None, user: User | None = None
) -> Run:
    """Queues every rubric with an assessed candidate and no demonstration, chosen by hand or not."""
    chosen = Candidate.objects.filter(demonstration=True).values("rubric")
    waiting = (
        Rubric.objects.filter(candidates__assessment__isnull=False)
        .exclude(pk__in=chosen)
        .order_by("pk")
        .distinct()
    )
    waiting = made_from(among, waiting, "prompt__reconstruction__source_prompt")
    return start_run(
        kind="select",
        subject_ids=waiting.values_list("pk", flat=True)[:limit],
        parameters={"limit": limit},
        user=user,
    )


def request_snapshot(
    *,
    name: str,
    seed: int,
    sft_share: Fraction,
    rubrics: RubricChoice = DEFAULT_CHOICE,
    user: User | None = None,
) -> CorpusSnapshot:
    """Queues the writing of one export as a run; a worker does it, so that nobody waits for the answer.

    `rubrics` says which rubric of a prompt is exported, where there are several.
    """
    with transaction.atomic():
        snapshot = CorpusSnapshot.objects.create(
            name=name,
            parameters={
                "seed": seed,
                "sft_share": f"{sft_share.numerator}/{sft_share.denominator}",
                "rubrics": rubrics.as_parameters(),
            },
            created_by=user,
        )
        snapshot.run = start_run(
            kind="export", subject_ids=[snapshot.pk], parameters=snapshot.parameters, user=user
        )
        snapshot.save(update_fields=["run"])
    return snapshot
