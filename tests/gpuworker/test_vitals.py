from __future__ import annotations

from gpuworker.health.gpu import GaugeError, GpuSample
from gpuworker.vitals import Vitals


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


class Gauge:
    def __init__(self, sample=None):
        self._sample = sample

    def sample(self):
        if self._sample is None:
            raise GaugeError("lost")
        return self._sample


def test_busy_time_is_counted_across_hellos():
    clock = Clock()
    vitals = Vitals(None, clock)
    with vitals.judging(["7", "8"]):
        clock.now += 5.0
        vitals.done("7")
        clock.now += 5.0
        assert vitals.tell() == {"now": ["8"], "gauges": {"busy_share": 1.0}}
        clock.now += 2.5
    clock.now += 7.5
    assert vitals.tell() == {"now": [], "gauges": {"busy_share": 0.25}}
    clock.now += 10.0
    assert vitals.tell()["gauges"] == {"busy_share": 0.0}


def test_a_gpu_tells_what_its_driver_knows():
    sample = GpuSample(
        uuid="GPU-1", name="x", driver="1", temperature_c=40, memory_used_bytes=5, memory_total_bytes=9
    )
    clock = Clock()
    vitals = Vitals(Gauge(sample), clock)
    clock.now += 1.0
    told = vitals.tell()["gauges"]
    assert told == {"busy_share": 0.0, "temperature_c": 40, "memory_used_bytes": 5}


def test_a_driver_that_is_lost_stops_no_hello():
    clock = Clock()
    vitals = Vitals(Gauge(), clock)
    clock.now += 1.0
    assert vitals.tell()["gauges"] == {"busy_share": 0.0}
