"""What the judge keeps between candidates: buffers of replays that went well, specimens until they are worn."""

from __future__ import annotations

import os
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest
import torch
from conftest import SOFTMAX

from gpuworker import cells, inmate, layout, yardstick
from gpuworker import court as courts
from gpuworker.cells import CellBlock, Order
from gpuworker.court import HOST_CODE_WEAR, REPLAY_WEAR, Court
from gpuworker.devices.device import Bandwidth, Ceiling
from gpuworker.sandbox import Limits, Mode, View
from gpuworker.seccomp import Profile
from gpuworker.specimen import Specimen
from gpuworker.verdicts import InfrastructureError

PLAN = layout.plan(SOFTMAX, {"main": 2, "odd": 1})
OTHER = layout.plan(SOFTMAX, {"main": 3, "odd": 1})


class Arena:
    def __init__(self, plan=PLAN):
        self.layout, self.closed = plan, False

    def close(self):
        self.closed = True


class Contender:
    def __init__(self, arena):
        self.arena, self.ended_by = arena, None

    def retire(self, block):
        self.ended_by = block
        return self.arena


@pytest.fixture
def court(tmp_path):
    device = SimpleNamespace(index=0, judge_cores=(0, 1, 2, 3, 4), ceiling=lambda: None)
    return Court("block", device, None, tmp_path, interpret=False)


def test_kept_buffers_go_to_the_next_replay_of_the_same_layout_once(court):
    contender = Contender(Arena())
    court.park(contender)
    assert contender.ended_by == "block"
    assert court.buffers(PLAN) is contender.arena
    assert court.buffers(PLAN) is None
    assert not contender.arena.closed


def test_buffers_that_do_not_fit_are_given_back(court):
    kept = Contender(Arena())
    court.park(kept)
    assert court.buffers(OTHER) is None
    assert kept.arena.closed


def test_only_one_set_of_buffers_is_kept(court):
    first, second = Contender(Arena()), Contender(Arena())
    court.park(first)
    court.park(second)
    assert first.arena.closed
    court.forget("a workload that is not known")
    assert second.arena.closed
    assert court.buffers(PLAN) is None


def test_a_ceiling_is_lifted_by_a_second_measurement_and_never_lowered(tmp_path):
    measured = iter([(5e9, 9e9), (8e9, 4e9)])
    device = SimpleNamespace(
        index=-1,
        judge_cores=(0,),
        ceiling=lambda: Ceiling((Bandwidth(1 << 20, *next(measured)),), duplex=True),
    )
    court = Court("block", device, None, tmp_path, interpret=False)
    assert court.lift().bandwidth == (Bandwidth(1 << 20, 8e9, 9e9),)
    assert court.ceiling.bandwidth[0].read == 8e9


def test_the_ceiling_of_a_gpu_stays(court):
    assert court.lift() is court.ceiling


def test_places_of_a_batch_that_another_judge_was_told_of_are_taken_in_order(court):
    assert court.first_built([3, 5]) == 0


def test_builds_on_a_gpu_leave_a_core_to_the_judge(court):
    assert court.ahead._pool._max_workers == 4


class Stick:
    def __init__(self):
        self.wear, self.timed, self.closed = 0, {}, False

    worn = yardstick.Yardstick.worn

    def close(self):
        self.closed = True


