"""The baseline on a GPU: a pass is one CUDA graph, as that of a replayed candidate is, so neither pays for host code.

A reference returns new tensors. They are copied to the outputs after the clock has stopped: a candidate writes in place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import torch
from cuda.bindings import driver as cu

from gpuworker.cuda.driver import check

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Run = Callable[[], object]
    """Returns the reference's outputs."""
    Store = Callable[[object], None]
    """Copies them to where they are checked."""


class Deferred:
    """One slot of the baseline: called on the clock, stored after it."""

    def __init__(self, run: Run, store: Store, row: list[Deferred]) -> None:
        """Nothing runs yet.

        Args:
            run: computes the outputs from what the slot's inputs hold then.
            store: copies them.
            row: the calls of all slots, which become graphs together.
        """
        self._run = run
        self._store = store
        self._row = row
        self.graph: torch.cuda.CUDAGraph | None = None
        self._result: object = None
        self.is_settled = False
        """It is known whether this is a graph or stays a call."""

    def __call__(self) -> None:
        """Compute."""
        if not self.is_settled:
            self._result = self._run()  # lazy initialisation of libraries must not be recorded
            settle(self._row)
        if self.graph:
            self.graph.replay()
        else:
            self._result = self._run()

    def store(self) -> None:
        """Copy what the last call computed."""
        self._store(self._result)

    def capture(self) -> None:
        """Make a graph of it, which computes nothing.

        Its memory is its own: with a shared pool, one graph's intermediates may lie where another's result is.

        Raises:
            RuntimeError: it waits for the device, which a graph cannot.
        """
        graph = torch.cuda.CUDAGraph(keep_graph=True)
        with torch.cuda.graph(graph):
            self._result = self._run()
        self.graph = graph

    def forget(self) -> None:
        """Stay a call."""
        self.graph = None


class Row:
    """Calls one after the other in one graph: started one by one, short kernels wait for the host in between."""

    def __init__(self, calls: Sequence[Deferred]) -> None:
        """Join the graphs of these, and send the whole to the device.

        Raises:
            CudaError: the driver refused.
        """
        self._stream = cu.CUstream(torch.cuda.current_stream().cuda_stream)
        self._graph = check(cu.cuGraphCreate(0), "graph")
        before: list[cu.CUgraphNode] = []
        for call in calls:
            child = cu.CUgraph(cast("torch.cuda.CUDAGraph", call.graph).raw_cuda_graph())
            node = check(cu.cuGraphAddChildGraphNode(self._graph, before, len(before), child), "join graphs")
            before = [node]
        self._executable = check(cu.cuGraphInstantiate(self._graph, 0), "graph")
        check(cu.cuGraphUpload(self._executable, self._stream), "graph")

    def launch(self) -> None:
        """Compute all of it; call it once."""
        check(cu.cuGraphLaunch(self._executable, self._stream), "launch")

    def close(self) -> None:
        """Give it back, after it has run."""
        check(cu.cuGraphExecDestroy(self._executable), "graph")
        check(cu.cuGraphDestroy(self._graph), "graph")


class Clock:
    """Seconds between two points of the device's queue."""

    def __init__(self) -> None:
        """Make the events."""
        self._events = [torch.cuda.Event(enable_timing=True) for _ in range(2)]  # type: ignore[no-untyped-call]

    def run(self, calls: Sequence[Deferred]) -> float:
        """Seconds that these calls take, one after the other.

        Raises:
            CudaError: the driver refused.
            Exception: whatever a reference raises.
        """
        if not calls or not all(call.graph for call in calls):
            return self._around(lambda: _one_by_one(calls))
        row = Row(calls)
        try:
            torch.cuda.synchronize()
            return self._around(row.launch)
        finally:
            row.close()

    def _around(self, work: Callable[[], object]) -> float:
        self._events[0].record()
        work()
        self._events[1].record()
        self._events[1].synchronize()
        return float(self._events[0].elapsed_time(self._events[1]) * 1e-3)


def _one_by_one(calls: Sequence[Deferred]) -> None:
    for call in calls:
        call()


def settle(calls: Sequence[Deferred]) -> None:
    """Make graphs of all slots, or leave all as they are where one cannot be captured."""
    torch.cuda.synchronize()
    try:
        for call in calls:
            call.capture()
    except RuntimeError:
        torch.cuda.synchronize()
        for call in calls:
            call.forget()
    for call in calls:
        call.is_settled = True


def deferred(slots: Sequence[tuple[Run, Store]], *, at_once: bool) -> list[Deferred]:
    """Slots that become graphs at the first call of one, in the warm-up.

    Not before: until then inputs hold nothing, and a reference that looks up indices would reach anywhere.

    Args:
        slots: how each computes and stores.
        at_once: call the first now, for programs that take long to compile at their first call.
    """
    calls: list[Deferred] = []
    calls.extend(Deferred(run, store, calls) for run, store in slots)
    if at_once:
        calls[0]()
    return calls
