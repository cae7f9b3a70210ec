"""What the judge keeps between evaluations: the device, the cells, a yardstick for each workload it met lately."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from gpuworker import yardstick
from gpuworker.ahead import Ahead
from gpuworker.verdicts import InfrastructureError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from gpuworker.ahead import Key
    from gpuworker.cells import CellBlock
    from gpuworker.contender import Contender
    from gpuworker.devices.device import Arena, Ceiling, Device
    from gpuworker.layout import Layout
    from gpuworker.shop import Shop
    from gpuworker.yardstick import Yardstick
    from search.workload import Case, Workload

_KEPT_YARDSTICKS = 2
_KEPT_TIMED_CASES = 2
HOST_CODE_WEAR, REPLAY_WEAR = 3, 1
"""Host code of a candidate meets the values; of a replay only messages tell."""


class Court:
    """One device with everything that candidates are judged by."""

    def __init__(self, block: CellBlock, device: Device, shop: Shop, state: Path, *, interpret: bool) -> None:
        """Measure what the device can do at most; `state` is the worker's private folder."""
        self.state = state
        self.block = block
        self.device = device
        self.shop = shop
        self.interpret = interpret
        self.ahead = Ahead(_builders(device), beside=device.index >= 0)
        self.batch: tuple[Key, ...] = ()
        """Builds of the announced batch, in its order."""
        self.ceiling = device.ceiling()
        self._yardsticks: dict[str, Yardstick] = {}
        self._parked: Arena | None = None

    def park(self, contender: Contender) -> None:
        """End a replay that went well, and keep its buffers for the next one."""
        self.unpark()
        self._parked = contender.retire(self.block)

    def buffers(self, layout: Layout) -> Arena | None:
        """The kept buffers, where they fit; all others are given back."""
        kept, self._parked = self._parked, None
        if kept and kept.layout == layout:
            return kept
        if kept:
            kept.close()
        return None

    def lift(self) -> Ceiling:
        """The ceiling, once more measured on a CPU: something else may have had the machine the first time.

        A GPU was measured alone, by its own clock, and by now has no room to spare.
        """
        if self.device.index < 0:
            self.ceiling = self.ceiling.or_higher(self.device.ceiling())
        return self.ceiling

    def unpark(self) -> None:
        """Give kept buffers back: whoever comes next wants all of the device's memory."""
        if self._parked:
            self._parked.close()
            self._parked = None

    def first_built(self, places: Sequence[int]) -> int:
        """Which of these requests of the announced batch is built first: its place among `places`."""
        if max(places) >= len(self.batch):
            return 0  # announced to a judge that is gone
        return self.ahead.first([self.batch[place] for place in places])

    def yardstick(self, workload: Workload, cases: list[str], *, wear: int = HOST_CODE_WEAR) -> Yardstick:
        """Specimens and baseline of a workload, made anew when they are worn.

        Args:
            workload: what is computed.
            cases: the cases that will be timed.
            wear: how much the evaluation that wants it wears it.

        Raises:
            RejectedError: INVALID_REFERENCE.
        """
        known = self._yardsticks.pop(workload.hash, None)
        if known and known.worn:
            known.close()
            known = None
        if not known:
            self.unpark()
            while len(self._yardsticks) >= _KEPT_YARDSTICKS:
                self._yardsticks.pop(next(iter(self._yardsticks))).close()
            known = yardstick.build(workload, self.block, self.device, yardstick.own_patience())
        known.wear += wear
        self._yardsticks[workload.hash] = known
        self._trim(known, cases)
        for case in workload.cases:
            if case.name in cases:
                self._provide(known, case, min(1.0, _KEPT_TIMED_CASES / len(cases)))
        return known

    def _provide(self, known: Yardstick, case: Case, share: float) -> None:
        """Specimens of a timed case; where the device has no room for them, those of other workloads make it."""
        try:
            yardstick.provide(known, case, self.block, self.device, yardstick.own_patience(), share)
            return
        except (torch.OutOfMemoryError, InfrastructureError):
            self.unpark()
            for stick in self._yardsticks.values():
                if stick is not known:
                    stick.timed.clear()
        # Behind the handler, which keeps what was made so far alive.
        yardstick.provide(known, case, self.block, self.device, yardstick.own_patience(), share)

    def forget(self, workload_hash: str) -> None:
        """Drop a yardstick that may be broken."""
        self.unpark()
        if known := self._yardsticks.pop(workload_hash, None):
            known.close()

    def _trim(self, known: Yardstick, cases: list[str]) -> None:
        """Timed specimens are by far the most memory: keep those that are wanted now and few others."""
        others = [(stick, name) for stick in self._yardsticks.values() for name in stick.timed]
        others = [(stick, name) for stick, name in others if stick is not known or name not in cases]
        for stick, name in others[: len(others) + len(cases) - _KEPT_TIMED_CASES]:
            del stick.timed[name]


def _builders(device: Device) -> int:
    """Builds at a time: on a GPU they go on beside the clock, whose process has a core of its own."""
    cores = len(device.judge_cores)
    return max(1, cores - 1) if device.index >= 0 else cores