def test_specimens_wear_faster_where_host_code_meets_them(court, monkeypatch):
    made = []

    def build(*_):
        made.append(Stick())
        return made[-1]

    monkeypatch.setattr(courts.yardstick, "build", build)
    uses = yardstick.WEAR // HOST_CODE_WEAR
    for _ in range(uses):
        court.yardstick(SOFTMAX, [])
    assert len(made) == 1
    for _ in range(yardstick.WEAR // REPLAY_WEAR):
        court.yardstick(SOFTMAX, [], wear=REPLAY_WEAR)
    assert len(made) == 2
    assert made[0].closed
    court.yardstick(SOFTMAX, [], wear=REPLAY_WEAR)
    assert len(made) == 3


def test_specimens_of_another_workload_make_room(court, monkeypatch):
    other, own = Stick(), Stick()
    other.timed["main"] = ["many gigabytes"]
    court._yardsticks = {"another": other, SOFTMAX.hash: own}

    def provide(stick, case, *_):
        if other.timed:
            raise torch.OutOfMemoryError
        stick.timed[case.name] = ["some"]

    monkeypatch.setattr(courts.yardstick, "provide", provide)
    assert court.yardstick(SOFTMAX, ["main"]) is own
    assert own.timed == {"main": ["some"]}


class Oracle:
    """Specimens of 12 kB."""

    def __init__(self, *_):
        self.made = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return

    def make(self, case, flavours):
        for flavour in flavours:
            expected = [SimpleNamespace(value=torch.zeros(2000))]
            yield Specimen(case.name, False, flavour, [torch.zeros(1000)], expected)


@pytest.mark.parametrize(("room", "count"), [(1 << 30, 150), (12_000 * 50, 51), (1, 30)])
def test_specimens_are_as_many_as_the_device_has_room_for(monkeypatch, room, count):
    monkeypatch.setattr(yardstick, "Oracle", Oracle)
    monkeypatch.setattr(yardstick, "most_calls", lambda stick, case: 10)
    stick = SimpleNamespace(workload=SOFTMAX, timed={})
    device = SimpleNamespace(budget=SimpleNamespace(pairs=10, specimen_bytes=room))
    yardstick.provide(stick, SOFTMAX.cases[0], None, device, None)
    assert len(stick.timed["main"]) == count


@pytest.mark.parametrize("golden", [False, True])
def test_bytes_of_a_slot_are_those_of_its_regions(golden):
    (slot,) = layout.plan(SOFTMAX, {"main": 1}, golden=golden).slots
    regions = [*slot.inputs, *slot.outputs]
    told = layout.slot_bytes(SOFTMAX, SOFTMAX.cases[0], golden=golden)
    assert told == sum(one.size_bytes for one in regions)


# Cells --------------------------------------------------------------------------------------------


class Cell:
    def __init__(self, gone=False):
        self.gone, self.gate, self.closed, self.frozen = gone, threading.Event(), False, []
        self.made = False

    def freeze(self):
        self.frozen.append(True)

    def thaw(self):
        self.frozen.append(False)

    def has_context(self):
        return self.made

    def ended(self):
        return 9 if self.gone else None

    def close(self):
        assert self.gate.wait(10)
        self.closed = True
        if self.gone:
            raise InfrastructureError("a cell cannot be killed")


ORDER = Order(Profile.SCREEN, View.PYTHON, 0, (0,), Limits(memory_bytes=0, cpu_s=1))


class Block(CellBlock):
    """Cells from a list instead of a zygote."""

    def __init__(self, *cells):
        super().__init__(None, Mode.SANDBOXED, "")
        self.cells = list(cells)

    def _fork(self, order):
        made = self.cells.pop(0)
        if isinstance(made, Exception):
            raise made
        return made


def test_cells_end_in_the_background_until_they_are_waited_for():
    block, cell = Block(), Cell()
    block.end(cell)
    assert not cell.closed
    cell.gate.set()
    block.await_ends()
    assert cell.closed


def test_a_cell_that_stays_is_our_fault():
    block, cell = Block(), Cell(gone=True)
    cell.gate.set()
    block.end(cell)
    with pytest.raises(InfrastructureError, match="cannot be killed"):
        block.await_ends()


@pytest.mark.parametrize(
    ("made", "patient", "stopped"),
    [
        ([True, False], False, [False, True]),
        ([True, True], False, [False, False]),
        ([False, False], False, [False, False]),
        ([False, False], True, [True, True]),
    ],
    ids=["one is made", "all are made", "the next one is wanted soon", "time enough"],
)
def test_nothing_starts_or_ends_beside_a_clock(made, patient, stopped):
    spares, ending = [Cell() for _ in made], Cell()
    for cell, done in zip(spares, made, strict=True):
        cell.made = done
    block = Block(InfrastructureError("no walls"), *spares)
    block.spare(ORDER)
    ending.gate.set()
    block.end(ending)
    with block.hushed(patient=patient):
        assert ending.closed
        assert [bool(cell.frozen) for cell in spares] == stopped
    assert [cell.frozen for cell in spares] == [[True, False] if each else [] for each in stopped]


def test_a_spare_that_failed_or_died_is_passed_over():
    dead, good = Cell(gone=True), Cell()
    dead.gate.set()
    dead.close = lambda: None
    block = Block(InfrastructureError("no walls"), dead, good)
    block._beside = ThreadPoolExecutor(1)  # one after the other
    block.spare(ORDER)
    assert block.start(ORDER) is good


@pytest.fixture
def started():
    """A cell with a socket whose other end is here, and no process."""
    cell = cells.Cell.__new__(cells.Cell)
    cell.control, other = socket.socketpair()
    cell._inmate, writing = os.pipe()
    cell.log = lambda: "no device"
    cell.close = cell.control.close
    with other:
        yield cell, other
    os.close(cell._inmate)
    os.close(writing)


def test_a_cell_says_once_that_its_context_is_made(started):
    cell, other = started
    assert not cell.has_context()
    other.send(inmate.CONTEXT)
    assert cell.has_context()
    cell.await_context()
    assert not cell.has_context(), "what follows belongs to the contender"


def test_a_cell_without_a_context_is_our_fault(started):
    cell, other = started
    other.close()
    with pytest.raises(InfrastructureError, match="got no context of the device: no device"):
        cell.await_context()
    assert cell.control.fileno() == -1, "closed"
