"""The state of a GPU around a measurement: noted with the time, or the time does not count."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from gpuworker import conditions, runner
from gpuworker.health import host
from gpuworker.health.gpu import GaugeError, GpuSample
from gpuworker.verdicts import InfrastructureError, RejectedError

CALM = GpuSample(
    uuid="GPU-1",
    name="H200",
    driver="580",
    sm_clock_mhz=1980,
    memory_used_bytes=1 << 30,
    memory_total_bytes=1 << 37,
    uncorrected_ecc=3,
)


class Gauge:
    """Gives one sample after the other."""

    def __init__(self, *samples):
        self.samples = list(samples)

    def sample(self):
        found = self.samples.pop(0)
        if isinstance(found, Exception):
            raise found
        return found


def noted(*samples):
    details = {}
    with conditions.noted(SimpleNamespace(gauge=Gauge(*samples)), details):
        pass
    return details


def test_clocks_before_and_after_stand_beside_the_time():
    details = noted(CALM, CALM.model_copy(update={"sm_clock_mhz": 1700}))
    assert details["sm_clock_mhz"] == [1980, 1700]
    assert details["throttles"] == []


def test_a_throttled_time_does_not_count_but_a_power_cap_is_only_noted():
    assert noted(CALM, CALM.model_copy(update={"throttle_bits": 0x4}))["throttles"] == ["power cap"]
    with pytest.raises(RejectedError, match="thermal") as refused:
        noted(CALM, CALM.model_copy(update={"throttle_bits": 0x40}))
    assert refused.value.status == "UNSTABLE_TIMING"


def test_a_memory_error_meanwhile_is_no_candidates_fault():
    with pytest.raises(InfrastructureError, match="uncorrected error"):
        noted(CALM, CALM.model_copy(update={"uncorrected_ecc": 4}))


def test_a_gauge_that_fails_leaves_the_time_alone():
    assert "sm_clock_mhz" not in noted(GaugeError("NVML: lost"), GaugeError("NVML: lost"))


def test_a_service_that_shares_contexts_is_seen(tmp_path):
    assert host.shared_service(tmp_path).fine
    (tmp_path / "control").touch()
    found = host.shared_service(tmp_path)
    assert not found.fine
    assert "would end every other process" in found.text


def test_the_judge_counts_gpus_as_its_operator_does_and_inherits_nothing_else(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    found = runner._environment()
    assert found["CUDA_VISIBLE_DEVICES"] == "1"
    assert "secret" not in "".join(found.values())
