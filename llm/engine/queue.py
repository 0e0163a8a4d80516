"""The queue in Postgres: who works on a run, which items they hold, and how items end."""

from __future__ import annotations

import datetime as dt
import uuid
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from django.conf import settings
from django.db import connection, transaction
from django.db.models import F, Q
from django.utils import timezone

from llm.engine.limits import Limits
from llm.models import Run, RunItem, RunTick, RunWorker

MAX_CLAIMS = 8
"""An item that was taken up so often and never finished is what kills its workers; it fails as 'lost'."""


@dataclass(frozen=True, slots=True)
class ClaimedItem:
    pk: int
    subject_id: int
    retries: int


@dataclass(frozen=True, slots=True)
class Beat:
    """What a worker did since its last beat."""

    seconds: float
    in_flight: int
    allowed: int
    held_because: str
    calls: int
    replayed: int
    completion_tokens: int
    notice: str


def lease() -> dt.timedelta:
    return dt.timedelta(seconds=settings.ENGINE_LEASE_SECONDS)


def enter_run(run_id: int, holder: uuid.UUID, host: str) -> Run | None:
    """Takes one of the run's places for workers; None when it wants none."""
    now = timezone.now()
    with transaction.atomic():
        run = Run.objects.select_for_update(of=("self",)).select_related("endpoint").filter(pk=run_id).first()
        if run is None or run.state != Run.State.RUNNING:
            return None
        run.workers.filter(last_seen_at__lt=now - lease()).delete()
        if run.workers.count() >= run.parallelism:
            return None
        RunWorker.objects.create(id=holder, run=run, host=host, last_seen_at=now)
        if run.started_at is None:
            run.started_at = now
            run.save(update_fields=["started_at"])
    return run


def limits_of(run_id: int) -> Limits:
    """Today's limits: they may be raised while a run is at work."""
    return Limits(*Run.objects.values_list("max_calls", "max_tokens", "pilot_items").get(pk=run_id))


def room_in_pilot(run_id: int, items: int) -> int:
    """How many more items a pilot of so many may take up."""
    waiting = RunItem.objects.filter(run=run_id, state=RunItem.State.PENDING).count()
    return max(0, items - (Run.objects.values_list("total", flat=True).get(pk=run_id) - waiting))


_CLAIM = """
UPDATE llm_runitem SET state = 'leased', lease_holder = %s, lease_expires_at = %s, claims = claims + 1
WHERE id IN (
    SELECT id FROM llm_runitem WHERE run_id = %s AND {free}
    ORDER BY id LIMIT %s FOR UPDATE SKIP LOCKED
)
RETURNING id, subject_id, retries, claims
"""


def claim_items(run_id: int, holder: uuid.UUID, count: int) -> list[ClaimedItem]:
    """Up to `count` items for `holder`: waiting ones first, then those whose lease has run out."""
    now = timezone.now()
    with transaction.atomic(), connection.cursor() as cursor:
        for free, extra in (("state = 'pending'", []), ("state = 'leased' AND lease_expires_at < %s", [now])):
            cursor.execute(_CLAIM.format(free=free), [holder, now + lease(), run_id, *extra, count])
            if rows := sorted(cursor.fetchall()):
                break
        lost = [pk for pk, _, _, claims in rows if claims > MAX_CLAIMS]
        if lost:
            RunItem.objects.filter(pk__in=lost).update(
                **_ended(RunItem.State.FAILED, now),
                error_kind="lost",
                error_message=f"its worker stopped before it was done, {MAX_CLAIMS} times",
            )
    return [
        ClaimedItem(pk, subject, retries) for pk, subject, retries, claims in rows if claims <= MAX_CLAIMS
    ]


def release_items(holder: uuid.UUID, items: Sequence[int]) -> None:
    """Puts items back as they were before the claim."""
    RunItem.objects.filter(pk__in=items, lease_holder=holder).update(
        state=RunItem.State.PENDING, lease_holder=None, lease_expires_at=None, claims=F("claims") - 1
    )


def lock_own(holder: uuid.UUID, items: Sequence[int]) -> set[int]:
    """Which of the items `holder` still has, locked until the transaction ends."""
    own = RunItem.objects.select_for_update().filter(pk__in=items, lease_holder=holder).order_by("pk")
    return set(own.values_list("pk", flat=True))


def mark_done(items: Sequence[int]) -> None:
    RunItem.objects.filter(pk__in=items).update(
        **_ended(RunItem.State.DONE, timezone.now()), error_kind="", error_message=""
    )


def mark_failed(item: int, kind: str, message: str) -> None:
    RunItem.objects.filter(pk=item).update(
        **_ended(RunItem.State.FAILED, timezone.now()), error_kind=kind, error_message=message
    )


def _ended(state: RunItem.State, now: dt.datetime) -> dict[str, object]:
    return {"state": state, "finished_at": now, "lease_holder": None, "lease_expires_at": None}


def beat(run_id: int, holder: uuid.UUID, done: Beat) -> bool:
    """Renews the holder's leases, records what it did, and says whether the run is still to go on."""
    now = timezone.now()
    with transaction.atomic():
        RunItem.objects.filter(run_id=run_id, state=RunItem.State.LEASED, lease_holder=holder).update(
            lease_expires_at=now + lease()
        )
        RunWorker.objects.filter(pk=holder).update(
            last_seen_at=now,
            in_flight=done.in_flight,
            allowed=done.allowed,
            held_because=done.held_because,
        )
        RunTick.objects.create(
            run_id=run_id,
            at=now,
            seconds=done.seconds,
            in_flight=done.in_flight,
            calls=done.calls,
            completion_tokens=done.completion_tokens,
        )
        running = Run.objects.filter(pk=run_id, state=Run.State.RUNNING)
        return running.update(replayed=F("replayed") + done.replayed, notice=done.notice) == 1


def leave_run(run_id: int, holder: uuid.UUID, paused_because: str) -> None:
    """Gives the place back; pauses the run with a reason, or ends it when no item is left."""
    with transaction.atomic():
        run = Run.objects.select_for_update().get(pk=run_id)
        RunWorker.objects.filter(pk=holder).delete()
        release_items(holder, list(run.items.filter(lease_holder=holder).values_list("pk", flat=True)))
        if run.state != Run.State.RUNNING:
            return
        left = run.items.filter(state__in=[RunItem.State.PENDING, RunItem.State.LEASED]).exists()
        if not left:
            run.state, run.notice, run.finished_at = Run.State.DONE, "", timezone.now()
        elif paused_because:
            run.state, run.notice = Run.State.PAUSED, paused_because
        else:
            run.notice = ""
        run.save(update_fields=["state", "notice", "finished_at"])


def runs_wanting_workers() -> dict[int, int]:
    """Run id -> how many more workers it could use now."""
    now = timezone.now()
    alive = Counter(
        RunWorker.objects.filter(last_seen_at__gte=now - lease()).values_list("run_id", flat=True)
    )
    wanting = {}
    for run in Run.objects.filter(state=Run.State.RUNNING).only("id", "parallelism"):
        missing = run.parallelism - alive[run.pk]
        free = Q(state=RunItem.State.PENDING) | Q(state=RunItem.State.LEASED, lease_expires_at__lt=now)
        if missing > 0 and (run.pk not in alive or run.items.filter(free).exists()):
            wanting[run.pk] = missing
    return wanting
