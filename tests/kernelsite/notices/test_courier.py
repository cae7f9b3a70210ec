from __future__ import annotations

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.conf import settings as site
from django.core import mail
from django.db import connection
from django.utils import timezone

from kernelsite.accounts.models import Membership, Session
from kernelsite.notices import courier, hooks
from kernelsite.notices.models import Delivery, DeliveryState, Event, Notice, Receipt, Webhook
from kernelsite.notices.models.webhook import MOST_FAILURES
from kernelsite.notices.notify import notify


@pytest.fixture
def run():
    """Delivers what is due, in this thread, as often as asked, as if every rest were over."""

    def deliver(times=1):
        for _ in range(times):
            now = timezone.now()
            Delivery.objects.filter(state=DeliveryState.WAITING).update(due_at=now)
            for pk in list(Delivery.objects.due(now).values_list("pk", flat=True)):
                if Delivery.objects.claim(pk, now):
                    courier.deliver(pk)

    return deliver


def test_a_mail_has_one_plain_text_one_link_and_an_id(kernels, alice, run, settings):
    settings.SITE_URL = "https://kernels.example"
    notify(kernels, Event.SEARCH_FAILED, "S-1 failed", text="no device", link="/searches/1/")
    run()
    (letter,) = mail.outbox
    delivery = Delivery.objects.get()
    assert letter.to == ["alice@example.org"]
    assert letter.subject == "[Kernels] S-1 failed"
    assert "no device\n\nhttps://kernels.example/searches/1/\n" in letter.body
    assert letter.extra_headers["Message-ID"] == f"<{delivery.uid}@kernels.example>"
    assert (delivery.state, delivery.attempts, delivery.tries[0]["status"]) == ("sent", 1, 250)
    run()
    assert len(mail.outbox) == 1


def test_who_left_meanwhile_gets_no_mail(kernels, alice, run):
    notify(kernels, Event.SEARCH_FAILED, "S-1 failed")
    Membership.objects.all().delete()
    run()
    assert mail.outbox == []
    assert Delivery.objects.get().state == DeliveryState.DROPPED


def test_a_webhook_that_fails_is_tried_again_under_the_same_id_with_longer_rests(
    kernels, hook, receiver, run
):
    hook()
    receiver.answers = [500, 302, 204]
    notify(kernels, Event.RECORD, "Record")
    rests = []
    for _ in range(2):
        run()
        delivery = Delivery.objects.get()
        rests.append((delivery.due_at - timezone.now()).total_seconds())
    assert rests[0] == pytest.approx(10, rel=0.3)
    assert rests[1] == pytest.approx(60, rel=0.3)
    assert Webhook.objects.get().failures == 2
    run()
    delivery.refresh_from_db()
    assert (delivery.state, delivery.attempts) == (DeliveryState.SENT, 3)
    assert [each["status"] for each in delivery.tries] == [500, 302, 204]
    assert {headers["webhook-id"] for headers, _ in receiver.got} == {f"msg_{delivery.uid.hex}"}
    assert Webhook.objects.get().failures == 0


def test_after_the_last_rest_it_is_given_up(kernels, hook, receiver, run):
    hook()
    receiver.answers = [503]
    notify(kernels, Event.RECORD, "Record")
    run(len(courier.BACKOFF_S) + 5)
    assert Delivery.objects.get().state == DeliveryState.FAILED
    assert len(receiver.got) == len(courier.BACKOFF_S) + 1


def test_after_many_failures_it_is_switched_off_and_maintainers_are_told(
    kernels, alice, member, hook, receiver, run
):
    member("vera", "viewer")
    row = hook()
    Webhook.objects.update(failures=MOST_FAILURES - 1)
    receiver.answers = [500]
    notify(kernels, Event.RECORD, "Record")
    notify(kernels, Event.RECORD, "Another")
    run()
    row.refresh_from_db()
    assert row.off_at is not None
    assert "20 tries in a row failed, the last with: status 500" in row.off_reason
    told = Receipt.objects.filter(notice__event=Event.WEBHOOK_OFF)
    assert [receipt.user for receipt in told] == [alice]
    run(2)
    assert len(receiver.got) == 1
    states = Delivery.objects.exclude(webhook=None).values_list("state", flat=True)
    assert DeliveryState.DROPPED in states


