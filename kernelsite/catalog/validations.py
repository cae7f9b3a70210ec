"""Life of a validation: queued, running, over, lost. Every step is one conditional write, so all are safe to run twice."""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils import timezone

from kernelsite.catalog.validation import ValidationState, WorkloadValidation, new_token
from kernelsite.celery import app
from search.records import TaskName, device_queue
from search.validation import Ending, Validation, ValidationRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from django.contrib.auth.models import User

    from kernelsite.accounts.models import Team
    from search.workload import Workload

log = logging.getLogger(__name__)

ATTEMPTS = 4
"""Lost or infrastructure-failed attempts before it is given up."""
RESEND_AFTER_S = 20.0
"""A message given to the broker is not looked for before this."""
ON_CPU = ("eager", "library")
ON_GPU = ("eager", "library", "compile")
"""Baselines that are timed. A compiled one takes a compiler longer on a processor than everything else together."""


def request(
    team: Team, user: User | None, workload: Workload, slug: str, device_class: str
) -> tuple[WorkloadValidation, bool]:
    """Have a workload validated on a device class; one that is under way already is taken as it is.

    Returns:
        The validation, and whether this call made it.
    """
    own = WorkloadValidation.objects.of_team(team).filter(hash=workload.hash, device_class=device_class)
    try:
        with transaction.atomic():
            row = WorkloadValidation.objects.create(
                team=team,
                hash=workload.hash,
                slug=slug,
                document=workload.dump(),
                device_class=device_class,
                created_by=user,
            )
    except IntegrityError:
        return own.open().get(), False
    _send_later(row.pk)
    return row, True


def cancel(row: WorkloadValidation, who: str) -> bool:
    """Wait no longer; what a worker still finds is dropped. False when it was over already."""
    mine = WorkloadValidation.objects.open().filter(pk=row.pk)
    values = {"state": ValidationState.CANCELLED, "note": f"cancelled by {who}"[:300]}
    return bool(mine.update(**values, lease_until=None, finished_at=timezone.now()))


def start(pk: int, token: str) -> None:
    """A worker has begun; the lease runs from here."""
    mine = WorkloadValidation.objects.addressed(pk, token)
    mine.filter(state=ValidationState.QUEUED).update(
        state=ValidationState.RUNNING, started_at=timezone.now(), lease_until=_lease()
    )


def hear(pk: int, token: str, known: dict[str, Any]) -> None:
    """A worker is still at it, and says what it knows.

    Raises:
        pydantic.ValidationError: it says nothing of that kind.
    """
    start(pk, token)
    document = Validation.load(known).dump()
    WorkloadValidation.objects.addressed(pk, token).update(known=document, lease_until=_lease())


def record(pk: int, token: str, known: dict[str, Any]) -> None:
    """A worker is done. Late and double results, and those of another content, are dropped.

    Raises:
        pydantic.ValidationError: it is no result.
    """
    found = Validation.load(known)
    row = WorkloadValidation.objects.addressed(pk, token).first()
    if row is None or found.hash not in {row.hash, ""} or found.ending is None:
        log.warning("validation %s: a result that nobody waits for was dropped", pk)
        return
    if found.ending is Ending.INFRA:
        _again(row, found.message)
        return
    passed = found.ending is Ending.PASSED
    WorkloadValidation.objects.addressed(pk, token).update(
        state=ValidationState.PASSED if passed else ValidationState.FAILED,
        known=found.dump(),
        note="",
        lease_until=None,
        finished_at=timezone.now(),
    )


def _again(row: WorkloadValidation, why: str) -> bool:
    """End an attempt that was nobody's fault: try again, or give up after too many."""
    mine = WorkloadValidation.objects.addressed(row.pk, row.token)
    if row.attempt >= ATTEMPTS:
        note = f"given up after {row.attempt} attempts: {why}"[:300]
        values: dict[str, Any] = {"state": ValidationState.CANCELLED, "finished_at": timezone.now()}
        return bool(mine.update(**values, note=note, lease_until=None))
    changed = mine.update(
        state=ValidationState.QUEUED,
        attempt=row.attempt + 1,
        token=new_token(),
        note=f"attempt {row.attempt} was lost: {why}"[:300],
        known=None,
        lease_until=None,
    )
    if changed:
        _send_later(row.pk)
    return bool(changed)


# Messages -----------------------------------------------------------------------------------------


def message_id(row: WorkloadValidation) -> str:
    """Broker id of the attempt's message, by which the sweeper finds it in the queue."""
    return f"validation-{row.pk}-{row.attempt}"


def send(pk: int) -> None:
    """Queue `gpuworker.validate` for a validation that still waits."""
    row = WorkloadValidation.objects.filter(pk=pk, state=ValidationState.QUEUED).first()
    if row is None:
        return
    WorkloadValidation.objects.filter(pk=pk).update(sent_at=timezone.now())
    wanted = ValidationRequest(
        id=str(row.pk),
        token=row.token,
        workload=row.document,
        device_class=row.device_class,
        baselines=ON_CPU if row.device_class == "cpu" else ON_GPU,
        reference_s=settings.VALIDATION_REFERENCE_S,
    )
    app.send_task(
        TaskName.VALIDATE, args=[wanted.dump()], queue=device_queue(row.device_class), task_id=message_id(row)
    )


def _send_later(pk: int) -> None:
    transaction.on_commit(lambda: send(pk), robust=True)


def _lease() -> Any:
    return timezone.now() + timedelta(seconds=settings.VALIDATION_LEASE_S)


# Sweeping -----------------------------------------------------------------------------------------


def lose_expired() -> int:
    """Try those again whose worker fell silent; how many."""
    expired = WorkloadValidation.objects.filter(state=ValidationState.RUNNING, lease_until__lt=timezone.now())
    return sum(_again(row, "its device fell silent") for row in expired.defer("document", "known"))


def resend(held: Callable[[str], Collection[str]]) -> int:
    """Send those again whose message the broker has lost; how many.

    Args:
        held: ids of the messages that the broker holds for a queue.
    """
    since = timezone.now() - timedelta(seconds=RESEND_AFTER_S)
    due = list(
        WorkloadValidation.objects.filter(state=ValidationState.QUEUED, sent_at__lt=since).defer("document")
    )
    queues = {row.device_class: device_queue(row.device_class) for row in due}
    ids = {name: held(queue) for name, queue in queues.items()}
    lost = [row.pk for row in due if message_id(row) not in ids[row.device_class]]
    for pk in lost:
        send(pk)
    return len(lost)
