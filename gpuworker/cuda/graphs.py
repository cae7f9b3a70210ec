"""The baseline on a GPU: as CUDA graphs, the mode that replayed candidates have too, so neither pays for host code.

A reference returns new tensors. They are copied to the outputs after the clock has stopped: a candidate writes in place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

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
        self._graph: torch.cuda.CUDAGraph | None = None
        self._result: object = None
        self.is_settled = False
        """It is known whether this is a graph or stays a call."""

    def __call__(self) -> None:
        """Compute."""
        if not self.is_settled:
            self._result = self._run()  # lazy initialisation of libraries must not be recorded
            settle(self._row)
        if self._graph:
            self._graph.replay()
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
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self._result = self._run()
        self._graph = graph

    def forget(self) -> None:
        """Stay a call."""
        self._graph = None


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
