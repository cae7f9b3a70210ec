"""Life of a device job: queued, running, over, lost. Every step is one conditional write, so all are safe to run twice."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from kernelsite.catalog.device_job import OPEN, DeviceJob, JobState, new_token
from kernelsite.catalog.models import WorkloadProbe, WorkloadValidation
from kernelsite.celery import app
from search.records import device_queue

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

ATTEMPTS = 4
"""Lost or infrastructure-failed attempts before it is given up."""
RESEND_AFTER_S = 20.0
"""A message given to the broker is not looked for before this."""
KINDS: tuple[type[DeviceJob], ...] = (WorkloadValidation, WorkloadProbe)


def cancel(row: DeviceJob, who: str) -> bool:
    """Wait no longer; what a worker still finds is dropped. False when it was over already."""
    mine = type(row)._default_manager.filter(pk=row.pk, state__in=OPEN)
    values = {"state": JobState.CANCELLED, "note": f"cancelled by {who}"[:300]}
    return bool(mine.update(**values, lease_until=None, finished_at=timezone.now()))


def start(kind: type[DeviceJob], pk: int, token: str) -> None:
    """A worker has begun; the lease runs from here."""
    mine = kind._default_manager.filter(pk=pk, token=token, state=JobState.QUEUED)
    mine.update(state=JobState.RUNNING, started_at=timezone.now(), lease_until=_lease())


def hear(kind: type[DeviceJob], pk: int, token: str, **more: Any) -> None:
    """A worker is still at it; the lease runs anew, and more of the row may be written."""
    start(kind, pk, token)
    mine = kind._default_manager.filter(pk=pk, token=token, state__in=OPEN)
    mine.update(**more, lease_until=_lease())


def end(row: DeviceJob, state: JobState, known: dict[str, Any]) -> bool:
    """The attempt has its result; False when somebody was faster."""
    mine = type(row)._default_manager.filter(pk=row.pk, token=row.token, state__in=OPEN)
    values = {"state": state, "known": known, "note": "", "lease_until": None, "finished_at": timezone.now()}
    return bool(mine.update(**values))


def again(row: DeviceJob, why: str) -> bool:
    """End an attempt that was nobody's fault: try again, or give up after too many."""
    mine = type(row)._default_manager.filter(pk=row.pk, token=row.token, state__in=OPEN)
    if row.attempt >= ATTEMPTS:
        note = f"given up after {row.attempt} attempts: {why}"[:300]
        values: dict[str, Any] = {"state": JobState.CANCELLED, "finished_at": timezone.now()}
        return bool(mine.update(**values, note=note, lease_until=None))
    changed = mine.update(
        state=JobState.QUEUED,
        attempt=row.attempt + 1,
        token=new_token(),
        note=f"attempt {row.attempt} was lost: {why}"[:300],
        known=None,
        lease_until=None,
    )
    if changed:
        send_later(row)
    return bool(changed)


def _lease() -> Any:
    return timezone.now() + timedelta(seconds=settings.VALIDATION_LEASE_S)


# Messages -----------------------------------------------------------------------------------------


def send(kind: type[DeviceJob], pk: int) -> None:
    """Queue the message of a job that still waits."""
    row = kind._default_manager.filter(pk=pk, state=JobState.QUEUED).first()
    if row is None:
        return
    kind._default_manager.filter(pk=pk).update(sent_at=timezone.now())
    task, wanted = row.message()
    app.send_task(task, args=[wanted], queue=device_queue(row.device_class), task_id=row.message_id)


def send_later(row: DeviceJob) -> None:
    """Send it once the transaction is through."""
    kind, pk = type(row), row.pk
    transaction.on_commit(lambda: send(kind, pk), robust=True)


# Sweeping -----------------------------------------------------------------------------------------


def lose_expired() -> int:
    """Try those again whose worker fell silent; how many."""
    lost = 0
    for kind in KINDS:
        expired = kind._default_manager.filter(state=JobState.RUNNING, lease_until__lt=timezone.now())
        lost += sum(again(row, "its device fell silent") for row in expired.defer("document", "known"))
    return lost


def resend(held: Callable[[str], Collection[str]]) -> int:
    """Send those again whose message the broker has lost; how many.

    Args:
        held: ids of the messages that the broker holds for a queue.
    """
    since = timezone.now() - timedelta(seconds=RESEND_AFTER_S)
    waiting = {"state": JobState.QUEUED, "sent_at__lt": since}
    due = [row for kind in KINDS for row in kind._default_manager.filter(**waiting).defer("document")]
    queues = {row.device_class: device_queue(row.device_class) for row in due}
    ids = {name: held(queue) for name, queue in queues.items()}
    lost = [row for row in due if row.message_id not in ids[row.device_class]]
    for row in lost:
        send(type(row), row.pk)
    return len(lost)
