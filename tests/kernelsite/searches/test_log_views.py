from __future__ import annotations

import csv
import io
import json

import pytest
from django.urls import reverse

from kernelsite.searches import events, log_views
from kernelsite.searches.models import Candidate
from search.records import EventKind


@pytest.fixture
def client(client, alice):
    client.force_login(alice)
    return client


@pytest.fixture
def finished(launch, wire):
    search = launch(budget=12)
    wire.run()
    search.refresh_from_db()
    return search


def read(client, search, **query):
    return client.get(reverse("searches:log", args=[search.pk]), query)


def numbers(answer):
    return [event["s"] for event in answer.json()["events"]]


def test_a_stretch_before_a_number_ends_just_below_it(client, finished, monkeypatch):
    monkeypatch.setattr(log_views, "PER_ANSWER", 5)
    assert numbers(read(client, finished, before=20)) == [15, 16, 17, 18, 19]
    assert numbers(read(client, finished, before=1)) == []


def test_a_stretch_after_a_number_begins_just_above_it(client, finished, monkeypatch):
    monkeypatch.setattr(log_views, "PER_ANSWER", 5)
    assert numbers(read(client, finished, after=7)) == [8, 9, 10, 11, 12]


def test_without_a_number_it_is_the_tail(client, finished):
    assert numbers(read(client, finished))[-1] == finished.event_seq


def test_filters_leave_only_what_fits(client, finished):
    answer = read(client, finished, family="structure.").json()["events"]
    assert answer
    assert all(event["k"].startswith("structure.") for event in answer)
    of_one = numbers(read(client, finished, structure=2))
    texts = {event.seq: event.payload for event in finished.events.all()}
    assert (
        of_one
        == [
            seq
            for seq, payload in texts.items()
            if payload.get("structure", {}).get("number") == 2
            or payload.get("candidate", {}).get("structure") == 2
        ][-log_views.PER_ANSWER :]
    )


def test_only_texts_are_sent(client, finished):
    assert all(set(event["d"]) == {"text"} for event in read(client, finished).json()["events"])


@pytest.mark.parametrize(
    "query", [{"before": "-1"}, {"after": "x"}, {"structure": "1e3"}, {"before": "9" * 30}]
)
def test_nonsense_is_refused_with_the_name_of_its_field(client, finished, query):
    answer = read(client, finished, **query)
    assert answer.status_code == 400
    assert next(iter(query)) in answer.json()["error"]
    page = client.get(f"/searches/{finished.pk}/", query)
    assert page.status_code == (400 if "before" in query or "after" in query or "structure" in query else 200)


@pytest.mark.parametrize("name", ["log", "beliefs", "candidates_csv"])
def test_another_team_learns_nothing(client, charlie, finished, name):
    client.force_login(charlie)
    assert client.get(reverse(f"searches:{name}", args=[finished.pk])).status_code == 404
    client.logout()
    assert client.get(reverse(f"searches:{name}", args=[finished.pk])).status_code == 302


def test_the_csv_has_a_line_per_candidate_and_purpose(client, finished):
    answer = client.get(reverse("searches:candidates_csv", args=[finished.pk]))
    assert f"S-{finished.pk}-candidates.csv" in answer["Content-Disposition"]
    rows = list(csv.DictReader(io.StringIO(answer.getvalue().decode())))
    assert len(rows) == finished.evaluations.filter(current=True).count()
    first = Candidate.objects.filter(search=finished).first()
    assert json.loads(next(row["knobs"] for row in rows if row["id"] == first.key)) == first.knobs


def test_older_events_can_be_read_without_javascript(client, launch):
    search = launch()
    with events.locked(search.pk) as row:
        for number in range(450):
            events.append(row, EventKind.STATE, f"news {number}")
    page = client.get(f"/searches/{search.pk}/").content.decode()
    assert "?before=252#panel-events" in page
    older = client.get(f"/searches/{search.pk}/?before=252").content.decode()
    assert "news 249<" in older
    assert 'id="e-251"' in older
    assert 'id="e-252"' not in older
