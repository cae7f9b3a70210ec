"""What the replay of a launch plan asks of the driver, pass by pass; no GPU is needed for that."""

from __future__ import annotations

import base64
import importlib
import sys
from types import ModuleType

import pytest
from fake_driver import FakeDriver

from gpuworker import layout
from gpuworker.cuda.plan import CasePlan, Fill, Kernel, Launch, LaunchPlan, Pointer, Scalar
from tests.gpu.gpu_bench import SOFTMAX

OURS = ("gpuworker.cuda.driver", "gpuworker.cuda.replay")
SHOWN, HIDDEN = 0, 1
SCRATCH = (64, 4096)


@pytest.fixture
def driver(monkeypatch):
    fake = FakeDriver(("0000:1B:00.0", "0000:2C:00.0"))
    bindings = ModuleType("cuda.bindings")
    bindings.driver = fake
    for name, module in (("cuda", ModuleType("cuda")), ("cuda.bindings", bindings), (fake.__name__, fake)):
        monkeypatch.setitem(sys.modules, name, module)
    for name in OURS:
        monkeypatch.delitem(sys.modules, name, raising=False)
    yield fake
    for name in OURS:
        sys.modules.pop(name, None)


def kernel(name):
    cubin = base64.b64encode(name.encode()).decode()
    return Kernel(name=name, cubin=cubin, threads=128, shared_bytes=64 << 10)


def launch(number, buffer, offset=0):
    arguments = (Pointer(buffer=buffer, offset=offset), Scalar(type="i32", value=7))
    return Launch(kernel=number, grid=(4, 2, 1), arguments=arguments)


PLAN = LaunchPlan(
    kernels=(kernel("shown"), kernel("hidden")),
    cases=(
        CasePlan(
            case="main",
            steps=(Fill(buffer=2, offset=0, count=4, width=4, pattern=0), launch(0, 1, 16)),
            scratch=SCRATCH,
        ),
        CasePlan(case="odd", steps=(launch(0, 0),)),
        CasePlan(case="hidden", steps=(launch(1, 1),)),
    ),
)
LAYOUT = layout.plan(SOFTMAX, {"main": 3, "odd": 1, "hidden": 1})
ADDRESSES = [[1000 * number, 1000 * number + 500] for number in range(len(LAYOUT.slots))]


@pytest.fixture
def replay(driver):
    module = importlib.import_module("gpuworker.cuda.replay")
    return module.Replay(PLAN, LAYOUT, ADDRESSES)


def loaded(driver):
    return [cubin for (cubin,) in driver.named("cuModuleLoadData")]


def test_every_kernel_is_loaded_at_the_start_so_that_a_bad_one_shows(replay, driver):
    assert loaded(driver) == [b"shown", b"hidden"]


def test_a_pass_loads_its_own_kernels_anew_and_no_others(replay, driver):
    driver.calls.clear()
    assert replay.run([0, 3]) == 0.25e-3
    assert loaded(driver) == [b"shown"]
    assert len(driver.named("cuModuleUnload")) == 2
    driver.calls.clear()
    replay.run([4])
    assert loaded(driver) == [b"hidden"]
    assert len(driver.named("cuModuleUnload")) == 1


def test_each_slot_is_launched_on_its_own_buffers_in_the_order_asked_for(replay, driver):
    for _ in range(2):
        driver.launched.clear()
        replay.run([2, 0, 3])
        assert [address for *_, address in driver.launched] == [2516, 516, 3000]
        # Functions of modules that were loaded for this pass.
        assert {function for function, *_ in driver.launched} == {driver.launched[0][0]}
    assert [grid for _, grid, _ in driver.launched] == [(4, 2, 1)] * 3


def test_scratch_of_a_case_is_overwritten_whole_and_once_in_a_pass(replay, driver):
    driver.calls.clear()
    replay.run([0, 1, 2])
    spoiled = driver.named("cuMemsetD8Async")
    assert sorted(size for _, _, size, _ in spoiled) == sorted(SCRATCH)
    assert len(driver.named("cuMemsetD32Async")) == 3, "the program's own fills, in each call"


def test_nothing_is_left_of_a_graph(replay, driver):
    driver.calls.clear()
    replay.run([0])
    replay.run([1])
    for made, given_back in (
        ("cuGraphInstantiate", "cuGraphExecDestroy"),
        ("cuStreamEndCapture", "cuGraphDestroy"),
    ):
        assert len(driver.named(made)) == len(driver.named(given_back)) == 2


def test_a_device_is_found_by_its_address_whatever_number_it_has(driver):
    ours = importlib.import_module("gpuworker.cuda.driver")
    assert [ours.number_of(ours.bus_of(index)) for index in range(2)] == [0, 1]
    bus = ours.bus_of(1)
    driver.buses = (bus,)
    assert ours.number_of(bus) == 0, "a cell sees one device"
