"""Finds what got lost: attempts of dead devices, messages of a dead broker, silent agents, searches without a driver.

Any number of sweepers may run at once: each repair re-checks its row under the search's lock.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.db.models import Q
from django.utils import timezone

from kernelsite.catalog import device_jobs
from kernelsite.celery import app
from kernelsite.searches import attempts, dispatch, ledger, proposals
from kernelsite.searches.limits import limits, seconds
from kernelsite.searches.models import (
    AttemptState,
    CallState,
    Evaluation,
    ModelCall,
    Search,
    Step,
    StepState,
)
from kernelsite.searches.models.search import FINAL
from kernelsite.searches.models.work import BESIDE
from search.records import Queue, SearchState, WaitReason, device_queue

if TYPE_CHECKING:
    from datetime import datetime


@dataclass(frozen=True)
class Found:
    """How much one sweep repaired."""

    lost_attempts: int
    resent_attempts: int
    silent_agents: int
    resent_drafts: int
    woken_searches: int
    expired_calls: int
    lost_jobs: int
    resent_jobs: int

    @property
    def total(self) -> int:
        """All repairs."""
        return sum(vars(self).values())


def sweep() -> Found:
    """Repair everything once."""
    now = timezone.now()
    return Found(
        lost_attempts=_lose_expired(now),
        resent_attempts=_resend_attempts(now),
        silent_agents=_ask_again(now),
        resent_drafts=_resend_drafts(now),
        woken_searches=_wake(now),
        expired_calls=_expire_calls(now),
        lost_jobs=device_jobs.lose_expired(),
        resent_jobs=device_jobs.resend(queued_messages),
    )


def queued_messages(queue: str) -> frozenset[str]:
    """Ids of the messages that the broker holds for a queue and no worker has taken."""
    with app.connection_for_read() as connection:
        raw = connection.default_channel.client.lrange(queue, 0, -1)
    return frozenset(json.loads(message)["headers"]["id"] for message in raw)


def _lose_expired(now: datetime) -> int:
    expired = Evaluation.objects.filter(state=AttemptState.LEASED, lease_until__lt=now)
    return sum(attempts.lose(pk) for pk in expired.values_list("pk", flat=True))


def _resend_attempts(now: datetime) -> int:
    """An attempt nobody started is sent again when the broker has lost it, however long it waits."""
    due = Evaluation.objects.filter(
        state=AttemptState.QUEUED, sent_at__lt=now - seconds(limits().resend_after_s)
    ).filter(~Q(search__state__in=FINAL) | Q(purpose__in=BESIDE))
    classes = due.order_by().values_list("search__device_class", flat=True).distinct()
    held = {name: queued_messages(device_queue(name)) for name in classes}
    resent = 0
    for pk, device_class in due.values_list("pk", "search__device_class"):
        if dispatch.evaluation_message_id(pk) not in held[device_class]:
            dispatch.send_evaluation(pk)
            resent += 1
    return resent


def _ask_again(now: datetime) -> int:
    silent = Step.objects.filter(state=StepState.PROPOSING, lease_until__lt=now).exclude(
        search__state__in=FINAL
    )
    return sum(proposals.resend_or_give_up(pk) for pk in silent.values_list("pk", flat=True))


def _resend_drafts(now: datetime) -> int:
    due = Step.objects.filter(state=StepState.ASKED, lease_until__lt=now).exclude(search__state__in=FINAL)
    waiting = list(due.values_list("pk", flat=True))
    if not waiting:
        return 0
    held = queued_messages(Queue.AGENT)
    lost = [pk for pk in waiting if dispatch.propose_message_id(pk) not in held]
    again = now + seconds(limits().resend_after_s)
    for pk in lost:
        if Step.objects.filter(pk=pk, state=StepState.ASKED).update(lease_until=again):
            dispatch.send_propose(pk)
    return len(lost)


def _expire_calls(now: datetime) -> int:
    """Calls that were under way when their search ended and whose process must be gone by now."""
    gone = now - seconds(2 * limits().agent_lease_s)
    left = ModelCall.objects.filter(state=CallState.RESERVED, reserved_at__lt=gone, search__state__in=FINAL)
    return sum(ledger.expire(pk) for pk in left.order_by().values_list("search_id", flat=True).distinct())


def _wake(now: datetime) -> int:
    """Searches that no driver holds: those quiet for a while, and those that wait for a device to come."""
    quiet = now - seconds(limits().sweep_interval_s)
    idle = (
        Search.objects.driven().unleased(now).exclude(~Q(state=SearchState.WAITING), last_event_at__gt=quiet)
    )
    # Whoever decides at a gate has the search run again, so one that waits there needs nobody.
    idle = idle.exclude(wait_reason=WaitReason.REVIEW)
    waiting = list(idle.values_list("pk", flat=True))
    if not waiting:
        return 0
    held = queued_messages(Queue.CONTROL)
    lost = [pk for pk in waiting if dispatch.advance_message_id(pk) not in held]
    for pk in lost:
        dispatch.send_advance(pk)
    return len(lost)
