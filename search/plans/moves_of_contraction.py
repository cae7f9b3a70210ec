"""What the kernels of contractions move and compute.

A tile of the output reads a stripe of each operand: each operand is moved once per row or column of tiles, and
how much of it is met again in the cache depends on the order of the tiles.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from search.blueprint import KernelPlan, Move
from search.traits import contracted_axis
from search.workload import ITEM_BYTES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from search.plans.plan import Plan
    from search.workload import Workload

_TANH = 20
"""Vector operations of a GELU with a polynomial exponential."""
_WHOLE_ROW = 4096
"""Bytes that an elementwise program of C++ or Triton works on at once."""


def contraction_moves(plan: Plan, workload: Workload, choices: Mapping[str, str]) -> tuple[KernelPlan, ...]:
    """The kernels of a contraction, with what they move."""
    gemm = _of(plan, workload, choices)
    return tuple(kernel.model_copy(update=gemm.moves(kernel.name)) for kernel in plan.kernels)


@dataclass(frozen=True)
class _Gemm:
    """Names and choices that the moves of every kernel need."""

    axes: tuple[str, str, str]
    """Rows, columns, contracted."""
    operands: tuple[str, str]
    vectors: tuple[str, ...]
    output: str
    product: str
    """Where the product lies before an epilogue of its own; the output if there is none."""
    partials: tuple[str, ...]
    packed: tuple[str, ...]
    item: int
    choices: Mapping[str, str]

    def moves(self, kernel: str) -> dict[str, object]:
        """Fields of a kernel's plan, by its name."""
        if kernel.startswith("pack_"):
            return self._packing(kernel.removeprefix("pack_"))
        if kernel.endswith(("_combine", "_fixup")):
            return self._elementwise(self.partials, self._stored(), fused=self._fused())
        if kernel == "bias_gelu":
            return self._elementwise((self.product,), (self.output,), fused=True)
        if kernel.startswith("gemm"):
            return self._product(kernel)
        return {}

    def _packing(self, operand: str) -> dict[str, object]:
        position = 0 if operand == "a" else 1
        outer, contracted = self.axes[position], self.axes[2]
        return {
            "reads": (Move(tensor=self.operands[position]),),
            "writes": (Move(tensor=f"packed_{operand}"),),
            "programs": f"{outer} * {contracted} // {_WHOLE_ROW} + 1",
            "overlapped": True,
        }

    def _elementwise(
        self, read: tuple[str, ...], written: tuple[str, ...], *, fused: bool
    ) -> dict[str, object]:
        rows, columns, _ = self.axes
        vectors = self.vectors if fused else ()
        return {
            "reads": tuple(Move(tensor=name) for name in (*read, *vectors)),
            "writes": tuple(Move(tensor=name) for name in written),
            "operations": self._gelu() if fused else {"vector": f"{rows} * {columns}"},
            "programs": f"{rows} * {columns} // {_WHOLE_ROW} + 1",
            "overlapped": True,
        }

    def _product(self, kernel: str) -> dict[str, object]:
        rows, columns, contracted = self.axes
        whole = not kernel.endswith(("_partials", "_stream"))
        fused = whole and self._fused()
        written = self._stored() if whole else self.partials
        work = {self._unit(): f"2 * {rows} * {columns} * {contracted}"}
        if fused:
            work |= self._gelu()
        return {
            "reads": (
                *self._operand_reads(),
                *(Move(tensor=name) for name in (self.vectors if fused else ())),
            ),
            "writes": tuple(Move(tensor=name) for name in written),
            "operations": work,
            "overlapped": True,
            **self._tiles(kernel),
        }

    def _operand_reads(self) -> tuple[Move, Move]:
        rows, columns, contracted = self.axes
        left, right = (
            f"packed_{name}" if f"packed_{name}" in self.packed else own for name, own in self._named()
        )
        if self.choices["ownership"] == "element":
            return Move(tensor=left), Move(tensor=right, times=rows, between=f"{contracted} * {columns}")
        across = f"({columns} + BLOCK_N - 1) // BLOCK_N"
        down = f"({rows} + BLOCK_M - 1) // BLOCK_M"
        grouped = self.choices.get("tile_order") == "grouped"
        # Row-major order walks a whole row of tiles, and with it all of B, before it comes back to a stripe of B.
        right_between = (
            f"{contracted} * BLOCK_N * FLIGHT // GROUP" if grouped else f"{contracted} * {columns}"
        )
        left_between = f"{contracted} * BLOCK_M * GROUP" if grouped else f"{contracted} * BLOCK_M"
        return (
            Move(tensor=left, times=across, between=left_between),
            Move(tensor=right, times=down, between=right_between),
        )

    def _named(self) -> tuple[tuple[str, str], tuple[str, str]]:
        return ("a", self.operands[0]), ("b", self.operands[1])

    def _tiles(self, kernel: str) -> dict[str, object]:
        rows, columns, _ = self.axes
        if self.choices["ownership"] == "element":
            return {"programs": rows}
        tiles = f"(({rows} + BLOCK_M - 1) // BLOCK_M) * (({columns} + BLOCK_N - 1) // BLOCK_N)"
        stream = kernel.endswith("_stream")
        shared = self.choices["scheduling"] == "persistent" or stream
        return {
            # Equal shares of all steps leave no ragged last round.
            "programs": "PROGRAMS"
            if stream
            else f"SPLITS * {tiles}"
            if kernel.endswith("_partials")
            else tiles,
            "workers": "PROGRAMS" if shared else "",
            "chip_bytes": f"4 * BLOCK_M * BLOCK_N + {2 * self.item} * (BLOCK_M + BLOCK_N) * BLOCK_K",
            "flight_bytes": f"{2 * self.item} * (BLOCK_M + BLOCK_N) * BLOCK_K",
        }

    def _unit(self) -> str:
        if "loop_order" not in self.choices:
            return "matrix"
        scalar = self.choices["loop_order"] == "dot" and self.choices["register_tile"] == "none"
        return "scalar" if scalar else "vector"

    def _gelu(self) -> dict[str, str]:
        rows, columns, _ = self.axes
        match self.choices.get("gelu"):
            case "libm":
                return {"special": f"{rows} * {columns}"}
            case "polynomial":
                return {"vector": f"{_TANH} * {rows} * {columns}"}
        return {}

    def _fused(self) -> bool:
        return self.choices.get("epilogue", "fused") == "fused"

    def _stored(self) -> tuple[str, ...]:
        return (self.output,) if self._fused() else (self.product,)


def _of(plan: Plan, workload: Workload, choices: Mapping[str, str]) -> _Gemm:
    output, tensor = next(iter(workload.outputs.items()))
    rows, columns = tensor.shape or ()
    contracted = contracted_axis(workload) or ""
    operands = [name for name, found in workload.inputs.items() if contracted in (found.shape or ())]
    kept = [buffer.name for buffer in plan.intermediates]
    return _Gemm(
        axes=(rows, columns, contracted),
        operands=(operands[0], operands[1]),
        vectors=tuple(name for name in workload.inputs if name not in operands),
        output=output,
        product="product" if "product" in kept else output,
        partials=tuple(name for name in kept if name.startswith("partials")),
        packed=tuple(name for name in kept if name.startswith("packed_")),
        item=ITEM_BYTES[workload.inputs[operands[0]].dtype],
        choices=choices,
    )
