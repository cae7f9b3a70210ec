"""A device is shut out after too many infrastructure faults in a row, refuses kindly, and comes back."""

from __future__ import annotations

import pytest
from conftest import request_for

from gpuworker.health import quarantine
from gpuworker.health.quarantine import Quarantine
from gpuworker.health.valve import Valve
from gpuworker.options import Options
from gpuworker.runner import Runner, StartError


class Clock:
    """Seconds that a test sets."""

    now = 1000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def device(tmp_path, clock):
    return Quarantine(tmp_path, "cpu", clock)


def fail(device, count, candidates=2):
    for number in range(count):
        device.fault(f"candidate {number % candidates}", "a cell did not start")


def test_many_faults_in_a_row_shut_a_device_out(device):
    fail(device, quarantine.MOST_FAULTS - 1)
    assert device.reason == ""
    fail(device, 1)
    assert device.reason == "5 infrastructure faults in a row, the last: a cell did not start"


def test_it_outlives_the_worker(device, tmp_path, clock):
    fail(device, quarantine.MOST_FAULTS)
    assert Quarantine(tmp_path, "cpu", clock).reason
    assert not Quarantine(tmp_path, "cuda-0", clock).reason


def test_one_good_answer_starts_the_count_anew(device):
    fail(device, quarantine.MOST_FAULTS - 1)
    device.success()
    fail(device, quarantine.MOST_FAULTS - 1)
    assert device.reason == ""


def test_one_candidate_alone_shuts_nothing_out(device):
    fail(device, 3 * quarantine.MOST_FAULTS, candidates=1)
    assert device.reason == ""


def test_old_faults_are_forgotten(device, clock):
    fail(device, quarantine.MOST_FAULTS - 1)
    clock.now += quarantine.WINDOW_S + 1
    fail(device, 1)
    assert device.reason == ""


def test_only_a_person_or_a_doctor_ends_it(device, clock):
    fail(device, quarantine.MOST_FAULTS)
    device.success()
    clock.now += 10 * quarantine.WINDOW_S
    assert device.reason
    device.clear()
    assert device.reason == ""


def test_a_file_that_cannot_be_read_shuts_the_device_out(device, tmp_path):
    (tmp_path / "quarantine-cpu.json").write_text("{")
    assert device.reason
    device.clear()
    assert device.reason == ""


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"device": "cpu", "cores": (2, 3)}, "quarantine-cpu-2-3.json"),
        ({"device": "cuda:1"}, "quarantine-cuda-1.json"),
        ({"device": "cuda:1", "cores": (2, 3)}, "quarantine-cuda-1.json"),
        ({"device": "h200"}, "quarantine-cuda-0.json"),
        ({"device": "h200:1"}, "quarantine-cuda-1.json"),
    ],
)
def test_every_device_of_a_machine_has_its_own_count(tmp_path, options, name):
    fail(Quarantine.of(Options(state=str(tmp_path), **options)), 1)
    assert [path.name for path in tmp_path.iterdir()] == [name]


# The runner ---------------------------------------------------------------------------------------


class BrokenRunner(Runner):
    """A device side that never starts."""

    starts = 0

    def start(self):
        type(self).starts += 1
        raise StartError("no device side")


def test_a_runner_counts_faults_and_then_refuses_without_blame_or_work(device, tmp_path):
    runner = BrokenRunner(Options(state=str(tmp_path)), quarantine=device)
    requests = [request_for(f"// {number}") for number in range(quarantine.MOST_FAULTS + 2)]
    answers = list(runner.evaluate(requests, lambda: None))
    assert {answer.status for answer in answers} == {"INFRA_ERROR"}
    assert not any(answer.charged for answer in answers)
    assert BrokenRunner.starts == quarantine.MOST_FAULTS
    assert "was started anew" in answers[0].message
    assert answers[-1].message.startswith(
        "the device is in quarantine until a doctor passes: 5 infrastructure"
    )
    assert answers[-1].candidate == requests[-1].candidate.hash


def test_a_runner_without_quarantine_judges_a_device_that_is_shut_out(runner, device):
    fail(device, quarantine.MOST_FAULTS)
    (answer,) = runner.evaluate([request_for("nonsense")], lambda: None)
    assert answer.status == "COMPILE_ERROR"


# The queue ----------------------------------------------------------------------------------------


class Control:
    """Celery's remote control, which may be away."""

    def __init__(self):
        self.sent, self.away = [], False

    def cancel_consumer(self, queue, *, destination):
        self._send("cancel", queue, destination)

    def add_consumer(self, queue, *, destination):
        self._send("add", queue, destination)

    def _send(self, *message):
        if self.away:
            raise OSError("away")
        self.sent.append(message)


def test_a_valve_says_nothing_until_it_was_closed_and_then_repeats_how_it_stands():
    control = Control()
    valve = Valve(control, "worker@host", ["cpu"])
    valve.set(shut=False)
    assert control.sent == []
    valve.set(shut=True)
    valve.set(shut=True)
    valve.set(shut=False)
    valve.set(shut=False)
    assert control.sent == [
        ("cancel", "cpu", ["worker@host"]),
        ("cancel", "cpu", ["worker@host"]),
        ("add", "cpu", ["worker@host"]),
        ("add", "cpu", ["worker@host"]),
    ]


def test_a_valve_opens_later_when_the_broker_is_away():
    control = Control()
    valve = Valve(control, "worker@host", ["cpu"])
    valve.set(shut=True)
    control.away = True
    with pytest.raises(OSError, match="away"):
        valve.set(shut=False)
    control.away = False
    valve.set(shut=False)
    assert control.sent[-1] == ("add", "cpu", ["worker@host"])
