from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from kernelsite.searches.models import Evaluation, Event, Search
from kernelsite.searches.progress import etas, records
from search.records import TaskName


@pytest.fixture
def reader(client, alice, team):
    client.force_login(alice)
    return client


def text(answer):
    return " ".join(answer.content.decode().split())


def test_a_new_team_sees_the_first_steps_with_their_commands(reader):
    page = text(reader.get("/"))
    for words in ("sync_catalog", "celery -A gpuworker.app worker", "run_search --workload softmax"):
        assert words in page
    assert "Running now" not in page


def test_the_first_steps_go_when_a_search_has_finished(reader, launch, wire):
    launch()
    assert "First steps" in text(reader.get("/"))
    wire.run()
    page = text(reader.get("/"))
    assert "First steps" not in page
    assert "Recent results" in page


def test_a_running_search_shows_stage_progress_end_and_age(reader, launch, wire):
    search = launch(budget=24)
    wire.run_until(lambda: Evaluation.objects.filter(order__isnull=False).count() >= 8)
    page = text(reader.get("/"))
    assert search.short in page
    assert "Structure search" in page
    assert "left" in page
    assert "0 s ago" in page
    assert '<progress class="meter" max="24"' in page


def test_a_launch_is_told_what_is_before_it(reader, launch, wire):
    assert "nothing runs on any device" in text(reader.get("/searches/new/"))
    search = launch(budget=24)
    wire.run_until(lambda: Evaluation.objects.filter(state="queued").exists())
    page = reader.get("/searches/new/")
    assert page.context["facts"]["queues"] == {"cpu": {"searches": 1, "queued": 1}}
    assert "cpu: 1 search running, 1 evaluation queued" in text(page)
    wire.run()
    assert Search.objects.get(pk=search.pk).is_final
    assert reader.get("/searches/new/").context["facts"]["queues"] == {}


def test_the_end_is_told_as_a_range_between_two_paces(launch, wire):
    search = launch(budget=24)
    wire.run_until(lambda: Evaluation.objects.filter(order__isnull=False).count() >= 8)
    search = Search.objects.get(pk=search.pk)
    began = timezone.now() - timedelta(minutes=10)
    rows = list(Evaluation.objects.filter(order__isnull=False).order_by("order"))
    for row in rows:  # one a minute, the last three in ten seconds each
        late = max(0, row.order - 5)
        at = began + timedelta(seconds=60 * (row.order - late) + 10 * late)
        Evaluation.objects.filter(pk=row.pk).update(finished_at=at)
    search.started_at = began
    eta = etas([search])[search.pk]
    left = 24 - search.evaluations_spent
    assert eta.low_s == pytest.approx(10 * left)
    assert 10 * left < eta.high_s < 60 * left


def test_too_few_evaluations_tell_no_end(launch, wire):
    search = launch(budget=24)
    wire.run_until(lambda: Evaluation.objects.filter(order__isnull=False).count() >= 2)
    assert etas([Search.objects.get(pk=search.pk)]) == {}


def test_records_tell_the_gain_over_the_best_before(launch, wire, team):
    search = launch()
    wire.run()
    found = records(team, 8)
    bests = Event.objects.filter(search=search, kind="search.best").order_by("-seq")
    assert [record.speedup for record in found] == [
        event.payload["search"]["best"]["speedup"] for event in bests[:3]
    ]
    climbing = [record for record in found if not record.confirmed]
    assert climbing
    assert all(
        record.gain == f"{record.speedup / record.before - 1:+.0%}" for record in climbing if record.before
    )


def test_a_confirmation_is_called_so_and_no_gain(launch, wire, team):
    launch()
    wire.run()
    first = next(record for record in reversed(records(team, 8)) if record.confirmed)
    assert first.is_confirmation
    assert first.gain == ""


def test_records_of_others_are_not_told(launch, wire, charlie):
    launch()
    wire.run()
    assert records(charlie.memberships.get().team, 8) == []


def test_the_page_asks_a_fixed_number_of_queries(reader, launch, wire):
    counts = []
    for _ in range(2):
        launch()
        wire.run()
        with CaptureQueriesContext(connection) as queries:
            reader.get("/")
        counts.append(len(queries))
    assert counts[0] == counts[1] <= 20


def test_reviews_are_shown_only_when_there_are_any(reader, launch, wire):
    search = launch()
    assert "Reviews waiting for me" not in text(reader.get("/"))
    Search.objects.filter(pk=search.pk).update(state="waiting", wait_reason="review")
    assert "Reviews waiting for me" in text(reader.get("/"))


def test_the_chip_counts_what_has_not_ended(reader, launch, wire):
    launch()
    assert reader.get("/searches/running.json").json()["running"] == 1
    assert 'id="running-chip"' in text(reader.get("/workloads/"))
    wire.run()
    assert reader.get("/searches/running.json").json()["running"] == 0


@pytest.mark.parametrize(
    ("words", "place"),
    [
        ("S-12", "/searches/12/"),
        ("s12", "/searches/12/"),
        ("ST-1.3", "/structures/1.3/"),
        ("1.3", "/structures/1.3/"),
        ("C-1.3.007c", "/candidates/1.3.007c/"),
        (" 1.3.007C ", "/candidates/1.3.007c/"),
        ("CMP-4", "/compare/4/"),
    ],
)
def test_the_find_box_jumps_to_short_ids(reader, words, place):
    assert reader.get("/find/", {"q": words}).url == place


@pytest.mark.parametrize("words", ["12", "S-", "C-1.3", "S-1.2.3.4", "<script>", "x" * 5000])
def test_other_words_are_looked_for_in_names(reader, words):
    page = reader.get("/find/", {"q": words})
    assert page.status_code in (200, 302)
    assert "<script>" not in page.content.decode().split("<main", 1)[-1]


def test_the_workers_page_shows_queue_and_oldest_wait_of_a_class(reader, launch, wire, device):
    launch(parallel=2)
    wire.run_until(lambda: wire.of(TaskName.EVALUATE))
    Evaluation.objects.update(created_at=timezone.now() - timedelta(minutes=7))
    page = text(reader.get("/workers/"))
    assert "since 7 min ago" in page
    row = Evaluation.objects.select_related("candidate__structure").first()
    type(device).objects.update(in_hand=[row.pk, 10**9])
    page = text(reader.get("/workers/"))
    assert f"C-{row.key}" in page
    assert text(reader.get(f"/workers/{device.pk}/")).count(f"C-{row.key}") >= 1


def test_a_candidate_of_another_team_is_not_named(client, launch, wire, device, charlie):
    launch()
    wire.run_until(lambda: wire.of(TaskName.EVALUATE))
    row = Evaluation.objects.select_related("candidate__structure").first()
    type(device).objects.update(in_hand=[row.pk])
    client.force_login(charlie)
    for address in ("/workers/", f"/workers/{device.pk}/"):
        page = text(client.get(address))
        assert "of another team" in page
        assert row.key not in page
