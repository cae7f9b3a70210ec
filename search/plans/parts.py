"""What plans of kinds without grids in their contract are put together from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from search.blueprint import Intermediate, KernelPlan
from search.plans.plan import Launch, Plan, assemble
from search.records import Clause, ClauseKind

if TYPE_CHECKING:
    from search.workload import Workload


def launch(name: str, computes: str, parallel: tuple[str, ...], sequential: tuple[str, ...] = ()) -> Launch:
    """A kernel whose contract says no more than that it is there: its axes may be dealt out in many ways."""
    kernel = KernelPlan(name=name, computes=computes, parallel=parallel, sequential=sequential)
    return Launch(kernel, form="")


def stored(
    name: str, shape: tuple[str, ...], writer: str, reader: str, dtype: str = "float32"
) -> Intermediate:
    """A tensor in memory between two kernels, or between programs of one."""
    return Intermediate(name=name, shape=shape, dtype=dtype, written_by=writer, read_by=reader)


def clear(axes: tuple[str, ...]) -> Launch:
    """The kernel that sets an output to zero before others add to it atomically."""
    return launch("clear_output", "zeros, to be added to", axes)


def plan(
    launches: list[Launch], intermediates: list[Intermediate], *, sums: bool, atomic: bool = False
) -> Plan:
    """A plan with the clauses that hold for every kind of work.

    Args:
        launches: In launch order.
        intermediates: Tensors in memory between kernels.
        sums: Whether something is accumulated, which is then done in float32.
        atomic: Whether the sums are made by atomic additions.
    """
    own = [Clause(kind=ClauseKind.NUMERICS, value={"accumulate": "float32"})] if sums else []
    if atomic:
        own.append(Clause(kind=ClauseKind.ATOMICS, value=["accumulate"]))
    return assemble(launches, intermediates, own)


def output_axes(workload: Workload) -> tuple[str, ...]:
    """Axes of the first output."""
    return next(iter(workload.outputs.values())).shape or ()


def inner_axes(workload: Workload) -> tuple[str, ...]:
    """Axes of inputs that no output has, in the workload's order."""
    written = {axis for tensor in workload.outputs.values() for axis in tensor.shape or ()}
    read = {axis for tensor in workload.inputs.values() for axis in tensor.shape or ()}
    return tuple(axis for axis in workload.axes if axis in read - written)
