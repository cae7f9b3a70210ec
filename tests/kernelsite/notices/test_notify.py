from __future__ import annotations

from datetime import UTC, datetime, time
from zoneinfo import ZoneInfo

import pytest
from django.core import mail
from django.db import transaction

from kernelsite.accounts.models import Profile, Role, Team
from kernelsite.notices.models import Channel, Delivery, Event, Notice, Receipt, Webhook, Wishes
from kernelsite.notices.notify import notify


def told(event=None):
    rows = Receipt.objects.all() if event is None else Receipt.objects.filter(notice__event=event)
    return set(rows.values_list("user__username", flat=True))


def test_everybody_in_the_team_is_told_but_who_did_it(kernels, member):
    alice, _ = member("alice"), member("bob", "viewer")
    stranger = member("mallory", "admin", Team.objects.create(name="O", slug="o"))
    notify(kernels, Event.RELEASE, "Released", actor=alice.pk)
    assert told() == {"bob"}
    notify(kernels, Event.RECORD, "Record", to=[alice.pk, stranger.pk])
    assert told(Event.RECORD) == {"alice"}


def test_a_role_is_a_least_role(kernels, member):
    for role in Role:
        member(role.value, role)
    notify(kernels, Event.REVIEW_ASKED, "Look at it", to=Role.REVIEWER)
    assert told() == {"reviewer", "maintainer", "admin"}


def test_the_same_key_is_told_once(kernels, alice, hook):
    hook()
    assert notify(kernels, Event.SEARCH_FAILED, "Failed", key="S-1-failed") is not None
    assert notify(kernels, Event.SEARCH_FAILED, "Failed again", key="S-1-failed") is None
    assert (Notice.objects.count(), Receipt.objects.count(), Delivery.objects.count()) == (1, 1, 2)


def test_it_goes_with_the_transaction(kernels, alice, hook):
    hook()
    with transaction.atomic():
        notify(kernels, Event.RECORD, "Record")
        transaction.set_rollback(True)
    assert not Notice.objects.exists()
    assert not Delivery.objects.exists()


def test_strange_text_becomes_one_line_of_bounded_length(kernels, alice):
    notice = notify(kernels, Event.RECORD, "a\r\nBcc: x\x00\u202e" + "b" * 300, text="t\n" * 600)
    notice.refresh_from_db()
    assert notice.title.startswith("a Bcc: x b")
    assert (len(notice.title), len(notice.text)) == (200, 500)


def test_wishes_decide_by_event_and_channel(kernels, alice):
    choices = {Event.RECORD: {Channel.SITE: False, Channel.MAIL: True}}
    Wishes.objects.create(user=alice, choices=choices)
    notify(kernels, Event.RECORD, "Record")
    assert (told(), Delivery.objects.get().user) == (set(), alice)
    notify(kernels, Event.SEARCH_FINISHED, "Finished")
    assert told() == {"alice"}
    assert Delivery.objects.count() == 1


def test_webhooks_hear_what_they_asked_for(kernels, hook):
    hook(events=[Event.RECORD])
    off = hook()
    Webhook.objects.filter(pk=off.pk).update(off_at=datetime.now(UTC))
    notify(kernels, Event.RELEASE, "Released")
    assert not Delivery.objects.exists()
    notify(kernels, Event.RECORD, "Record")
    assert Delivery.objects.count() == 1


@pytest.mark.parametrize(
    ("quiet", "now", "due"),
    [
        ((None, None), "23:30", "23:30"),
        (("22:00", "07:00"), "21:59", "21:59"),
        (("22:00", "07:00"), "22:00", "07:00 next"),
        (("22:00", "07:00"), "03:00", "07:00"),
        (("22:00", "07:00"), "07:00", "07:00"),
        (("12:00", "13:00"), "12:30", "13:00"),
        (("12:00", "12:00"), "12:00", "12:00"),
    ],
)
def test_quiet_hours_are_those_of_the_person(quiet, now, due):
    zone = ZoneInfo("America/New_York")
    start, end = (time.fromisoformat(word) if word else None for word in quiet)
    clock = time.fromisoformat(now)
    moment = datetime(2026, 1, 10, clock.hour, clock.minute, tzinfo=zone)
    got = Wishes(quiet_from=start, quiet_until=end).mail_due(moment.astimezone(UTC), zone).astimezone(zone)
    day = 11 if due.endswith("next") else 10
    assert (got.day, f"{got:%H:%M}") == (day, due.split()[0])


def test_mail_of_quiet_hours_is_due_at_their_end(kernels, alice):
    Wishes.objects.create(user=alice, quiet_from=time(0, 0), quiet_until=time(23, 59))
    Profile.objects.create(user=alice, time_zone="Pacific/Kiritimati")
    notify(kernels, Event.SEARCH_FAILED, "Failed")
    due = Delivery.objects.get().due_at.astimezone(ZoneInfo("Pacific/Kiritimati"))
    assert (due.hour, due.minute) == (23, 59)
    assert mail.outbox == []


def test_the_inbox_shows_one_s_own_and_reading_is_one_s_own(kernels, alice, member, as_alice, client):
    member("bob")
    notify(kernels, Event.RECORD, "<b>First</b>", link="/searches/1/")
    notify(kernels, Event.RELEASE, "Second")
    page = as_alice.get("/notices/")
    assert [row.notice.title for row in page.context["page"]] == ["Second", "<b>First</b>"]
    assert b"<b>First" not in page.content
    assert b'aria-label="Notifications, 2 unread"' in page.content
    assert as_alice.get("/searches/running.json").json()["unread"] == 2
    first = Receipt.objects.get(user=alice, notice__title="<b>First</b>")
    answer = as_alice.post("/notices/read", {"receipt": first.pk}, headers={"Accept": "application/json"})
    assert answer.json() == {"read": 1}
    assert as_alice.post("/notices/read", {"receipt": first.pk}).status_code == 302
    assert [row.notice.title for row in as_alice.get("/notices/?unread=1").context["page"]] == ["Second"]
    others = Receipt.objects.exclude(user=alice)
    assert as_alice.post("/notices/read", {"receipt": others.first().pk}).status_code == 404
    assert as_alice.post("/notices/read", {"receipt": "all; drop"}).status_code == 404
    as_alice.post("/notices/read")
    assert not Receipt.objects.filter(user=alice).unread().exists()
    assert others.unread().count() == 2


def test_wishes_are_saved_as_they_are_seen(as_alice, alice):
    page = as_alice.get("/settings/notifications/").content.decode()
    assert "search.failed:mail" in page
    boxes = {"search.finished:mail": "on", "record:site": "on", "quiet_from": "22:00", "quiet_until": "07:30"}
    assert as_alice.post("/settings/notifications/", boxes).status_code == 302
    row = Wishes.objects.get(user=alice)
    assert row.wants(Event.SEARCH_FINISHED, Channel.MAIL)
    assert not row.wants(Event.SEARCH_FAILED, Channel.SITE)
    assert (row.quiet_from, row.quiet_until) == (time(22), time(7, 30))
    answer = as_alice.post("/settings/notifications/", {"quiet_from": "22:00"})
    assert answer.status_code == 422
    assert "beginning and an end" in answer.content.decode()
