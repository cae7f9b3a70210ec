"""Health of a GPU and of the machine, read through edges that tests hold themselves."""

from __future__ import annotations

import subprocess
from types import SimpleNamespace

import pytest

from gpuworker.health import gpu, host, kernel_log
from gpuworker.health.gpu import GaugeError, GpuProcess, GpuSample, Neighbours
from gpuworker.health.nvml import NvmlGauge

GIB = 1 << 30
FIT = GpuSample(
    uuid="GPU-1",
    name="NVIDIA H200",
    driver="580.1",
    sm_clock_mhz=1980,
    most_sm_clock_mhz=1980,
    temperature_c=40,
    slowdown_c=87,
    power_w=120.0,
    power_limit_w=700.0,
    memory_used_bytes=GIB,
    memory_total_bytes=139 * GIB,
    uncorrected_ecc=0,
    remap_pending=False,
    remap_failed=False,
)
ALONE = Neighbours(ours=frozenset({7}), visible=frozenset({1, 7, 9}), holders=1)


def findings(neighbours=ALONE, **change):
    found = gpu.examine(FIT.model_copy(update=change), neighbours)
    return {one.name: one for one in found}


def test_a_fit_device_has_nothing_wrong():
    assert all(one.fine for one in findings().values())


@pytest.mark.parametrize(
    ("change", "name", "word"),
    [
        ({"throttle_bits": 0x4}, "throttling", "power cap; SM clock 1980 of 1980 MHz, 120 of 700 W"),
        ({"throttle_bits": 0x40 | 0x8}, "throttling", "hardware slowdown, thermal slowdown by hardware"),
        ({"temperature_c": 85}, "temperature", "85 °C, slows down at 87 °C"),
        ({"uncorrected_ecc": 3}, "device memory", "3 uncorrected errors"),
        ({"remap_pending": True}, "device memory", "waits for a reset"),
        ({"remap_failed": True}, "device memory", "could not be replaced"),
        ({"processes": (GpuProcess(pid=9),)}, "foreign processes", "1 on the device: 9"),
    ],
)
def test_what_is_wrong_is_named(change, name, word):
    found = findings(**change)
    assert not found.pop(name).fine
    assert word in findings(**change)[name].text
    assert all(one.fine for one in found.values())


@pytest.mark.parametrize("bits", [0x1, 0x2, 0x10, 0x100])
def test_an_idle_device_and_an_owners_settings_are_no_throttling(bits):
    assert findings(throttle_bits=bits)["throttling"].fine


def test_a_device_that_cannot_say_is_not_blamed():
    silent = {"temperature_c": None, "uncorrected_ecc": None, "remap_pending": None, "power_w": None}
    assert all(one.fine for one in findings(**silent).values())


def test_our_own_processes_are_not_foreign():
    assert findings(processes=(GpuProcess(pid=7),))["foreign processes"].fine


def test_processes_of_another_namespace_are_ours_up_to_as_many_as_hold_the_device():
    unseen = (GpuProcess(pid=4001), GpuProcess(pid=4002))
    assert findings(processes=unseen[:1])["foreign processes"].fine
    assert findings(processes=unseen)["foreign processes"].text == "2 on the device: 4001, 4002"


class Gauge:
    """Memory in use, sample by sample."""

    def __init__(self, *used):
        self.used = list(used)

    def sample(self):
        used = self.used.pop(0) if len(self.used) > 1 else self.used[0]
        return FIT.model_copy(update={"memory_used_bytes": used})


def test_memory_comes_back_after_a_while():
    waited = []
    finding = gpu.await_memory(Gauge(40 * GIB, 20 * GIB, GIB), GIB, 5.0, waited.append)
    assert finding.fine
    assert len(waited) == 2


def test_memory_that_stays_is_named():
    waited = []
    finding = gpu.await_memory(Gauge(2 * GIB), GIB, 1.0, waited.append)
    assert not finding.fine
    assert finding.text == "2048 MiB in use 1 s later, 1024 MiB before"
    assert sum(waited) == pytest.approx(1.0)


