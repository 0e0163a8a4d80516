"""Every write on runs and endpoints that a person or a command asks for."""

from __future__ import annotations

import itertools
import logging
import os
import threading
from collections.abc import Iterable, Mapping
from typing import Any

from celery import current_app
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.db.models import F, Q
from django.utils import timezone
from kombu.exceptions import OperationalError as BrokerError

from llm.models import Endpoint, Run, RunItem
from llm.types import EndpointSettings

logger = logging.getLogger(__name__)

WORK_TASK = "llm.work_on_run"


def endpoint_settings(endpoint: Endpoint) -> EndpointSettings:
    """The endpoint as the client needs it, with the key read from the variable that it names."""
    return EndpointSettings(
        base_url=endpoint.base_url,
        model=endpoint.model,
        api_key=os.environ.get(endpoint.api_key_env, "") if endpoint.api_key_env else "",
        timeout=float(endpoint.timeout_seconds),
        max_in_flight=endpoint.max_in_flight,
        max_output_tokens=endpoint.max_output_tokens,
        constrained=endpoint.constrained,
        extra_body=endpoint.extra_body,
    )


def start_run(
    *,
    kind: str,
    subject_ids: Iterable[int],
    endpoint: Endpoint | None = None,
    parameters: Mapping[str, Any] | None = None,
    user: User | None = None,
    parallelism: int = 1,
    alike: Q | None = None,
) -> Run:
    """Queues one item for each subject and tells the workers. A run without subjects is done at once.

    A subject that still waits in an unfinished run of the kind is left to that run: two runs at the same
    work would pay twice. `alike` (a condition on run items) says which runs of the kind are at the same work;
    without it all are.
    """
    with transaction.atomic():
        taken = _waiting_elsewhere(kind, alike or Q())
        run = Run.objects.create(
            kind=kind,
            endpoint=endpoint,
            parameters=dict(parameters or {}),
            created_by=user,
            parallelism=parallelism,
        )
        subjects = (subject for subject in subject_ids if subject not in taken)
        while batch := list(itertools.islice(subjects, 5_000)):
            RunItem.objects.bulk_create(RunItem(run=run, subject_id=subject) for subject in batch)
            run.total += len(batch)
        if run.total == 0:
            run.state, run.finished_at = Run.State.DONE, timezone.now()
        run.save()
        if run.total:
            _tell_workers_after_commit(run)
    return run


def _waiting_elsewhere(kind: str, alike: Q) -> set[int]:
    """Subjects of unfinished runs of a kind that are alike. Starts of one kind wait for each other until
    they commit."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", [f"start {kind}"])
    waiting = RunItem.objects.filter(
        alike,
        run__kind=kind,
        run__state__in=[Run.State.RUNNING, Run.State.PAUSED],
        state__in=[RunItem.State.PENDING, RunItem.State.LEASED],
    )
    return set(waiting.values_list("subject_id", flat=True))


def set_workers(*, run_id: int, count: int) -> None:
    """How many worker processes may share a run; each keeps up to the endpoint's limit in flight."""
    with transaction.atomic():
        Run.objects.filter(pk=run_id).update(parallelism=count)
        transaction.on_commit(lambda: tell_workers(run_id, count))


def limit_run(
    *, run_id: int, max_calls: int | None, max_tokens: int | None, pilot_items: int | None = None
) -> None:
    """What a run may cost before it pauses, None for no limit; a run at work heeds it within seconds."""
    Run.objects.filter(pk=run_id).update(max_calls=max_calls, max_tokens=max_tokens, pilot_items=pilot_items)


def clone_run(*, run_id: int, failed_only: bool, user: User | None = None) -> Run:
    """A new run over the same subjects (or those that failed) with the same settings and limits.

    What is stored already is not asked again, so it costs what is missing.
    """
    old = Run.objects.select_related("endpoint").get(pk=run_id)
    items = old.items.filter(state=RunItem.State.FAILED) if failed_only else old.items.all()
    with transaction.atomic():
        run = start_run(
            kind=old.kind,
            subject_ids=items.order_by("pk").values_list("subject_id", flat=True),
            endpoint=old.endpoint,
            parameters={**old.parameters, "cloned_from": old.pk},
            user=user,
            parallelism=old.parallelism,
            alike=Q(run=old) | Q(run__parameters__cloned_from=old.pk),
        )
        limit_run(run_id=run.pk, max_calls=old.max_calls, max_tokens=old.max_tokens)
        run.refresh_from_db()
    return run


def pause_run(*, run_id: int) -> bool:
    """No new calls; those in flight are finished and kept. False when the run was not running."""
    return _move(run_id, {Run.State.RUNNING}, Run.State.PAUSED, "Paused by hand") is not None


def continue_run(*, run_id: int) -> bool:
    """Goes on with a paused run; what is stored is not asked again, and a pilot is over."""
    with transaction.atomic():
        run = _move(run_id, {Run.State.PAUSED}, Run.State.RUNNING, "")
        if run:
            run.pilot_items = None
            run.save(update_fields=["pilot_items"])
            _tell_workers_after_commit(run)
    return run is not None


def cancel_run(*, run_id: int) -> bool:
    """Ends a run for good; its finished items and stored calls stay."""
    with transaction.atomic():
        run = _move(run_id, {Run.State.RUNNING, Run.State.PAUSED}, Run.State.CANCELLED, "Cancelled by hand")
        if run:
            run.finished_at = timezone.now()
            run.save(update_fields=["finished_at"])
    return run is not None


def retry_failed(*, run_id: int, kind: str | None = None) -> int:
    """Queues failed items again (of one kind, or all) and sets the run going, unless it was cancelled."""
    with transaction.atomic():
        run = Run.objects.select_for_update().get(pk=run_id)
        if run.state == Run.State.CANCELLED:
            return 0
        failed = run.items.filter(state=RunItem.State.FAILED)
        if kind is not None:
            failed = failed.filter(error_kind=kind)
        count = failed.update(
            state=RunItem.State.PENDING,
            retries=F("retries") + 1,
            claims=0,
            error_kind="",
            error_message="",
            finished_at=None,
        )
        if count:
            run.state, run.notice, run.finished_at = Run.State.RUNNING, "", None
            run.save(update_fields=["state", "notice", "finished_at"])
            _tell_workers_after_commit(run)
    return count


def _move(run_id: int, before: set[Run.State], after: Run.State, notice: str) -> Run | None:
    with transaction.atomic():
        run = Run.objects.select_for_update().get(pk=run_id)
        if run.state not in before:
            return None
        run.state, run.notice = after, notice
        run.save(update_fields=["state", "notice"])
    return run


def _tell_workers_after_commit(run: Run) -> None:
    transaction.on_commit(lambda: tell_workers(run.pk, run.parallelism))


def tell_workers(run_id: int, count: int) -> None:
    """Sends 'there is work', on a thread of its own: an absent broker must not keep anyone waiting.

    Without a broker nothing is lost: workers look for waiting runs themselves.
    """
    threading.Thread(target=send_work, args=(run_id, count), name="tell-workers").start()


def send_work(run_id: int, count: int) -> bool:
    """Sends `count` messages; whether the broker took them."""
    try:
        for _ in range(count):
            current_app.send_task(WORK_TASK, [run_id], retry=False)
    except BrokerError as error:
        logger.warning(
            "the broker cannot be reached, run %s waits for a worker's next look: %s", run_id, error
        )
        return False
    return True
