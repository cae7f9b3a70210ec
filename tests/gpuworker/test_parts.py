"""Layouts, values, filters, floors, exits and frames."""

from __future__ import annotations

import itertools
import os
import signal
import socket
import struct
import threading

import pytest
import torch
from conftest import SOFTMAX

from gpuworker import floor, layout, wire
from gpuworker.cells import clean
from gpuworker.devices.cpu import CpuArena
from gpuworker.devices.device import Bandwidth, Ceiling
from gpuworker.inputs import Flavour, admit, draw, secret_generator
from gpuworker.sandbox import FIRST_UID, slot_uid
from gpuworker.seccomp import Profile, program
from gpuworker.verdicts import RejectedError, read_exit
from search.workload import DType, Floor, Workload, shipped_workload

COUNTS = {"main": 3, "odd": 1}


def test_slots_do_not_overlap_and_have_guards():
    plan = layout.plan(SOFTMAX, COUNTS)
    regions = sorted((r.offset, r.size_bytes) for slot in plan.slots for r in slot.outputs)
    assert regions[0][0] >= layout.GUARD_BYTES
    for (offset, size), (following, _) in itertools.pairwise(regions):
        assert offset + size + 2 * layout.GUARD_BYTES <= following
    assert regions[-1][0] + regions[-1][1] + layout.GUARD_BYTES <= plan.output_bytes
    assert plan.of_case("odd") == [3]
    assert plan.slots[3].axes == (5, 33)


def test_an_oracle_writes_float64():
    plan = layout.plan(SOFTMAX, COUNTS, golden=True)
    assert plan.slots[0].outputs[0].dtype is DType.FLOAT64
    assert plan.slots[0].inputs[0].dtype is DType.FLOAT32


@pytest.fixture
def arena():
    made = CpuArena(layout.plan(SOFTMAX, COUNTS), sealed=True)
    yield made
    made.close()


def test_inputs_cannot_be_written_through_another_mapping(arena):
    path = f"/proc/self/fd/{arena.files()[0]}"
    fd = os.open(path, os.O_RDWR)
    with pytest.raises(PermissionError):
        os.write(fd, b"x")
    os.close(fd)


def test_buffers_cannot_shrink_or_grow(arena):
    for fd in arena.files():
        for size in (0, 1 << 30):
            with pytest.raises(PermissionError):
                os.ftruncate(fd, size)


def test_a_poisoned_output_is_nan_and_known(arena):
    arena.poison([0])
    (output,) = arena.outputs(0)
    assert bool(output.isnan().all())
    assert bool(arena.is_poison(output).all())
    output[3, 4] = torch.nan
    assert int(arena.is_poison(output).sum()) == output.numel() - 1


def test_a_changed_input_is_seen(arena):
    values = draw(SOFTMAX, SOFTMAX.cases[0], Flavour.DECLARED, secret_generator())
    arena.fill({0: values})
    assert arena.inputs_equal(0, values)
    changed = [values[0].clone()]
    changed[0][255, 1023] += 1e-3
    assert not arena.inputs_equal(0, changed)


@pytest.mark.parametrize("where", [-1, 0])
def test_a_written_guard_is_seen(arena, where):
    assert arena.broken_guard([0]) == ""
    region = arena.layout.slots[0].outputs[0]
    end = region.offset if where else region.offset + region.size_bytes
    os.pwrite(arena.files()[1], b"\x00\x01", end + 2 * where)
    assert arena.broken_guard([0]) == "y"


def test_two_draws_differ():
    first, second = (
        draw(SOFTMAX, SOFTMAX.cases[1], Flavour.DECLARED, secret_generator())[0] for _ in range(2)
    )
    assert not torch.equal(first, second)


@pytest.mark.parametrize("flavour", Flavour)
def test_a_flavour_has_the_declared_shape_and_type(flavour):
    (value,) = draw(SOFTMAX, SOFTMAX.cases[0], flavour, secret_generator())
    assert value.shape == (256, 1024)
    assert value.dtype == torch.float32
    assert value.is_contiguous()
    assert not bool(value.isnan().any())


def test_a_masked_row_keeps_one_element():
    (value,) = draw(SOFTMAX, SOFTMAX.cases[1], Flavour.MASKED, secret_generator())
    assert bool(value.isinf().any())
    assert bool(value.isfinite().any(-1).all())


def verdict(code, number, argument=0, architecture=0xC000003E):
    """Runs the filter on one system call."""
    data = {0: number, 4: architecture, 16: argument}
    at, loaded = 0, 0
    while True:
        instruction, yes, no, value = struct.unpack_from("=HBBI", code, 8 * at)
        at += 1
        match instruction:
            case 0x20:
                loaded = data[value]
            case 0x06:
                return value
            case 0x15:
                at += yes if loaded == value else no
            case 0x35:
                at += yes if loaded >= value else no
            case 0x45:
                at += yes if loaded & value else no


KILL, ALLOW = 0x80000000, 0x7FFF0000
FORK, CLONE, EXECVE, READ, PTRACE, SOCKET = 57, 56, 59, 0, 101, 41
THREAD = 0x00010000 | 0x100


