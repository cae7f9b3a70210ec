from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth import get_user_model
from django.utils import timezone
from wire import Wire

from kernelsite.accounts.models import Membership, Team
from kernelsite.catalog.models import LibraryVersion, WorkloadVersion, sync_shipped
from kernelsite.fleet.models import Device
from kernelsite.searches import dispatch, sweeper
from kernelsite.searches.launch import Options, Order, launch_search, new_key
from search.settings import Budget


@pytest.fixture
def alice(transactional_db):
    return get_user_model().objects.create_user("alice", password="alice's own")


@pytest.fixture
def team(alice):
    team = Team.objects.create(name="Kernels", slug="kernels")
    Membership.objects.create(team=team, user=alice, role="admin")
    return team


@pytest.fixture
def charlie(team):
    """Of another team."""
    other = Team.objects.create(name="Others", slug="others")
    charlie = get_user_model().objects.create_user("charlie", password="charlie's own")
    Membership.objects.create(team=other, user=charlie, role="admin")
    return charlie


@pytest.fixture
def wire(monkeypatch):
    wire = Wire()
    monkeypatch.setattr(dispatch.app, "send_task", wire.send_task)
    monkeypatch.setattr(sweeper, "queued_messages", wire.ids)
    return wire


@pytest.fixture
def device(transactional_db):
    return Device.objects.create(
        name="synthetic",
        device_class="cpu",
        model="synthetic",
        cores=1,
        last_seen_at=timezone.now() + timedelta(hours=1),
    )


@pytest.fixture
def order(team, alice):
    """Builds an order of softmax; options are keyword arguments."""
    sync_shipped()
    workload = WorkloadVersion.objects.filter(slug="softmax").latest("version")
    library = LibraryVersion.objects.filter(slug="core").latest("version")

    def build(*, key="", budget=16, **options):
        chosen = Options(budget=Budget(evaluations=budget), **options)
        return Order(team, alice, workload, library, chosen, key=key or new_key())

    return build


@pytest.fixture
def launch(order, wire, device):
    """Launches a search whose messages wait in `wire`."""
    return lambda **options: launch_search(order(**options))[0]
