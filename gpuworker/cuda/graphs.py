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

    def __init__(self, run: Run, store: Store) -> None:
        """Nothing runs yet."""
        self._run = run
        self._store = store
        self._graph: torch.cuda.CUDAGraph | None = None
        self._result: object = None

    def __call__(self) -> None:
        """Compute."""
        if self._graph:
            self._graph.replay()
        else:
            self._result = self._run()

    def store(self) -> None:
        """Copy what the last call computed."""
        self._store(self._result)

    def capture(self) -> None:
        """Make a graph of it.

        Raises:
            RuntimeError: it waits for the device, which a graph cannot.
        """
        self._run()  # lazy initialisation of libraries must not be recorded
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self._result = self._run()
        self._graph = graph


def deferred(slots: Sequence[tuple[Run, Store]]) -> list[Deferred]:
    """Slots as graphs, or all as they are where one cannot be captured."""
    calls = [Deferred(run, store) for run, store in slots]
    try:
        for call in calls:
            call.capture()
    except RuntimeError:
        torch.cuda.synchronize()
        return [Deferred(run, store) for run, store in slots]
    return calls
