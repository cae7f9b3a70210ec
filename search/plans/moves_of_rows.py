"""What the kernels of row reductions move and compute.

Wide tensors have the shape rows x columns; everything else is small beside them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from search.blueprint import KernelPlan, Move
from search.workload import ITEM_BYTES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from search.plans.plan import Plan
    from search.workload import Workload

_SWEEPS = {
    "three_pass": 3, "stored_exp": 2, "online": 2, "two_pass": 2, "readd": 2, "welford": 2, "resident": 1,
    "split_combine": 1,
}  # fmt: skip
"""How often the input is read to the end, with the sweep that writes."""
_EXPONENTIALS = {
    "three_pass": 2,
    "stored_exp": 1,
    "online": 2,
    "two_pass": 1,
    "resident": 1,
    "split_combine": 1,
}
_VECTOR_PER_SWEEP = 6
_POLYNOMIAL = 16
"""Vector operations of one polynomial exponential."""


def row_moves(plan: Plan, workload: Workload, choices: Mapping[str, str]) -> tuple[KernelPlan, ...]:
    """The kernels of a row reduction, with what they move."""
    rows = _Rows(plan, workload, choices)
    by_name = {"_rows": rows.whole, "_partials": rows.partials, "_combine": rows.combine}
    filled = []
    for kernel in plan.kernels:
        fill = next((fill for end, fill in by_name.items() if kernel.name.endswith(end)), None)
        filled.append(fill(kernel) if fill else kernel)
    return tuple(filled)


class _Rows:
    """Shapes and choices that the moves of every kernel need."""

    def __init__(self, plan: Plan, workload: Workload, choices: Mapping[str, str]) -> None:
        first = next(iter(workload.inputs.values())).shape or ()
        self.rows, self.columns = first[:2]
        self.choices = choices
        self.inputs = [name for name, tensor in workload.inputs.items() if tensor.shape == first]
        self.small = [name for name, tensor in workload.inputs.items() if tensor.shape != first]
        self.outputs = list(workload.outputs)
        self.wide_outputs = [name for name, tensor in workload.outputs.items() if tensor.shape == first]
        self.partial = [tensor.name for tensor in plan.intermediates]
        self.item = ITEM_BYTES[next(iter(workload.inputs.values())).dtype]
        self.exponential = "exp" in choices

    def whole(self, kernel: KernelPlan) -> KernelPlan:
        """One kernel does everything."""
        sweeps = self._sweeps()
        reads = [*self._reads(sweeps), *self._read_back()]
        update = {
            "reads": (*reads, *(Move(tensor=name) for name in self.small)),
            "writes": tuple(
                Move(
                    tensor=name,
                    times="2" if self.choices["reduction"] == "stored_exp" else "1",
                    between=self._row(),
                )
                for name in self.outputs
            ),
            "operations": self._operations(sweeps, _EXPONENTIALS.get(self.choices["reduction"], 0)),
            "programs": f"({self.rows} + ROWS - 1) // ROWS"
            if self.choices["ownership"] == "rows"
            else self.rows,
            "workers": "PROGRAMS" if self.choices["scheduling"] == "persistent" else "",
            "overlapped": self.choices["scheduling"] == "persistent"
            or self.choices["reduction"] != "resident",
        }
        return kernel.model_copy(update={**update, **self._footprint()})

    def partials(self, kernel: KernelPlan) -> KernelPlan:
        """Statistics of the chunks."""
        update = {
            "reads": self._reads(1),
            "writes": tuple(Move(tensor=name) for name in self.partial),
            "operations": self._operations(1, 1),
            "programs": f"{self.rows} * SPLITS",
            "overlapped": True,
        }
        return kernel.model_copy(update={**update, **self._footprint()})

    def combine(self, kernel: KernelPlan) -> KernelPlan:
        """The merge, and the write where the output is as wide as the row."""
        wide = bool(self.wide_outputs)
        update = {
            "reads": (
                *(self._reads(1) if wide else ()),
                *(
                    Move(tensor=name, times="SPLITS" if wide else "1", between="SPLITS")
                    for name in self.partial
                ),
                *(Move(tensor=name) for name in self.small),
            ),
            "writes": tuple(Move(tensor=name) for name in self.outputs),
            "operations": self._operations(1, 1) if wide else {},
            "programs": f"{self.rows} * SPLITS" if wide else self.rows,
            "overlapped": True,
        }
        return kernel.model_copy(update={**update, **(self._footprint() if wide else {})})

    def _sweeps(self) -> int:
        sweeps = _SWEEPS.get(self.choices["reduction"], 2)
        narrow = not self.wide_outputs and self.choices["reduction"] == "online"
        return sweeps - narrow

    def _reads(self, sweeps: int) -> tuple[Move, ...]:
        again = 1 if self._reads_output_back() else sweeps
        return tuple(Move(tensor=name, times=str(again), between=self._row()) for name in self.inputs)

    def _read_back(self) -> tuple[Move, ...]:
        """Outputs that a later sweep reads again."""
        if self.choices["reduction"] == "stored_exp":
            return (Move(tensor=self.outputs[0], between=self._row()),)
        if self._reads_output_back():
            return tuple(Move(tensor=name, between=self._row()) for name in self.wide_outputs[1:])
        return ()

    def _reads_output_back(self) -> bool:
        """A sum of two inputs is written and read back instead of added again."""
        return len(self.inputs) > 1 and self.choices["reduction"] == "two_pass"

    def _row(self) -> str:
        group = "ROWS * " if self.choices["ownership"] == "rows" else ""
        return f"FLIGHT * {group}{self.columns}"

    def _operations(self, sweeps: int, exponentials: int) -> dict[str, str]:
        elements = f"{self.rows} * {self.columns}"
        unit = "scalar" if self.choices.get("lanes") == "scalar" else "vector"
        found = {unit: f"{_VECTOR_PER_SWEEP * sweeps} * {elements}"}
        if self.exponential and exponentials:
            polynomial = self.choices["exp"] == "polynomial"
            kind = "vector" if polynomial else "special"
            count = exponentials * (_POLYNOMIAL if polynomial else 1)
            found[kind] = (
                f"{found[kind]} + {count} * {elements}" if kind in found else f"{count} * {elements}"
            )
        return found

    def _footprint(self) -> dict[str, str]:
        """Bytes kept and bytes asked for by one program; only of kernels whose block size is a knob."""
        if "lanes" in self.choices:
            return {}
        group = "ROWS * " if self.choices["ownership"] == "rows" else ""
        if self.choices["reduction"] == "resident":
            # A persistent program asks for its next row while it works on this one.
            copies = len(self.inputs) * (2 if self.choices["scheduling"] == "persistent" else 1)
            return {
                "chip_bytes": f"4 * {group}{self.columns}",
                "flight_bytes": f"{self.item * copies} * {group}{self.columns}",
            }
        return {
            "chip_bytes": f"8 * {group}BLOCK_N",
            "flight_bytes": f"{2 * self.item * len(self.inputs)} * {group}BLOCK_N",
        }
