"""What the judge keeps between evaluations: the device, the cells, a yardstick for each workload it met lately."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuworker import yardstick
from gpuworker.ahead import Ahead

if TYPE_CHECKING:
    from gpuworker.cells import CellBlock
    from gpuworker.devices.device import Device
    from gpuworker.shop import Shop
    from gpuworker.yardstick import Yardstick
    from search.workload import Workload

_KEPT_YARDSTICKS = 2
_KEPT_TIMED_CASES = 2


class Court:
    """One device with everything that candidates are judged by."""

    def __init__(self, block: CellBlock, device: Device, shop: Shop, *, interpret: bool) -> None:
        """Measure what the device can do at most."""
        self.block = block
        self.device = device
        self.shop = shop
        self.interpret = interpret
        self.ahead = Ahead(len(device.judge_cores), beside=device.index >= 0)
        self.ceiling = device.ceiling()
        self._yardsticks: dict[str, Yardstick] = {}

    def yardstick(self, workload: Workload, cases: list[str]) -> Yardstick:
        """Specimens and baseline of a workload, made anew when they are worn; counts one use.

        Args:
            workload: what is computed.
            cases: the cases that will be timed.

        Raises:
            RejectedError: INVALID_REFERENCE.
        """
        known = self._yardsticks.pop(workload.hash, None)
        if known and known.worn:
            known.close()
            known = None
        if not known:
            while len(self._yardsticks) >= _KEPT_YARDSTICKS:
                self._yardsticks.pop(next(iter(self._yardsticks))).close()
            known = yardstick.build(workload, self.block, self.device, yardstick.own_patience())
        known.uses += 1
        self._yardsticks[workload.hash] = known
        self._trim(known, cases)
        for case in workload.cases:
            if case.name in cases:
                yardstick.provide(known, case, self.block, self.device, yardstick.own_patience())
        return known

    def forget(self, workload_hash: str) -> None:
        """Drop a yardstick that may be broken."""
        if known := self._yardsticks.pop(workload_hash, None):
            known.close()

    def _trim(self, known: Yardstick, cases: list[str]) -> None:
        """Timed specimens are by far the most memory: keep those that are wanted now and few others."""
        others = [(stick, name) for stick in self._yardsticks.values() for name in stick.timed]
        others = [(stick, name) for stick, name in others if stick is not known or name not in cases]
        for stick, name in others[: len(others) + len(cases) - _KEPT_TIMED_CASES]:
            del stick.timed[name]