def test_a_receiver_that_is_gone_is_switched_off_at_once(kernels, hook, receiver, run):
    hook()
    receiver.answers = [410]
    notify(kernels, Event.RECORD, "Record")
    run()
    assert Webhook.objects.get().off_at is not None
    assert Delivery.objects.get().state == DeliveryState.FAILED


def test_an_address_that_became_private_is_not_called(kernels, hook, receiver, run, settings):
    hook()
    settings.MODEL_HOSTS = "public"
    notify(kernels, Event.RECORD, "Record")
    run()
    assert receiver.got == []
    assert "loopback" in Delivery.objects.get().tries[0]["error"]


def test_a_moved_receiver_is_not_followed(kernels, hook, receiver, run):
    hook()
    receiver.answers, receiver.headers = [307], {"Location": receiver.url + "/elsewhere"}
    notify(kernels, Event.RECORD, "Record")
    run()
    assert len(receiver.got) == 1
    assert Delivery.objects.get().tries[0]["status"] == 307


def test_old_notices_and_sessions_are_dropped(kernels, alice, client):
    client.force_login(alice)
    old = notify(kernels, Event.RECORD, "Old")
    Notice.objects.update(created_at=timezone.now() - timedelta(days=91))
    fresh = notify(kernels, Event.RECORD, "Fresh")
    Session.objects.update(expire_date=timezone.now() - timedelta(seconds=1))
    courier.tidy()
    assert not Notice.objects.filter(pk=old.pk).exists()
    assert Notice.objects.filter(pk=fresh.pk).exists()
    assert not Session.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_couriers_that_run_at_once_send_each_once(kernels, hook, receiver):
    hook()
    for number in range(6):
        notify(kernels, Event.RECORD, f"Record {number}")

    def work(_):
        try:
            return courier.deliver_due()
        finally:
            connection.close()

    with ThreadPoolExecutor(3) as pool:
        assert sum(pool.map(work, range(3))) == 6
    ids = [headers["webhook-id"] for headers, _ in receiver.got]
    assert (len(ids), len(set(ids))) == (6, 6)
    assert set(Delivery.objects.values_list("state", flat=True)) == {DeliveryState.SENT}


CHILD = """
import django, os, signal, sys
django.setup()
from django.conf import settings
settings.DATABASES["default"]["NAME"] = sys.argv[1]
from kernelsite.notices import courier, hooks
taken = hooks.post
def post(*words):
    answer = taken(*words)
    os.kill(os.getpid(), signal.SIGKILL)
    return answer
hooks.post = post
courier.deliver_due()
"""


@pytest.mark.skipif(connection.vendor != "sqlite", reason="the child opens the database by its file")
@pytest.mark.django_db(transaction=True)
def test_kill_9_between_answer_and_row_sends_it_again_and_loses_nothing(kernels, hook, receiver, run):
    hook()
    notify(kernels, Event.RECORD, "Record")
    connection.close()
    environment = os.environ | {"DJANGO_SETTINGS_MODULE": "kernelsite.settings"}
    name = str(site.DATABASES["default"]["NAME"])
    command = [sys.executable, "-c", CHILD, str(connection.settings_dict["NAME"] or name)]
    done = subprocess.run(command, env=environment, cwd=site.BASE_DIR, timeout=60, check=False)
    assert done.returncode == -signal.SIGKILL
    delivery = Delivery.objects.get()
    assert (delivery.state, delivery.attempts) == (DeliveryState.WAITING, 1)
    assert delivery.due_at > timezone.now()
    run()
    delivery.refresh_from_db()
    assert delivery.state == DeliveryState.SENT
    assert [headers["webhook-id"] for headers, _ in receiver.got] == [hooks.message_id(delivery)] * 2
