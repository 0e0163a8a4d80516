"""What can be done with many items at once, what each action spares, and the doing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Exists, OuterRef, Q

from curation.excluding import exclude, include_again
from curation.models import Reconstruction, Review, SourcePrompt
from curation.reconstruction import MAX_SOURCE_SEGMENTS
from curation.review import NotWaitingError, ask_for_second_review, resolve_flag, withdraw
from curation.review.revising import MOST_REVIEWS
from llm.engine.steps import Step, register
from llm.models import Run, RunItem
from llm.types import Chat

State = Reconstruction.State

BATCH = 500


class Needs(StrEnum):
    """What a person has to add before an action can start."""

    REASON = "reason"
    ENDPOINT = "endpoint"


@dataclass(frozen=True, slots=True)
class Action:
    """`spared` gives (reason, condition): the first condition that holds leaves an item alone.

    `does` completes 'This …'; with `run_kind` a run of that kind does it.
    """

    name: str
    label: str
    does: str
    subject: type[Reconstruction] | type[SourcePrompt]
    spared: tuple[tuple[str, Q], ...]
    needs: frozenset[Needs] = frozenset()
    run_kind: str = ""
    danger: bool = False

    @property
    def one(self) -> str:
        return str(self.subject._meta.verbose_name)

    @property
    def many(self) -> str:
        return str(self.subject._meta.verbose_name_plural)


def _in(*states: State) -> Q:
    return Q(state__in=states)


def _standing() -> Exists:
    return Exists(Review.objects.filter(reconstruction=OuterRef("pk"), withdrawn_at__isnull=True))


def _waits_in_a_run(kind: str) -> Exists:
    items = RunItem.objects.filter(
        run__kind=kind,
        run__state__in=[Run.State.RUNNING, Run.State.PAUSED],
        state__in=[RunItem.State.PENDING, RunItem.State.LEASED],
    )
    return Exists(items.filter(subject_id=OuterRef("pk")))


_NOT_REVIEWABLE = (
    ("is not written yet", _in(State.PLANNED, State.FAILED)),
    ("waits for the filters", _in(State.REWRITTEN)),
    ("was discarded by a filter", _in(State.REPETITIVE, State.CONTAMINATED)),
)

_ALL = (
    Action(
        "second-review",
        "Ask for a second review",
        "lets a second reviewer read each, without seeing what the first one gave",
        Reconstruction,
        (
            *_NOT_REVIEWABLE,
            ("is put aside with a flag", _in(State.FLAGGED)),
            ("is settled: withdraw its decision first", _in(State.ACCEPTED, State.REJECTED)),
            ("waits for adjudication", _in(State.DISPUTED)),
            ("has two reviews asked for already", Q(wanted_reviews__gte=MOST_REVIEWS)),
        ),
    ),
    Action(
        "withdraw",
        "Withdraw the decisions",
        "takes back every review of each, withdraws its corpus prompt, and puts it into the queue again",
        Reconstruction,
        (
            *_NOT_REVIEWABLE,
            ("is put aside with a flag", _in(State.FLAGGED)),
            ("is not decided yet", _in(State.IN_REVIEW)),
            ("has no review", ~Q(_standing())),
        ),
        frozenset({Needs.REASON}),
        danger=True,
    ),
    Action(
        "reconstruct",
        "Reconstruct again",
        "sends each to a model once more; calls that are stored are not paid for again",
        Reconstruction,
        (
            ("has its text already", ~_in(State.PLANNED, State.FAILED)),
            ("waits in a run already", Q(_waits_in_a_run("reconstruct"))),
        ),
        frozenset({Needs.ENDPOINT}),
        run_kind="reconstruct",
    ),
    Action(
        "put-back",
        "Put back what is flagged",
        "ends the flag of each and puts it back into the queue",
        Reconstruction,
        (("is not put aside", ~_in(State.FLAGGED)),),
        frozenset({Needs.REASON}),
    ),
    Action(
        "filter",
        "Filter and screen again",
        "sends each through the repetition filter and the screening",
        Reconstruction,
        (
            ("is not written yet", _in(State.PLANNED, State.FAILED)),
            ("is through the filters already", ~_in(State.REWRITTEN)),
            ("waits in a run already", Q(_waits_in_a_run("filter"))),
        ),
        run_kind="filter",
    ),
    Action(
        "exclude",
        "Exclude",
        "plans no further reconstruction of any; reconstructions that there are stay",
        SourcePrompt,
        (("is excluded already", ~Q(excluded_because="")),),
        frozenset({Needs.REASON}),
        danger=True,
    ),
    Action(
        "include",
        "Include again",
        "takes back what excluded each, so that reconstructions of it are planned again",
        SourcePrompt,
        (
            ("is not excluded", Q(excluded_because="")),
            ("is too long to be reconstructed", Q(segments__gt=MAX_SOURCE_SEGMENTS)),
        ),
        frozenset({Needs.REASON}),
    ),
)

ACTIONS: Mapping[str, Action] = {action.name: action for action in _ALL}


def actions_on(subject: type[Reconstruction] | type[SourcePrompt]) -> list[Action]:
    """The actions that a list of these offers."""
    return [action for action in _ALL if action.subject is subject]


def perform(*, name: str, ids: Sequence[int], by: User, reason: str = "") -> int:
    """Does an action, item by item; one that has moved on meanwhile is left alone. Returns of how many."""
    with transaction.atomic():
        return _DOING[name](ids, by, reason)


def _second_review(ids: Sequence[int], by: User, reason: str) -> int:
    return ask_for_second_review(reconstruction_ids=ids, by=by)


def _withdraw(ids: Sequence[int], by: User, reason: str) -> int:
    """An adjudication goes first, so that no item is settled by it in between."""
    reviews = Review.objects.filter(reconstruction__in=ids, withdrawn_at__isnull=True)
    reviews = reviews.exclude(reconstruction__state__in=[State.IN_REVIEW, State.FLAGGED])
    done = set()
    for review_id, item_id in reviews.order_by("reconstruction", "-adjudication", "pk").values_list(
        "pk", "reconstruction"
    ):
        withdraw(review_id=review_id, by=by, reason=reason)
        done.add(item_id)
    return len(done)


def _put_back(ids: Sequence[int], by: User, reason: str) -> int:
    done = 0
    for pk in ids:
        try:
            resolve_flag(by=by, reconstruction_id=pk, resolution=reason)
        except NotWaitingError:
            continue
        done += 1
    return done


def _exclude(ids: Sequence[int], by: User, reason: str) -> int:
    return exclude(source_prompt_ids=ids, by=by, reason=reason)


def _include(ids: Sequence[int], by: User, reason: str) -> int:
    return include_again(source_prompt_ids=ids, by=by, reason=reason)


_DOING: Mapping[str, Callable[[Sequence[int], User, str], int]] = {
    "second-review": _second_review,
    "withdraw": _withdraw,
    "put-back": _put_back,
    "exclude": _exclude,
    "include": _include,
}


@register
class BulkStep(Step[int, int]):
    """One confirmed action on many items; calls no model."""

    kind = "bulk"
    label = "Bulk action"

    def load(self, subject_ids: Sequence[int]) -> Mapping[int, int]:
        return {pk: pk for pk in subject_ids}

    async def execute(self, subject: int, chat: Chat) -> int:
        return subject

    def store(self, results: Sequence[tuple[int, int]]) -> None:
        """Raises RuntimeError when the person who confirmed it is gone."""
        if self.run.created_by is None:
            raise RuntimeError(f"nobody stands behind run {self.run.pk}")
        asked = self.run.parameters
        ids = [pk for pk, _ in results]
        perform(name=asked["action"], ids=ids, by=self.run.created_by, reason=asked["reason"])