@pytest.mark.parametrize(
    ("profile", "number", "argument", "answer"),
    [
        (Profile.CONTENDER, READ, 0, ALLOW),
        (Profile.CONTENDER, FORK, 0, KILL),
        (Profile.CONTENDER, EXECVE, 0, KILL),
        (Profile.CONTENDER, PTRACE, 0, KILL),
        (Profile.CONTENDER, CLONE, THREAD, ALLOW),
        (Profile.CONTENDER, CLONE, signal.SIGCHLD, KILL),
        (Profile.CONTENDER, SOCKET, 0, 0x00050001),
        (Profile.CONTENDER, 0x40000000 | FORK, 0, KILL),
        (Profile.BUILD, FORK, 0, ALLOW),
        (Profile.BUILD, EXECVE, 0, ALLOW),
        (Profile.BUILD, CLONE, signal.SIGCHLD, ALLOW),
        (Profile.BUILD, PTRACE, 0, 0x00050001),
    ],
)
def test_the_filter_decides(profile, number, argument, answer):
    assert verdict(program(profile, "x86_64"), number, argument) == answer


def test_calls_of_another_architecture_are_killed():
    assert verdict(program(Profile.CONTENDER, "x86_64"), READ, architecture=0x40000003) == KILL


@pytest.mark.parametrize(
    ("code", "status"),
    [
        (-signal.SIGSEGV, "ILLEGAL_ACCESS"),
        (-signal.SIGSYS, "REWARD_HACK"),
        (-signal.SIGFPE, "CRASH"),
        (-65, "CRASH"),
        (0, "CRASH"),
        (7, "CRASH"),
        (97, "OOM"),
        (99, "RUNTIME_ERROR"),
        (104, "CRASH"),
    ],
)
def test_an_exit_is_read(code, status):
    assert read_exit(code)[0] == status


def test_a_floor_grows_with_the_bytes_and_needs_a_bandwidth():
    measured = Ceiling((Bandwidth(1 << 20, 100e9, 50e9), Bandwidth(1 << 26, 10e9, 10e9)), duplex=True)
    case = SOFTMAX.cases[0]
    small = floor.floor_us(SOFTMAX, case, 1 << 21, measured)
    large = floor.floor_us(SOFTMAX, case, 1 << 27, measured)
    assert small == pytest.approx(0.9 * (1 << 20) / 50e9 * 1e6)
    assert large == pytest.approx(0.9 * (1 << 20) / 10e9 * 1e6)


def test_slots_of_one_worker_have_different_users():
    users = {slot_uid(1234, slot) for slot in range(6)}
    assert len(users) == 6
    assert min(users) >= FIRST_UID


def test_frames_carry_files():
    ours, theirs = socket.socketpair()
    with ours, theirs, open(os.devnull) as file:  # noqa: PTH123
        # From a thread: a socket's buffer may be smaller than the frame.
        sender = threading.Thread(target=wire.send, args=(ours, {"a": "ä" * 10_000}, [file.fileno()]))
        sender.start()
        frame = wire.receive(theirs)
        sender.join()
        assert frame.document == {"a": "ä" * 10_000}
        assert len(frame.files) == 1
        frame.close_files()


@pytest.mark.parametrize(
    "data", [b"", b"\x00\x00", b"\x00\x00\x00\x05[]", b"\xff\xff\xff\xff", b"\x00\x00\x00\x02[]"]
)
def test_what_is_no_frame_closes_the_wire(data):
    ours, theirs = socket.socketpair()
    with theirs:
        ours.sendall(data)
        ours.close()
        with pytest.raises(wire.WireClosedError):
            wire.receive(theirs)


def test_text_of_strangers_is_made_harmless():
    assert clean(b"\x1b[31mred\x00\xff\r\n\tend") == "[31mred\ufffd\n\tend"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"axes": {"M": 0, "N": 4}}, "is timed, but its outputs are empty"),
        (
            {"inputs": {"x": {"type": "safetensors", "path": "a.safetensors", "tensor_key": "x"}}},
            "did not come along",
        ),
    ],
)
def test_what_the_judge_cannot_do_yet_is_refused_by_name(change, message):
    case = {"name": "one", "axes": {"M": 4, "N": 4}} | change
    workload = Workload.load(shipped_workload("softmax").dump() | {"cases": [case]})
    with pytest.raises(RejectedError, match=message) as refused:
        admit(workload)
    assert refused.value.status == "INVALID_REFERENCE"


def test_reads_and_writes_of_one_memory_bus_add_up():
    case = SOFTMAX.cases[0]
    both = (Bandwidth(0, 10e9, 10e9),)
    apart = floor.floor_us(SOFTMAX, case, 1, Ceiling(both, duplex=True))
    together = floor.floor_us(SOFTMAX, case, 1, Ceiling(both, duplex=False))
    assert together == pytest.approx(2 * apart)


def test_operations_can_be_the_floor():
    work = SOFTMAX.model_copy(update={"floor": Floor(operations="1000000 * M * N")})
    slow = Ceiling((Bandwidth(0, 1e15, 1e15),), duplex=True, operations=1e12)
    sizes = work.sizes(work.cases[0])
    expected_us = 0.9 * 1e6 * sizes["M"] * sizes["N"] / 1e12 * 1e6
    assert floor.floor_us(work, work.cases[0], 1, slow) == pytest.approx(expected_us)
