"""Sends what is due: e-mails of notices, webhooks, and letters of accounts.

It runs as a thread of `manage.py sweep`, any number of them at once: each row is claimed by compare-and-set with a
lease, tried without a transaction open, and settled. A courier that is killed leaves a row that is due again.
"""

from __future__ import annotations

import logging
import random
import smtplib
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import TYPE_CHECKING

from django.db import DatabaseError, close_old_connections, connection, transaction
from django.db.models import F
from django.utils import timezone

from kernelsite.accounts import letters
from kernelsite.accounts.models import Membership, Role, Session
from kernelsite.endpoints.vault import SealedKeyError
from kernelsite.notices import devices, hooks
from kernelsite.notices.mail import message_of
from kernelsite.notices.models import Delivery, DeliveryState, Event, Notice, Webhook
from kernelsite.notices.models.notice import KEPT
from kernelsite.notices.models.webhook import MOST_FAILURES
from kernelsite.notices.notify import notify

if TYPE_CHECKING:
    from datetime import datetime

log = logging.getLogger(__name__)

BACKOFF_S = (10.0, 60.0, 300.0, 1800.0, 7200.0, 21600.0)
"""Rests after the first, second, … failed try; after the last one a delivery is given up. Nine hours in all."""
SPREAD = 0.2
"""Share by which rests differ, so that what failed together is not tried together."""
AT_A_TIME = 20
THREADS = 4
"""A receiver that does not answer keeps one of them busy for ten seconds."""
POLL_S = 2.0
TIDY_EVERY_S = 60.0


def deliver_due() -> int:
    """Try everything that is due once; how many tries there were."""
    now = timezone.now()
    mine = [pk for pk in _due(now) if Delivery.objects.claim(pk, now)]
    if mine:
        with ThreadPoolExecutor(min(THREADS, len(mine))) as pool:
            tries = {pk: pool.submit(_deliver_apart, pk) for pk in mine}
        for pk, tried in tries.items():
            if error := tried.exception():
                log.error("delivery %s broke; it is due again after its lease", pk, exc_info=error)
    return len(mine) + letters.send_due()


def _due(now: datetime) -> list[int]:
    return list(Delivery.objects.due(now).values_list("pk", flat=True)[:AT_A_TIME])


def _deliver_apart(pk: int) -> None:
    """In a thread of the pool, whose database connection ends with it."""
    try:
        deliver(pk)
    finally:
        connection.close()


def deliver(pk: int) -> None:
    """Try one delivery that was claimed."""
    rows = Delivery.objects.select_related("notice__team", "webhook", "user")
    delivery = rows.get(pk=pk)
    began = time.monotonic()
    if not _is_wanted(delivery):
        _settle(delivery, DeliveryState.DROPPED)
        return
    answer = _post(delivery) if delivery.webhook else _mail(delivery)
    delivery.note({"status": answer.status, "error": answer.error, "s": round(time.monotonic() - began, 2)})
    with transaction.atomic():
        _conclude(delivery, answer)


def _is_wanted(delivery: Delivery) -> bool:
    """Who left the team meanwhile, or was switched off, gets nothing more."""
    if delivery.webhook is not None:
        return delivery.webhook.off_at is None or delivery.notice.event == Event.TEST
    user = delivery.user
    return bool(
        user
        and user.email
        and user.is_active
        and Membership.objects.filter(user=user, team=delivery.notice.team_id).exists()
    )


def _post(delivery: Delivery) -> hooks.Answer:
    assert delivery.webhook is not None  # asked by the caller
    try:
        url, secret = delivery.webhook.unseal()
    except SealedKeyError as error:
        return hooks.Answer(0, str(error))
    return hooks.post(url, secret, hooks.message_id(delivery), hooks.body_of(delivery))


def _mail(delivery: Delivery) -> hooks.Answer:
    try:
        message_of(delivery).send()
    except (OSError, smtplib.SMTPException, ValueError) as error:
        return hooks.Answer(0, f"{type(error).__name__}: {error}"[:200])
    return hooks.Answer(250, "")


def _conclude(delivery: Delivery, answer: hooks.Answer) -> None:
    if delivery.webhook is not None:
        _judge(delivery.webhook, answer)
    if answer.is_taken:
        delivery.sent_at = timezone.now()
        _settle(delivery, DeliveryState.SENT)
    elif answer.status == hooks.GONE or delivery.attempts > len(BACKOFF_S) or _is_single(delivery):
        _settle(delivery, DeliveryState.FAILED)
    else:
        rest = BACKOFF_S[delivery.attempts - 1] * random.uniform(1 - SPREAD, 1 + SPREAD)
        delivery.due_at = timezone.now() + timedelta(seconds=rest)
        delivery.save(update_fields=["due_at", "tries"])


def _is_single(delivery: Delivery) -> bool:
    """The person who presses "test" wants to know now."""
    return delivery.notice.event == Event.TEST


def _settle(delivery: Delivery, state: DeliveryState) -> None:
    delivery.state = state
    delivery.save(update_fields=["state", "sent_at", "tries"])


def _judge(webhook: Webhook, answer: hooks.Answer) -> None:
    """Count failures in a row; switch off who is gone or has failed too often."""
    rows = Webhook.objects.filter(pk=webhook.pk)
    if answer.is_taken:
        rows.update(failures=0)
        return
    rows.update(failures=F("failures") + 1)
    webhook.refresh_from_db(fields=["failures"])
    if answer.status == hooks.GONE:
        switch_off(webhook, "the receiver answered 410: it wants nothing more")
    elif webhook.failures >= MOST_FAILURES:
        switch_off(webhook, f"{webhook.failures} tries in a row failed, the last with: {_word(answer)}")


def _word(answer: hooks.Answer) -> str:
    return answer.error or f"status {answer.status}"


def switch_off(webhook: Webhook, reason: str) -> None:
    """Send it nothing more until a person switches it on, and tell those who can."""
    off = Webhook.objects.filter(pk=webhook.pk, off_at=None)
    if not off.update(off_at=timezone.now(), off_reason=reason[:200]):
        return
    notify(
        webhook.team,
        Event.WEBHOOK_OFF,
        f"Webhook {webhook.name} is off",
        text=reason,
        link=webhook.get_absolute_url(),
        to=Role.MAINTAINER,
    )


def tidy() -> None:
    """Drop what is too old for anybody to look at."""
    now = timezone.now()
    old = Notice.objects.filter(created_at__lt=now - KEPT).values_list("pk", flat=True)[:500]
    Notice.objects.filter(pk__in=list(old)).delete()
    Session.objects.filter(expire_date__lt=now).delete()
    letters.forget()


def start() -> threading.Thread:
    """Run in the background until the process ends."""
    thread = threading.Thread(target=_run, daemon=True, name="courier")
    thread.start()
    return thread


def _run() -> None:
    tidied_at = time.monotonic()
    while True:
        try:
            deliver_due()
            if time.monotonic() - tidied_at > TIDY_EVERY_S:
                tidied_at = time.monotonic()
                tidy()
                devices.tell_silent()
        except (DatabaseError, OSError) as error:
            log.warning("notices put off: %s", error)
        except Exception:
            # Whatever one row brings about, the others are still to be sent.
            log.exception("the courier stumbled")
        close_old_connections()
        time.sleep(POLL_S)
