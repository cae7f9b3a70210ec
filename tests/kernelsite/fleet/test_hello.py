from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from kernelsite.fleet.models import Device, DeviceState
from kernelsite.fleet.tasks import hello

pytestmark = pytest.mark.django_db

FACTS = {
    "device_class": "cpu",
    "name": "host-1 cpu",
    "model": "A processor",
    "driver": "Linux 6",
    "runtime": "g++ 12",
    "sandbox": "namespaces",
    "cores": "1",
}


def test_it_works():
    hello(FACTS)
    device = Device.objects.get()
    assert {word: getattr(device, word) for word in FACTS} == FACTS
    assert device.is_online
    assert list(Device.objects.online()) == [device]


def test_hello_again_refreshes_the_same_row():
    hello(FACTS)
    Device.objects.update(last_seen_at=timezone.now() - timedelta(minutes=5))
    assert not Device.objects.online().exists()
    assert not Device.objects.get().is_online
    hello(FACTS | {"driver": "Linux 7"})
    device = Device.objects.get()
    assert device.is_online
    assert device.driver == "Linux 7"


def test_a_bare_hello_keeps_what_was_said_before():
    hello(FACTS)
    hello({"device_class": "cpu", "name": "host-1 cpu"})
    assert Device.objects.get().model == "A processor"


def test_the_same_name_in_another_class_is_another_device():
    hello(FACTS)
    hello(FACTS | {"device_class": "h200"})
    assert Device.objects.count() == 2


def test_a_quarantined_device_stays_out_however_often_it_says_hello():
    hello(FACTS)
    Device.objects.update(state=DeviceState.QUARANTINED)
    hello(FACTS)
    assert not Device.objects.online().exists()


def test_hostile_text_is_cut_and_cleaned():
    hello(FACTS | {"model": "a\x1b[2J\n" + "b" * 10_000, "cores": ["1", "2"]})
    device = Device.objects.get()
    assert device.model.startswith("a[2Jb")
    assert len(device.model) == 200


def test_a_device_without_a_name_is_refused():
    with pytest.raises(KeyError):
        hello({"device_class": "cpu"})
    assert not Device.objects.exists()


def test_a_quarantined_device_is_not_online_and_its_page_says_why(admin_client):
    hello(FACTS | {"quarantined": "five faults in a row: the device side died"})
    assert not Device.objects.online().exists()
    page = admin_client.get("/workers/").content.decode()
    assert "shut out" in page
    assert "five faults in a row" in page
    hello(FACTS | {"quarantined": ""})
    assert Device.objects.get().is_online
