from __future__ import annotations

import re

import pytest
from django.test import Client
from django.utils import timezone

from kernelsite.accounts.models import AuditEntry
from kernelsite.reviews import gate_page
from kernelsite.searches import gate
from kernelsite.searches.models import GateDecision, Search
from search.review import Decision, Ruling, Verdict


@pytest.fixture
def waiting(search, monkeypatch):
    """A search whose rows say that it is at its gate; what the engine says of it is the test's."""
    Search.objects.filter(pk=search.pk).update(
        state="waiting", wait_reason="review", gate_since=timezone.now(), stage="explore"
    )
    monkeypatch.setattr(gate, "proposed", lambda row: (row.structures.get(number=3).fingerprint,))
    return Search.objects.get(pk=search.pk)


@pytest.fixture
def decided(monkeypatch):
    """What reaches the search."""
    taken = []

    class Row:
        class record:
            rulings = ()

    def decide(search_id, rulings, user, key):
        taken.append((search_id, tuple(rulings), user.username, key))
        return Row, True

    monkeypatch.setattr(gate_page.gate, "decide", decide)
    return taken


def browse(user):
    client = Client()
    client.force_login(user)
    return client


def path(search):
    return f"/searches/{search.pk}/gate/"


def test_what_the_strategy_would_keep_is_chosen_already(waiting, people):
    page = browse(people["rita"]).get(path(waiting)).content.decode()
    assert 'name="v3" value="retained" checked' in page
    assert 'name="v1" value="" checked' in page
    assert f"/searches/{waiting.pk}/gate/" in browse(people["rita"]).get("/reviews/").content.decode()
    assert (
        "Decide which structures go on"
        in browse(people["mel"]).get(waiting.get_absolute_url()).content.decode()
    )


def test_a_form_becomes_rulings_each_with_its_reason(waiting, people, decided):
    form = {
        "v3": "retained", "r3": "fast", "v2": "probed", "p2": "3", "v1": "dropped", "reason": "the rest", "key": "k",
    }  # fmt: skip
    answer = browse(people["rita"]).post(path(waiting), form)
    assert answer.url == waiting.get_absolute_url()
    ((pk, rulings, who, key),) = decided
    assert (pk, who, key) == (waiting.pk, "rita", "k")
    by_number = {waiting.structures.get(fingerprint=each.structure).number: each for each in rulings}
    assert {number: each.verdict for number, each in by_number.items()} == {
        1: Verdict.DROPPED,
        2: Verdict.PROBED,
        3: Verdict.RETAINED,
    }
    assert [by_number[number].reason for number in (1, 2, 3)] == ["the rest", "the rest", "fast"]
    assert by_number[2].probes == 3
    assert AuditEntry.objects.get().verb == "decide at the gate"


def test_one_is_added_by_hand(waiting, people, decided):
    row, action = gate.extensions(waiting)[0]
    form = {"add": f"{row.number}:{action.id}", "add_reason": "known from elsewhere"}
    browse(people["rita"]).post(path(waiting), form)
    ((_, (ruling,), _, _),) = decided
    assert ruling.verdict is Verdict.ADDED
    assert ruling.blueprint.fingerprint == ruling.structure
    assert action.id in ruling.blueprint.actions


@pytest.mark.parametrize(
    ("form", "problem"),
    [
        ({}, "Nothing is decided"),
        ({"v3": "retained"}, "say why"),
        ({"v3": "burned", "reason": "x"}, "no verdict burned"),
        ({"v3": "probed", "p3": "0", "reason": "x"}, "1 to 64 probes"),
        ({"v3": "probed", "p3": "9999999", "reason": "x"}, "1 to 64 probes"),
        ({"add": "3:no_such", "reason": "x"}, "does not extend"),
    ],
)
def test_what_a_form_lacks_is_said_and_nothing_is_lost(waiting, people, form, problem):
    answer = browse(people["rita"]).post(path(waiting), form | {"r1": "my <words>"})
    assert answer.status_code == 422
    text = answer.content.decode()
    assert problem in text
    assert "my &lt;words&gt;" in text
    assert not waiting.decisions.exists()


def test_members_look_and_reviewers_decide(waiting, people):
    mel = browse(people["mel"])
    assert "Reviewers decide" in mel.get(path(waiting)).content.decode()
    assert mel.post(path(waiting), {"v3": "retained", "reason": "x"}).status_code == 403


def test_a_search_that_is_not_at_its_gate_says_so(search, people):
    page = browse(people["rita"]).get(path(search)).content.decode()
    assert "launched without a gate" in page
    answer = browse(people["rita"]).post(path(search), {"v3": "retained", "reason": "x"})
    assert answer.status_code == 422
    assert "waits for no decision" in answer.content.decode()


def test_a_structures_page_tells_its_rulings(search, structure, people):
    stages = search.settings["stages"] | {"review": True}
    Search.objects.filter(pk=search.pk).update(settings=search.settings | {"stages": stages})
    ruling = Ruling(structure=structure.fingerprint, verdict=Verdict.RETAINED, reason="far <ahead>")
    document = Decision(after=3, by="rita", rulings=(ruling,)).dump()
    GateDecision.objects.create(
        search=search, number=1, document=document, key="k", decided_by=people["rita"]
    )
    page = browse(people["vic"]).get(structure.get_absolute_url()).content.decode()
    assert re.search(r"Retained</span>\s+at the gate by rita .*far &lt;ahead&gt;", page)
    assert "at the gate by" not in browse(people["vic"]).get(f"/structures/{search.pk}.1/").content.decode()
