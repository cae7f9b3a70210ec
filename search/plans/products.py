"""Plans of several products: siblings of one operand, a chain of three matrices, a diagonal factor."""

from __future__ import annotations

from typing import TYPE_CHECKING

from search.plans.parts import inner_axes, launch, output_axes, plan, stored

if TYPE_CHECKING:
    from collections.abc import Mapping

    from search.plans.plan import Plan
    from search.records import Language
    from search.workload import Workload


def plan_siblings(workload: Workload, choices: Mapping[str, str], language: Language) -> Plan:
    """Products A B1, A B2, … in a kernel each or in one."""
    contracted = inner_axes(workload)
    shapes = {name: tensor.shape or () for name, tensor in workload.outputs.items()}
    if choices["siblings"] == "joint":
        axes = tuple(dict.fromkeys(axis for shape in shapes.values() for axis in shape))
        return plan([launch("products", "all products of a tile", axes, contracted)], [], sums=True)
    launches = [launch(f"product_{name}", f"the product {name}", s, contracted) for name, s in shapes.items()]
    return plan(launches, [], sums=True)


def plan_chain(workload: Workload, choices: Mapping[str, str], language: Language) -> Plan:
    """Product of three matrices, (A B) C or A (B C)."""
    rows, columns = output_axes(workload)
    first, second = _chained_axes(workload, rows)
    left = choices["association"] == "left"
    shape = (rows, second) if left else (first, columns)
    inner = (first, second) if left else (second, first)
    if choices["product"] == "on_chip":
        kernel = launch("chained_product", "both products of a tile", (rows, columns), inner)
        return plan([kernel], [], sums=True)
    launches = [
        launch("first_product", "the product of two of the matrices", shape, inner[:1]),
        launch("second_product", "its product with the third", (rows, columns), inner[1:]),
    ]
    return plan(launches, [stored("product", shape, "first_product", "second_product")], sums=True)


def _chained_axes(workload: Workload, rows: str) -> tuple[str, str]:
    """The contracted axis next to the rows of the output, and the other one."""
    first, second = inner_axes(workload)
    beside = any({rows, first} == set(tensor.shape or ()) for tensor in workload.inputs.values())
    return (first, second) if beside else (second, first)


def plan_diagonal(workload: Workload, choices: Mapping[str, str], language: Language) -> Plan:
    """Product with a diagonal matrix, as a product or as a scaling."""
    axes = output_axes(workload)
    if choices["diagonal"] == "scale":
        return plan([launch("scale", "rows or columns times the diagonal", axes)], [], sums=False)
    side = next(tensor.shape or () for tensor in workload.inputs.values() if len(tensor.shape or ()) == 1)
    launches = [
        launch("expand_diagonal", "the diagonal matrix in full", (*side, *side)),
        launch("gemm", "its product with the other matrix", axes, side),
    ]
    return plan(launches, [stored("diagonal", (*side, *side), "expand_diagonal", "gemm")], sums=True)
