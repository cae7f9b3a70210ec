from __future__ import annotations

import sys
from pathlib import Path

import pytest
from django.contrib.auth import get_user_model
from django.utils import timezone

from kernelsite.accounts.models import Membership, Team
from kernelsite.catalog.models import LibraryVersion, WorkloadVersion, sync_shipped
from kernelsite.fleet.models import Device
from kernelsite.searches import dispatch
from kernelsite.searches.launch import Options, Order, launch_search
from kernelsite.searches.models import Candidate
from search.settings import Budget

# Searches written as rows, and a device that answers, as the tests of searches have them.
sys.path.append(str(Path(__file__).parents[1] / "searches"))

ROLES = {
    "ada": "admin",
    "max": "maintainer",
    "rita": "reviewer",
    "ruth": "reviewer",
    "mel": "member",
    "vic": "viewer",
}


@pytest.fixture
def people(db):
    """A team with somebody in every role, by name; `team` is the team itself."""
    team = Team.objects.create(name="Kernels", slug="kernels")
    people = {"team": team}
    for name, role in ROLES.items():
        people[name] = get_user_model().objects.create_user(name)
        Membership.objects.create(team=team, user=people[name], role=role)
    return people


@pytest.fixture
def device(db):
    return Device.objects.create(
        name="host cpu", device_class="cpu", model="s", cores=1, last_seen_at=timezone.now()
    )


@pytest.fixture
def search(people, device, monkeypatch):
    """A search of three structures; the last has two programs that passed."""
    from grown import grow

    monkeypatch.setattr(dispatch.app, "send_task", lambda *_, **__: None)
    sync_shipped()
    order = Order(
        people["team"],
        people["mel"],
        WorkloadVersion.objects.filter(slug="softmax").latest("version"),
        LibraryVersion.objects.filter(slug="core").latest("version"),
        Options(budget=Budget(evaluations=60)),
        key="k",
    )
    search, _ = launch_search(order)
    search.refresh_from_db()
    grow(search, 2)
    give_true_hashes(search)
    return search


def give_true_hashes(search):
    """The rows of `grow` have invented ones; the device answers by content."""
    for row in search.candidates.select_related("source", "structure", "parent"):
        if row.number == 2:
            knob = next(each for each in row.structure.record.knobs if len(each.choices) > 1)
            other = next(each for each in knob.choices if each != knob.default)
            row.knobs = {each.name: each.default for each in row.structure.record.knobs} | {knob.name: other}
        Candidate.objects.filter(pk=row.pk).update(knobs=row.knobs, hash=row.record.hash)


@pytest.fixture
def structure(search):
    return search.structures.get(number=3)