# NVML ---------------------------------------------------------------------------------------------


class FakeNvmlError(Exception):
    def __init__(self, value):
        super().__init__(f"error {value}")
        self.value = value


class FakeNvml:
    """`pynvml` as one H200 answers it; `missing` questions are not supported, `broken` ones fail."""

    NVMLError = FakeNvmlError
    NVML_ERROR_NOT_SUPPORTED, NVML_ERROR_NO_PERMISSION = 3, 4
    NVML_CLOCK_SM, NVML_CLOCK_MEM = 1, 2
    NVML_TEMPERATURE_GPU, NVML_TEMPERATURE_THRESHOLD_SLOWDOWN = 0, 1
    NVML_MEMORY_ERROR_TYPE_UNCORRECTED, NVML_VOLATILE_ECC = 1, 0
    ANSWERS = {
        "nvmlInit": None,
        "nvmlDeviceGetMinorNumber": 5,
        "nvmlSystemGetDriverVersion": "580.1",
        "nvmlDeviceGetHandleByIndex": "handle",
        "nvmlDeviceGetHandleByUUID": "handle",
        "nvmlDeviceGetMemoryInfo": SimpleNamespace(used=5 * GIB, total=139 * GIB),
        "nvmlDeviceGetPowerUsage": 120_500,
        "nvmlDeviceGetEnforcedPowerLimit": 700_000,
        "nvmlDeviceGetRemappedRows": (0, 1, 1, 0),
        "nvmlDeviceGetUUID": "GPU-1",
        "nvmlDeviceGetName": "NVIDIA H200",
        "nvmlDeviceGetClockInfo": 1755,
        "nvmlDeviceGetMaxClockInfo": 1980,
        "nvmlDeviceGetCurrentClocksEventReasons": 0x1,
        "nvmlDeviceGetTemperature": 41,
        "nvmlDeviceGetTemperatureThreshold": 87,
        "nvmlDeviceGetTotalEccErrors": 0,
        "nvmlDeviceGetComputeRunningProcesses": [SimpleNamespace(pid=7, usedGpuMemory=None)],
    }

    def __init__(self, missing=(), broken=()):
        self.missing, self.broken, self.calls = missing, broken, []

    def __getattr__(self, name):
        if name not in self.ANSWERS:
            raise AttributeError(name)

        def answer(*arguments):
            self.calls.append((name, *arguments))
            if name in self.missing:
                raise FakeNvmlError(self.NVML_ERROR_NOT_SUPPORTED)
            if name in self.broken:
                raise FakeNvmlError(15)
            return self.ANSWERS[name]

        return answer


def test_a_sample_holds_what_nvml_says():
    library = FakeNvml()
    sample = NvmlGauge(0, library).sample()
    assert (sample.sm_clock_mhz, sample.most_sm_clock_mhz, sample.power_w) == (1755, 1980, 120.5)
    assert (sample.remap_pending, sample.remap_failed) == (True, False)
    assert sample.processes == (GpuProcess(pid=7),)


def test_the_library_is_started_once_and_again_after_an_error():
    library = FakeNvml()
    gauge = NvmlGauge(1, library)
    assert gauge.minor_number() == 5
    gauge.sample()
    assert library.calls.count(("nvmlInit",)) == 1
    library.broken = ("nvmlDeviceGetTemperature",)
    with pytest.raises(GaugeError):
        gauge.sample()
    library.broken = ()
    gauge.sample()
    assert library.calls.count(("nvmlInit",)) == 2


def test_a_device_is_found_by_its_uuid():
    library = FakeNvml()
    NvmlGauge("abc", library).sample()
    assert ("nvmlDeviceGetHandleByUUID", "GPU-abc") in library.calls


