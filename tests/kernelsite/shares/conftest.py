from __future__ import annotations

import sys
from datetime import timedelta
from pathlib import Path

import pytest
from django.contrib.auth import get_user_model
from django.utils import timezone

from kernelsite.accounts.models import Membership, Team
from kernelsite.catalog.models import LibraryVersion, WorkloadVersion, sync_shipped
from kernelsite.compare.models import Comparison, SavedSet
from kernelsite.fleet.models import Device
from kernelsite.reviews import deeds
from kernelsite.reviews.deeds import Said
from kernelsite.reviews.models import Release
from kernelsite.searches import dispatch
from kernelsite.searches.launch import Options, Order, launch_search, new_key
from search.settings import Budget

# The searches of these tests are rows that `grown.py` of the searches writes.
sys.path.append(str(Path(__file__).parents[1] / "searches"))


@pytest.fixture
def alice(transactional_db):
    return get_user_model().objects.create_user("alice", email="alice@example.org")


@pytest.fixture
def team(alice):
    team = Team.objects.create(name="Kernels", slug="kernels")
    Membership.objects.create(team=team, user=alice, role="admin")
    return team


@pytest.fixture
def member(team):
    user = get_user_model().objects.create_user("bob")
    Membership.objects.create(team=team, user=user, role="member")
    return user


@pytest.fixture
def launch(team, alice, monkeypatch):
    monkeypatch.setattr(dispatch.app, "send_task", lambda *_, **__: None)
    sync_shipped()
    Device.objects.create(
        name="d", device_class="cpu", model="s", cores=1, last_seen_at=timezone.now() + timedelta(hours=1)
    )
    workload = WorkloadVersion.objects.filter(slug="softmax").latest("version")
    library = LibraryVersion.objects.filter(slug="core").latest("version")

    def launch(**options):
        chosen = Options(budget=Budget(evaluations=16), **options)
        return launch_search(Order(team, alice, workload, library, chosen, key=new_key()))[0]

    return launch


@pytest.fixture
def search(launch):
    """A search with three structures and a confirmed best."""
    from grown import grow

    row = launch()
    row.refresh_from_db()
    structures = grow(row, 6)
    best = structures[-1]
    row.best_speedup, row.best_low, row.best_high = (
        best.best_speedup,
        best.best_speedup * 0.98,
        best.best_speedup * 1.02,
    )
    row.best_structure, row.best_confirmed, row.best_median_us = best.key, True, best.best_median_us
    row.best_baseline, row.evaluations_spent, row.structure_count = "synthetic baseline", 11, 3
    row.save()
    return row


@pytest.fixture
def comparison(team, search, launch):
    row = Comparison.objects.create(team=team, title="c", idempotency_key="c", request={})
    arm = launch(seed=1)
    for each in (search, arm):
        each.comparison = row
        each.save(update_fields=["comparison"])
    return row


@pytest.fixture
def saved(team, search):
    row = SavedSet.objects.create(team=team, slug="kept", title="Kept", note="a note")
    row.searches.set([search])
    return row


@pytest.fixture
def release(team, alice, search):
    """The second structure's best as an approved kernel, with a row per column that people's names are in."""
    review, _ = deeds.propose(search.structures.get(number=2), Said(alice, "k"), "MIT")
    candidate = review.revision.candidate
    return Release.objects.create(
        team=team,
        review=review,
        workload=search.workload,
        slug="softmax",
        number=1,
        candidate=candidate,
        evaluation=candidate.evaluations.first(),
        content_hash=candidate.record.hash,
        title="t",
        license="MIT",
        device="synthetic",
        speedup=2.5,
        low=2.4,
        high=2.6,
        median_us=50.0,
        baseline="b",
        citation="c",
        proposed_by="alice",
        approved_by=["bob"],
    )


@pytest.fixture
def share(client, alice, search):
    """Makes a link through the form; the token."""

    def share(who=alice, kind="search", thing=None, **fields):
        client.force_login(who)
        data = {
            "kind": kind,
            "id": (thing or search).pk,
            "title": "For everybody",
            "days": 7,
            "state": "frozen",
        }
        response = client.post("/shares/new/", data | fields)
        assert response.status_code == 200, response.content.decode()
        client.logout()
        return response.context["link"].rstrip("/").rsplit("/", 1)[1]

    return share
