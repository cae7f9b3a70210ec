from __future__ import annotations

import math
from datetime import timedelta

import pytest
from django.utils import timezone

from kernelsite.fleet.gauges import readings
from kernelsite.fleet.models import Device, Sample
from kernelsite.fleet.tasks import hello
from kernelsite.searches.pages.workers import HEIGHT, WIDTH, traces

FACTS = {"device_class": "h200", "name": "host-1 cuda:0", "node": "gpu.h200@host-1"}


def test_only_believable_numbers_of_known_gauges_are_read():
    told = {"busy_share": 0.5, "temperature_c": 61, "sm_clock_mhz": math.nan, "power_w": "300", "evil": 1}
    assert readings(told | {"memory_used_bytes": True}) == {"busy_share": 0.5, "temperature_c": 61.0}
    assert readings({"busy_share": 7.0, "temperature_c": 1e9}) == {}
    assert readings(["busy_share"]) == {}


@pytest.mark.django_db
def test_each_hello_with_gauges_is_kept_for_an_hour():
    for temperature in (50, 60):
        hello(FACTS | {"gauges": {"temperature_c": temperature}})
    Sample.objects.filter(temperature_c=50).update(at=timezone.now() - timedelta(minutes=61))
    hello(FACTS | {"gauges": {"temperature_c": 70}})
    assert [sample.temperature_c for sample in Sample.objects.all()] == [60, 70]
    hello(FACTS)
    assert Sample.objects.count() == 2


@pytest.mark.django_db
def test_what_is_in_hand_is_numbers_and_not_too_many():
    hello(FACTS | {"now": ["7", "8", "x", "-1", "²", 9, *map(str, range(100))]})
    device = Device.objects.get()
    assert device.in_hand[:3] == [7, 8, 9]
    assert len(device.in_hand) <= 64
    assert device.word == "busy"
    hello(FACTS)
    assert Device.objects.get().word == "online"


@pytest.mark.django_db
def test_a_trace_runs_from_an_hour_ago_at_the_left_to_now_at_the_right():
    hello(FACTS)
    device, now = Device.objects.get(), timezone.now()
    for minutes, share in ((60, 0.0), (30, 1.0), (0, 0.5)):
        device.samples.create(at=now - timedelta(minutes=minutes), busy_share=share)
    trace = traces(device.samples.all(), now - timedelta(hours=1))["busy_share"]
    assert trace.points == f"0.0,{HEIGHT}.0 {WIDTH / 2},0.0 {WIDTH}.0,{HEIGHT / 2}"
    assert (trace.last, trace.low, trace.high) == (50.0, 0.0, 100.0)


@pytest.mark.django_db
def test_gauges_that_nobody_told_have_no_picture(admin_client):
    hello(FACTS | {"gauges": {"temperature_c": 61}})
    page = admin_client.get("/workers/").content.decode()
    assert "Temperature over the last hour, from 61 to 61" in page
    assert "not told" in page