def test_questions_that_a_device_does_not_support_have_no_answer():
    missing = ("nvmlDeviceGetTotalEccErrors", "nvmlDeviceGetRemappedRows", "nvmlDeviceGetPowerUsage")
    sample = NvmlGauge(0, FakeNvml(missing)).sample()
    assert sample.uncorrected_ecc is sample.remap_pending is sample.power_w is None


@pytest.mark.parametrize("broken", ["nvmlInit", "nvmlDeviceGetHandleByIndex", "nvmlDeviceGetTemperature"])
def test_a_lost_device_is_an_error(broken):
    with pytest.raises(GaugeError, match="NVML"):
        NvmlGauge(0, FakeNvml(broken=(broken,))).sample()


def test_the_real_library_has_every_name_that_is_used():
    pynvml = pytest.importorskip("pynvml")
    words = [word for word in vars(FakeNvml) if word.startswith("NVML_")]
    assert all(hasattr(pynvml, name) for name in [*FakeNvml.ANSWERS, *words, "NVMLError"])
    assert [getattr(pynvml, word) for word in words] == [getattr(FakeNvml, word) for word in words]


# The kernel's log ---------------------------------------------------------------------------------

LOG = """
NVRM: Xid (PCI:0000:1b:00): 31, pid=812, name=python, Ch 00000008, MMU Fault
usb 1-1: new device
[ 99.1] NVRM: Xid (PCI:0000:1B:00): 79, pid='<unknown>', GPU has fallen off the bus.\x1b[2J
NVRM: Xid (PCI:0000:1b:00): 63
NVRM: Xid nonsense
"""


def test_xid_lines_are_read_and_made_harmless():
    found = kernel_log.parse(LOG.splitlines())
    assert [(xid.number, xid.bus, xid.of_device) for xid in found] == [
        (31, "0000:1b:00", False),
        (79, "0000:1b:00", True),
        (63, "0000:1b:00", True),
    ]
    assert "\x1b" not in found[1].text


def test_what_the_device_did_is_held_against_it_and_what_programs_did_is_not():
    grave = kernel_log.examine(LOG)
    assert not grave.fine
    assert "2 that are no program's fault: Xid 79" in grave.text
    mild = kernel_log.examine(LOG.split("usb")[0])
    assert (mild.fine, mild.text) == (True, "none but 1 caused by programs")
    assert kernel_log.examine("").text == "none"
    assert kernel_log.examine(LOG, "0000:2C:00.0").text == "none", "another device's errors"
    assert not kernel_log.examine(LOG, "0000:1B:00.0").fine
    assert kernel_log.examine(None).fine


def test_the_log_is_read_by_whichever_program_may():
    asked = []

    def run(command, **options):
        asked.append(command[0])
        if command[0] == "dmesg":
            raise subprocess.CalledProcessError(1, command)
        return subprocess.CompletedProcess(command, 0, stdout=LOG)

    assert kernel_log.read(run) == LOG
    assert asked == ["dmesg", "journalctl"]

    def missing(command, **options):
        raise FileNotFoundError(command[0])

    assert kernel_log.read(missing) is None


# The machine --------------------------------------------------------------------------------------

STAT = "cpu  9 9 9 9\ncpu0 100 0 50 850 0 0 0 0 7 7\ncpu1 10 0 10 900 80 0 0 0 0 0\nintr 5\n"


def test_busy_ticks_leave_idle_and_waiting_out():
    assert host.busy_ticks(STAT, [0]) == (150, 1000)
    assert host.busy_ticks(STAT, [0, 1]) == (170, 2000)


def test_a_busy_core_is_named():
    assert host.quiet((0, 0), (10, 100), [1]).fine
    busy = host.quiet((0, 0), (60, 100), [3, 1])
    assert (busy.fine, busy.text) == (False, "1,3: 60% busy while no candidate runs")


def test_available_memory_is_read():
    assert host.available_bytes("MemTotal: 9 kB\nMemAvailable:     2048 kB\n") == 2 << 20
    assert host.available_bytes("") == 0


