"""What people are told of searches, through the driver and its controls; F137's socket part is in test_consumer."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth import get_user_model
from django.utils import timezone
from grown import grow

from kernelsite.accounts.models import Membership
from kernelsite.compare.models import Comparison
from kernelsite.notices import devices
from kernelsite.notices.models import Event, Notice, Receipt, Wishes
from kernelsite.searches import controls, events, holds, tidings
from search.records import SearchState


@pytest.fixture
def bob(team):
    bob = get_user_model().objects.create_user("bob")
    Membership.objects.create(team=team, user=bob, role="member")
    return bob


def told(event):
    rows = Receipt.objects.filter(notice__event=event).order_by("notice_id", "user__username")
    return list(rows.values_list("notice__title", "user__username"))


def test_who_started_it_is_told_of_its_end_and_nosy_people_too(launch, team, bob):
    search = launch()
    controls.fail(search.pk, "driver: KeyError")
    controls.fail(search.pk, "again")
    assert told(Event.SEARCH_FAILED) == [(f"{search} failed", "alice")]
    Wishes.objects.create(user=bob, all_searches=True)
    other = launch(seed=1)
    controls.fail(other.pk, "driver: KeyError")
    assert told(Event.SEARCH_FAILED)[1:] == [(f"{other} failed", "alice"), (f"{other} failed", "bob")]
    notice = Notice.objects.first()
    assert (notice.text, notice.link) == ("driver: KeyError", f"/searches/{other.pk}/")


def test_stopping_and_pausing_by_a_person_tells_nobody(launch):
    search = launch()
    controls.pause(search.pk)
    controls.resume(search.pk)
    controls.stop(search.pk)
    assert not Notice.objects.exists()


def test_a_pause_of_its_own_needs_a_person_each_time(launch):
    search = launch()
    for _ in range(2):
        with events.locked(search.pk) as row:
            row.move(SearchState.RUNNING)
            holds.pause(row, "the account has no money left")
    assert told(Event.SEARCH_PAUSED) == [(f"{search} needs you", "alice")] * 2
    assert "no money left" in Notice.objects.first().text


def test_a_search_that_is_driven_to_its_end_is_told_once_with_its_best(launch, wire, bob):
    search = launch(budget=8)
    wire.run()
    search.refresh_from_db()
    assert search.state == SearchState.FINISHED
    ((title, who),) = told(Event.SEARCH_FINISHED)
    assert (title, who) == (f"{search} finished at {search.best_speedup:.3g}x", "alice")
    # The first confirmed kernel of a workload is its record; the whole team hears of it.
    assert {who for _, who in told(Event.RECORD)} == {"alice", "bob"}


def test_of_a_comparison_only_the_end_is_told(launch, team):
    comparison = Comparison.objects.create(team=team, title="c", idempotency_key="c", request={})
    arms = [launch(seed=seed) for seed in range(3)]
    for arm in arms:
        arm.comparison = comparison
        arm.save(update_fields=["comparison"])
    for arm in arms:
        assert not told(Event.SEARCH_FINISHED)
        with events.locked(arm.pk) as row:
            row.move(SearchState.RUNNING)
            row.move(SearchState.FINISHED, reason="budget spent")
            tidings.ended(row)
    assert told(Event.SEARCH_FINISHED) == [(f"Comparison {comparison} finished", "alice")]


def test_a_record_beats_every_other_confirmed_one(launch):
    first, second = launch(), launch(seed=1)
    for search, best in ((first, 2.0), (second, 1.9), (second, 2.1), (second, 2.1)):
        with events.locked(search.pk) as row:
            row.best_speedup, row.best_confirmed = best, True
            row.best_candidate = f"{search.pk}.{best}"
            tidings.best_changed(row)
    assert [title for title, _ in told(Event.RECORD)] == [
        f"softmax on cpu: 2x in {first.short}",
        f"softmax on cpu: 2.1x in {second.short}",
    ]


def test_an_unconfirmed_best_is_no_record(launch):
    search = launch()
    with events.locked(search.pk) as row:
        row.best_speedup, row.best_confirmed = 9.0, False
        tidings.best_changed(row)
    assert not Notice.objects.exists()


def test_most_of_a_cap_is_told_once_per_cap(launch):
    search = launch()
    for cap in (1000, 1000, 2000):
        with events.locked(search.pk) as row:
            row.tokens_cap = cap
            tidings.cap_is_near(row, "tokens", "80% of it")
    assert len(told(Event.CAP_NEAR)) == 2


def test_a_device_that_falls_silent_is_told_once_per_silence(team, alice, bob, device):
    def heard(ago, **changes):
        device.last_seen_at = timezone.now() - timedelta(seconds=ago)
        for name, value in changes.items():
            setattr(device, name, value)
        device.save()
        return devices.tell_silent()

    assert heard(5) == 0
    assert heard(120) == 1
    assert devices.tell_silent() == 1
    assert told(Event.DEVICE_DOWN) == [("Device cpu synthetic is silent", "alice")]
    assert heard(5) == 0
    assert heard(121) == 1
    assert heard(4000) == 0
    assert heard(120, state="draining") == 0
    assert len(told(Event.DEVICE_DOWN)) == 2
    assert heard(5, state="ok", quarantine="3 faults in a row") == 1
    assert told(Event.DEVICE_DOWN)[-1] == ("Device cpu synthetic is shut out", "alice")


def test_two_thousand_notices_do_not_slow_the_frame(
    launch, client, alice, team, django_assert_max_num_queries
):
    grow(launch(), 3)
    notices = Notice.objects.bulk_create(
        Notice(team=team, event=Event.RECORD, key=str(number), title="r") for number in range(2000)
    )
    Receipt.objects.bulk_create(Receipt(notice=notice, user=alice) for notice in notices)
    client.force_login(alice)
    with django_assert_max_num_queries(11):
        page = client.get("/notices/")
    assert page.context["unread"] == 2000
    assert len(page.context["page"]) == 30
