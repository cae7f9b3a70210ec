from __future__ import annotations

import pytest
from django.contrib.auth import get_user_model
from kombu.exceptions import OperationalError

from kernelsite.accounts.models import Membership, Team
from kernelsite.fleet import control
from kernelsite.fleet.models import Device, DeviceState
from kernelsite.fleet.tasks import hello

pytestmark = pytest.mark.django_db

FACTS = {"device_class": "h200", "name": "host-1 cuda:0", "node": "gpu.h200@host-1", "open": True}
CANCEL = ("cancel", "gpu.h200", ["gpu.h200@host-1"])
ADD = ("add", "gpu.h200", ["gpu.h200@host-1"])


@pytest.fixture
def told(monkeypatch):
    """What workers were told."""
    told = []
    for name, word in (("cancel_consumer", "cancel"), ("add_consumer", "add")):
        monkeypatch.setattr(
            control.app.control,
            name,
            lambda queue, destination, word=word: told.append((word, queue, destination)),
        )
    return told


def person(client, role):
    user = get_user_model().objects.create_user(role)
    team, _ = Team.objects.get_or_create(name="Kernels", slug="kernels")
    Membership.objects.create(team=team, user=user, role=role)
    client.force_login(user)
    return client


def test_a_drained_device_takes_nothing_and_its_worker_is_told(client, told):
    hello(FACTS)
    device = Device.objects.get()
    answer = person(client, "maintainer").post(f"/workers/{device.pk}/drain/", {"reason": "new cooler"})
    assert answer.url == f"/workers/{device.pk}/"
    device.refresh_from_db()
    assert (device.state, device.reason, device.changed_by.username) == (
        "draining",
        "new cooler",
        "maintainer",
    )
    assert told == [CANCEL]
    assert not Device.objects.online().exists()
    page = client.get(answer.url).content.decode()
    assert "drained" in page
    assert "new cooler" in page


def test_a_worker_that_missed_the_word_is_told_again_at_its_next_hello(told):
    hello(FACTS)
    Device.objects.update(state=DeviceState.DRAINING)
    hello(FACTS)
    assert told == [CANCEL]
    hello(FACTS | {"open": False})
    assert told == [CANCEL]
    Device.objects.update(state=DeviceState.OK)
    hello(FACTS | {"open": False})
    assert told == [CANCEL, ADD]


def test_a_worker_in_quarantine_is_left_to_itself(told):
    hello(FACTS | {"open": False, "quarantined": "five faults"})
    assert told == []


def test_enabling_gives_it_work_again(client, told):
    hello(FACTS)
    Device.objects.update(state=DeviceState.DRAINING)
    device = Device.objects.get()
    person(client, "admin").post(f"/workers/{device.pk}/enable/")
    assert told == [ADD]
    assert Device.objects.online().exists()


@pytest.mark.parametrize("role", ["viewer", "member", "reviewer"])
def test_others_may_not(client, told, role):
    hello(FACTS)
    device = Device.objects.get()
    client = person(client, role)
    assert client.post(f"/workers/{device.pk}/drain/").status_code == 403
    assert Device.objects.get().state == "ok"
    assert "Maintainers and admins" in client.get(f"/workers/{device.pk}/").content.decode()


def test_looking_drains_nothing(client, told):
    hello(FACTS)
    assert person(client, "admin").get(f"/workers/{Device.objects.get().pk}/drain/").status_code == 405


def test_a_broker_that_is_away_does_not_lose_the_decision(client, monkeypatch):
    def away(*_, **__):
        raise OperationalError("away")

    monkeypatch.setattr(control.app.control, "cancel_consumer", away)
    hello(FACTS)
    person(client, "admin").post(f"/workers/{Device.objects.get().pk}/drain/", {"reason": "x"})
    assert Device.objects.get().state == "draining"


def test_a_worker_without_a_name_cannot_be_told_and_the_page_says_so(client, told):
    hello({name: word for name, word in FACTS.items() if name != "node"})
    device = Device.objects.get()
    answer = person(client, "admin").post(f"/workers/{device.pk}/drain/", {"reason": "x"}, follow=True)
    assert "has not said how it can be told" in answer.content.decode()
    assert told == []