def test_this_machine_is_examined(tmp_path):
    found = {one.name: one for one in host.examine([0], tmp_path, lambda seconds: None)}
    assert found.keys() == {"quiet cores", "memory", "disk"}


def test_workers_and_those_that_hold_a_gpu_are_told_from_others(tmp_path):
    for pid, command in (
        (10, b"python\0-m\0gpuworker.zygote\0"),
        (11, b"pytest\0tests/gpuworker\0"),
        (12, b"x\0gpuworker\0"),
    ):
        (tmp_path / str(pid) / "fd").mkdir(parents=True)
        (tmp_path / str(pid) / "cmdline").write_bytes(command)
    (tmp_path / "meminfo").touch()
    (tmp_path / "10" / "fd" / "3").symlink_to("/dev/nvidia0")
    (tmp_path / "12" / "fd" / "3").symlink_to("/dev/nvidiactl")
    (tmp_path / "11" / "fd" / "3").symlink_to("/dev/nvidia1")
    found = host.neighbours(tmp_path)
    assert (found.ours, found.visible, found.holders) == ({10, 12}, {10, 11, 12}, 1)


def test_a_cell_that_is_ending_is_still_ours(tmp_path):
    for pid, parent, command in (
        (10, 1, b"python\0-m\0gpuworker.judge\0"),
        (20, 10, b""),
        (21, 20, b""),
        (30, 1, b""),
        (31, 10, b"sh\0"),
    ):
        (tmp_path / str(pid) / "fd").mkdir(parents=True)
        (tmp_path / str(pid) / "cmdline").write_bytes(command)
        (tmp_path / str(pid) / "stat").write_text(f"{pid} (pt (main) x) Z {parent} 1 1")
    (tmp_path / "meminfo").touch()
    assert host.neighbours(tmp_path).ours == {10, 20, 21}


@pytest.mark.parametrize(
    ("files", "minors", "index", "wanted"),
    [
        ("0", [0], 0, "nvidia0"),
        ("0 1", [0, 1], 1, "nvidia1"),
        ("0 1", [1, 0], 1, "nvidia0"),
        ("3", [3], 0, "nvidia3"),
        ("0", [3], 0, "nvidia0"),
        ("0 1", [1, 2], 1, "nvidia1"),
    ],
    ids=["one", "second", "other order", "numbers of the host", "renumbered", "two renumbered"],
)
def test_a_cell_gets_the_file_of_its_gpu_only(tmp_path, files, minors, index, wanted):
    for name in [*(f"nvidia{number}" for number in files.split()), "nvidiactl", "nvidia-uvm", "null"]:
        (tmp_path / name).touch()
    found = host.device_files(index, minors, tmp_path)
    assert found == tuple(str(tmp_path / name) for name in (wanted, "nvidiactl", "nvidia-uvm"))


@pytest.mark.parametrize(
    ("usable", "index", "count", "found"),
    [
        (range(16), 0, 1, ((12, 13, 14, 15), tuple(range(12)))),
        (range(32), 0, 2, ((12, 13, 14, 15), tuple(range(12)))),
        (range(32), 1, 2, ((28, 29, 30, 31), tuple(range(16, 28)))),
        (range(2), 1, 2, ((1,), (1,))),
        (range(1), 1, 4, ((0,), (0,))),
    ],
)
def test_each_gpu_has_its_own_share_of_the_cores(monkeypatch, usable, index, count, found):
    monkeypatch.setattr(host.os, "sched_getaffinity", lambda pid: set(usable))
    assert host.divided((), 4, index, count) == found


def test_chosen_cores_must_be_usable(monkeypatch):
    monkeypatch.setattr(host.os, "sched_getaffinity", lambda pid: {0, 1, 2, 3})
    assert host.divided((0, 1), 4, 0, 1) == ((0, 1), (2, 3))
    with pytest.raises(ValueError, match=r"cores \[7\] are not usable here"):
        host.divided((7,), 4, 0, 1)
