"""The doctor fails closed: whatever is not as it must be makes the machine unfit."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from gpuworker import doctor, state
from gpuworker.health import canaries
from gpuworker.health.finding import Finding
from gpuworker.health.gpu import GaugeError, GpuProcess, GpuSample
from gpuworker.health.quarantine import MOST_FAULTS, Quarantine
from gpuworker.options import Options
from gpuworker.runner import Runner
from search.records import (
    CaseTiming,
    Environment,
    Evaluation,
    EvaluationStatus,
    Interval,
    Purpose,
    Tier,
    TimingMethod,
)

ROOT = Path(__file__).parents[2]
DEVICE = {
    "device_class": "cpu",
    "name": "host cores 0",
    "model": "a processor",
    "driver": "linux",
    "runtime": "torch",
    "sandbox": "sandboxed",
    "cores": "0",
}


def evaluation(request, status, median_us=None):
    one = Interval(value=1.0, low=1.0, high=1.0)
    timing = {}
    if median_us:
        case = CaseTiming(
            case="main",
            median_us=median_us,
            p10_us=median_us,
            p90_us=median_us,
            samples=3,
            baseline_us=median_us,
            speedup=one,
        )
        timing = {
            "cases": (case,),
            "speedup": one,
            "median_us": median_us,
            "baseline": "eager",
            "method": TimingMethod.SLOPE,
        }
    return Evaluation(
        status=status,
        tier=Tier.FAST,
        purpose=Purpose.SEARCH,
        candidate=request.candidate.hash,
        environment=Environment(device_class="cpu", device="a processor", workload="0" * 64),
        **timing,
    )


class FakeRunner:
    """Judges canaries as they deserve, but for those told otherwise."""

    def __init__(self, options, statuses=None, times_us=(100.0,), device=DEVICE):
        self.options, self.device = options, device
        self.statuses, self.times_us = statuses or {}, list(times_us)
        self.fates = {one.candidate.hash: one for one in canaries.for_device(options.slot)}

    def evaluate(self, requests, alive):
        for request in requests:
            canary = self.fates[request.candidate.hash]
            status = self.statuses.get(canary.name, sorted(canary.ends)[0])
            if canary.name == "honest" and status in canary.ends:
                time_us = self.times_us.pop(0) if len(self.times_us) > 1 else self.times_us[0]
                yield evaluation(request, EvaluationStatus.PASSED, time_us)
            else:
                yield evaluation(request, status)


@pytest.fixture
def options(tmp_path):
    return Options(state=str(tmp_path))


def unfit(found):
    """Names of what is not fine; the noise of this machine aside."""
    return {one.name for one in found if not one.fine} - {"quiet cores", "memory", "disk"}


def examined(options, gauge=None, **more):
    return doctor.examine(FakeRunner(options, **more), options, gauge)


def test_a_fit_machine_passes(options):
    found = examined(options)
    assert unfit(found) == set()
    assert {one.section for one in found} == {"device", "worker", "health", "canaries", "timing"}
    assert [one.name for one in found][-2:] == ["an honest kernel", "repeatability"]


@pytest.mark.parametrize("name", [one.name for one in canaries.cpu_canaries()])
def test_a_canary_with_another_fate_fails(options, name):
    wrong = EvaluationStatus.CRASH if name == "honest" else EvaluationStatus.UNTIMED
    found = unfit(examined(options, statuses={name: wrong}))
    assert ("an honest kernel" if name == "honest" else f"a kernel that {name}") in found


def test_times_that_do_not_repeat_fail(options):
    assert unfit(examined(options, times_us=(100.0, 100.0, 100.0, 100.0, 130.0))) == {"repeatability"}


def test_no_walls_fail(options):
    assert "sandbox" in unfit(examined(options, device=DEVICE | {"sandbox": "unsandboxed"}))


@pytest.mark.parametrize("word", ["model", "driver", "runtime"])
def test_a_device_that_does_not_say_what_it_is_fails(options, word):
    found = examined(options, device=DEVICE | {word: ""})
    assert unfit(found) == {"device"}


def test_the_interpreter_is_not_timed(tmp_path):
    options = Options(device="interpret", state=str(tmp_path))
    assert examined(options)[-1].text == "the interpreter gives no times"


# GPUs ---------------------------------------------------------------------------------------------


class Gauge:
    """One sample after another, the last for ever."""

    def __init__(self, *samples):
        self.samples = list(samples)

    def sample(self):
        found = self.samples.pop(0) if len(self.samples) > 1 else self.samples[0]
        if isinstance(found, Exception):
            raise found
        return found


FIT = GpuSample(
    uuid="GPU-1", name="H200", driver="580", memory_used_bytes=1 << 30, memory_total_bytes=1 << 37
)


@pytest.fixture
def cuda(tmp_path, monkeypatch):
    monkeypatch.setattr(doctor.kernel_log, "read", lambda: "")
    monkeypatch.setattr(doctor, "_KILL_WAIT_S", 0.1)
    return Options(device="cuda:0", state=str(tmp_path))


def test_a_fit_gpu_passes(cuda):
    found = examined(cuda, Gauge(FIT))
    assert unfit(found) == set()
    names = {one.name for one in found}
    assert {"driver errors", "memory after a kill", "throttling, warm", "foreign processes"} <= names


def test_a_gpu_is_examined_as_one_by_whatever_name_it_is_called(cuda, tmp_path):
    named = Options(device="h200:1", state=str(tmp_path))
    kinds = [{one.name for one in examined(options, Gauge(FIT))} for options in (cuda, named)]
    assert kinds[0] == kinds[1]
    assert "multi-process service" in kinds[1]


def test_nvml_is_asked_about_the_device_that_is_judged_on(cuda, monkeypatch):
    asked = []

    def gauge(device):
        asked.append(device)
        return Gauge(FIT)

    monkeypatch.setattr(doctor, "NvmlGauge", gauge)
    examined(cuda, device=DEVICE | {"uuid": "GPU-1"})
    examined(cuda)
    assert asked == ["GPU-1", 0]


@pytest.mark.parametrize(
    ("samples", "wrong"),
    [
        ((FIT.model_copy(update={"processes": (GpuProcess(pid=1),)}),), "foreign processes"),
        ((FIT, FIT.model_copy(update={"memory_used_bytes": 9 << 30})), "memory after a kill"),
        ((FIT, FIT, FIT.model_copy(update={"throttle_bits": 0x40})), "throttling, warm"),
        ((GaugeError("NVML: lost"),), "NVML"),
        ((FIT, GaugeError("NVML: lost")), "NVML"),
    ],
)
def test_an_unfit_gpu_fails(cuda, samples, wrong):
    assert wrong in unfit(examined(cuda, Gauge(*samples)))


def test_a_gpu_without_nvml_fails(cuda, monkeypatch):
    def lost(device):
        raise GaugeError("nvidia-ml-py is not installed")

    monkeypatch.setattr(doctor, "NvmlGauge", lost)
    assert "NVML" in unfit(examined(cuda))


# Quarantine ---------------------------------------------------------------------------------------


@pytest.fixture
def shut_out(options):
    quarantine = Quarantine.of(options)
    for number in range(MOST_FAULTS):
        quarantine.fault(str(number), "a cell did not start")
    assert quarantine.reason
    return quarantine


GOOD, BAD = Finding(name="a", fine=True, text=""), Finding(name="b", fine=False, text="")


@pytest.mark.parametrize(
    ("found", "clear", "ends"),
    [([GOOD], False, True), ([GOOD, BAD], False, False), ([GOOD, BAD], True, True)],
)
def test_a_passing_doctor_or_a_person_ends_a_quarantine(shut_out, found, clear, ends):
    last = doctor.settle(found, shut_out, clear=clear)[-1]
    assert (last.name, last.fine) == ("quarantine", ends)
    assert (shut_out.reason == "") is ends


def test_without_quarantine_nothing_is_said_against_the_device(options):
    assert doctor.settle([BAD], Quarantine.of(options), clear=False)[-1].text == "none"


# For real -----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_triton_canaries_meet_their_fate_in_the_interpreter():
    pytest.importorskip("triton")
    options = Options(device="interpret", state=str(state.folder()))
    runner = Runner(options)
    runner.start()
    try:
        wrong, *_, honest = canaries.cuda_canaries()
        fates = [doctor._fate(runner, one) for one in (wrong, honest)]
    finally:
        runner.close()
    assert [one.fine for one in fates] == [True, True], fates


@pytest.mark.slow
def test_the_command_tells_every_finding_and_its_exit_code_agrees():
    line = [sys.executable, "-m", "gpuworker", "doctor", "--json"]
    ran = subprocess.run(line, capture_output=True, text=True, cwd=ROOT, timeout=180, check=False)
    found = json.loads(ran.stdout)
    assert ran.returncode == (0 if all(one["fine"] for one in found.values()) else 1)
    # Times and busy cores are the machine's affair; walls and verdicts are ours.
    ours = {name: one for name, one in found.items() if one["section"] in {"device", "worker", "canaries"}}
    assert all(one["fine"] for one in ours.values()), ours
    assert len(ours) >= 9
