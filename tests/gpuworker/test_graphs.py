"""How a pass of the baseline is put on a GPU; no GPU is needed for that."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType, SimpleNamespace

import pytest
import torch
from fake_driver import FakeDriver

OURS = ("gpuworker.cuda.driver", "gpuworker.cuda.graphs")


class Event:
    def __init__(self, enable_timing):
        assert enable_timing

    def record(self):
        return

    def synchronize(self):
        return

    def elapsed_time(self, other):
        return 0.25


@pytest.fixture
def driver(monkeypatch):
    fake = FakeDriver()
    bindings = ModuleType("cuda.bindings")
    bindings.driver = fake
    for name, module in (("cuda", ModuleType("cuda")), ("cuda.bindings", bindings), (fake.__name__, fake)):
        monkeypatch.setitem(sys.modules, name, module)
    for name in OURS:
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setattr(torch.cuda, "Event", Event)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda: SimpleNamespace(cuda_stream=7))
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    yield fake
    for name in OURS:
        sys.modules.pop(name, None)


class Call:
    def __init__(self, handle):
        self.graph = SimpleNamespace(raw_cuda_graph=lambda: handle) if handle else None
        self.called = 0

    def __call__(self):
        self.called += 1


def clock():
    return importlib.import_module("gpuworker.cuda.graphs").Clock()


def test_a_pass_is_one_graph_of_its_calls_in_their_order(driver):
    calls = [Call(30), Call(10), Call(20)]
    assert clock().run(calls) == 0.25e-3
    assert not any(call.called for call in calls), "nothing waits for the host between two calls"
    joined = driver.named("cuGraphAddChildGraphNode")
    assert [child for *_, child in joined] == [30, 10, 20]
    nodes = [f"cuGraphAddChildGraphNode {number}" for number in (2, 3, 4)]
    assert [before for _, before, *_ in joined] == [[], nodes[:1], nodes[1:2]]
    assert len(driver.named("cuGraphLaunch")) == 1
    assert len(driver.named("cuGraphExecDestroy")) == len(driver.named("cuGraphDestroy")) == 1


@pytest.mark.parametrize("handles", [[], [None, None], [30, None]], ids=["empty", "calls", "mixed"])
def test_what_cannot_be_captured_is_called(driver, handles):
    calls = [Call(handle) for handle in handles]
    assert clock().run(calls) == 0.25e-3
    assert [call.called for call in calls] == [1] * len(calls)
    assert not driver.named("cuGraphLaunch")
