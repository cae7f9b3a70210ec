"""What the kernels of a paged decode move and compute.

A program walks the tokens of its sequence, or of its part of one. Query heads that share a key head and have programs of
their own read the same keys and values at about the same time, so all but the first reading is met in the cache.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from search.blueprint import KernelPlan, Move
from search.plans.paged_decode import decode_shapes, used_pages
from search.workload import ITEM_BYTES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from search.plans.plan import Plan
    from search.workload import Workload

_VECTOR_PER_VALUE = 16
"""Vector operations of a key's or a value's element without the matrix unit: widened, multiplied, summed over lanes."""
_VECTOR_PER_SCORE = 10
_MATRIX_ROWS = 16
"""The matrix unit takes at least so many query heads."""
_KEPT_STAGES = 2
"""Steps of tokens that a program has asked for at once."""


def decode_moves(plan: Plan, workload: Workload, choices: Mapping[str, str]) -> tuple[KernelPlan, ...]:
    """The kernels of a decode, with what they move."""
    decode = _Decode(plan, workload, choices)
    return tuple(
        decode.merge(kernel) if kernel.name == "decode_merge" else decode.walk(kernel)
        for kernel in plan.kernels
    )


class _Decode:
    """Shapes and choices that the moves of both kernels need."""

    def __init__(self, plan: Plan, workload: Workload, choices: Mapping[str, str]) -> None:
        query, cache = decode_shapes(workload)
        self.sequences, self.heads, self.width = query
        self.page, self.key_heads = cache[1], cache[2]
        self.tokens = f"{used_pages(workload)} * {self.page}"
        self.caches = [name for name, tensor in workload.inputs.items() if tensor.shape == cache]
        self.query = next(name for name, tensor in workload.inputs.items() if tensor.shape == query)
        self.item = ITEM_BYTES[workload.inputs[self.caches[0]].dtype]
        self.choices = choices
        self.outputs = list(workload.outputs)
        self.partial = [tensor.name for tensor in plan.intermediates]

    def walk(self, kernel: KernelPlan) -> KernelPlan:
        """The kernel that reads the cache."""
        single, split = self.choices["heads"] == "single", self.choices["sequence"] != "whole"
        step = f"BLOCK_T * {self.width}"
        again = f"{self.heads} // {self.key_heads}" if single else "1"
        owned = f"{self.sequences} * {self.heads if single else self.key_heads}"
        persistent = self.choices["scheduling"] == "persistent"
        update = {
            "reads": (
                *(
                    Move(tensor=name, times=again, between=f"FLIGHT * {step}", gathered=True)
                    for name in self.caches
                ),
                Move(tensor=self.query),
            ),
            "writes": tuple(Move(tensor=name) for name in (self.partial if split else self.outputs)),
            "operations": self._operations(),
            "programs": f"{owned} * SPLITS" if split else owned,
            "workers": "PROGRAMS" if persistent else "",
            "chip_bytes": self._kept(step),
            "flight_bytes": f"{_KEPT_STAGES * self.item} * {step}",
            "overlapped": True,
        }
        return kernel.model_copy(update=update)

    def _kept(self, step: str) -> str:
        """Keys and values of a step; without the matrix unit widened, and every query head's products with them."""
        if self.choices["product"] == "matrix":
            return f"{2 * self.item} * {step}"
        group = "1" if self.choices["heads"] == "single" else f"({self.heads} // {self.key_heads})"
        return f"4 * {step} * (2 + {group})"

    def merge(self, kernel: KernelPlan) -> KernelPlan:
        """The kernel that puts the parts of a sequence together."""
        update = {
            "reads": tuple(Move(tensor=name) for name in self.partial),
            "writes": tuple(Move(tensor=name) for name in self.outputs),
            "operations": {"vector": f"6 * {self.sequences} * {self.heads} * {self.width} * SPLITS"},
            "programs": f"{self.sequences} * {self.heads}",
        }
        return kernel.model_copy(update=update)

    def _operations(self) -> dict[str, str]:
        """Both products and the running softmax between them."""
        scores = f"{self.tokens} * {self.heads}"
        found = {"special": f"2 * {scores}", "vector": f"{_VECTOR_PER_SCORE} * {scores}"}
        if self.choices["product"] == "matrix":
            least = f"{_MATRIX_ROWS} * {self.key_heads}"
            rows = f"({self.heads} + {least} - 1) // ({least}) * {least}"
            return found | {"matrix": f"4 * {self.tokens} * {rows} * {self.width}"}
        values = f"{2 * _VECTOR_PER_VALUE} * {scores} * {self.width}"
        return found | {"vector": f"{found['vector']} + {values}"}
