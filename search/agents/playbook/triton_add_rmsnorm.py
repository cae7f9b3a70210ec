"""Addition of a residual and RMSNorm of the sum in Triton; both the sum and the normalised rows are outputs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from search.agents.playbook.family import axes_of, epsilon, sum_output
from search.agents.playbook.text import fill
from search.agents.playbook.triton import Program, source_file
from search.agents.playbook.triton_rows import (
    CHUNK_OF_ROW,
    ROW,
    RowKernel,
    RowLayout,
    Span,
    row_kernels,
    store,
    sweep,
    whole_row,
)

if TYPE_CHECKING:
    from search.blueprint import Blueprint
    from search.workload import Workload

_HEAD = """\
EPSILON = tl.constexpr(@epsilon@)
"""


def add_rmsnorm(blueprint: Blueprint, workload: Workload) -> str:
    """The Triton module for an add + RMSNorm blueprint."""
    layout = RowLayout.of(blueprint.choices)
    readd = blueprint.choices.get("residual") == "readd"
    kernels = _split(layout, readd=readd) if layout.ownership == "split_row" else _rows(layout, readd=readd)
    program = Program(
        functions=[fill(_HEAD, epsilon=epsilon(workload))],
        kernels=row_kernels(layout, kernels, {}),
        inputs=("x", "residual", "weight"),
        outputs=("added", "y") if sum_output(workload) == 0 else ("y", "added"),
        sizes="M, N = x.shape",
        axes=axes_of(workload),
    )
    return source_file(blueprint, workload, program)


# The sum is rounded as it is stored, so that both ways of the second sweep see the same values.
_ADD = """\
values = tl.load(x + at, mask=mask, other=0.0@policy@).to(tl.float32)
values += tl.load(residual + at, mask=mask, other=0.0@policy@).to(tl.float32)
rounded = values.to(added.dtype.element_ty)
values = rounded.to(tl.float32)
"""

_STORE_SUM = """\
tl.store(added + at, rounded, mask=mask)
"""

_REREAD = """\
values = tl.load(added + at, mask=mask, other=0.0).to(tl.float32)
"""

_SCALE = """\
scale = 1.0 / tl.sqrt(total / N + EPSILON)
"""

_LOAD_WEIGHT = """\
weights = tl.load(weight + n, mask=n < @last@, other=0.0).to(tl.float32)
"""


def _add(*, last_read: bool) -> str:
    return fill(_ADD, policy=', eviction_policy="evict_first" if EVICT_FIRST else ""' if last_read else "")


def _rows(layout: RowLayout, *, readd: bool) -> list[RowKernel]:
    body = _resident(layout) if layout.resident else _two_pass(layout, readd=readd)
    return [RowKernel("add_rmsnorm_rows", ("x", "residual", "weight", "added", "y"), body)]


def _resident(layout: RowLayout) -> str:
    return (
        whole_row(layout)
        + _add(last_read=True)
        + _STORE_SUM
        + f"total = {layout.folded('sum', 'values * values')}\n"
        + _SCALE
        + _result(layout, "N")
    )


def _two_pass(layout: RowLayout, *, readd: bool) -> str:
    # A thread may read back what another of its program has written.
    barrier = "" if readd else "tl.debug_barrier()\n"
    return _total(layout, readd=readd) + barrier + _SCALE + _write(layout, readd=readd)


def _total(layout: RowLayout, span: Span = ROW, *, readd: bool) -> str:
    body = _add(last_read=not readd) + _STORE_SUM + "totals += values * values"
    return (
        f"totals = tl.zeros({layout.block}, tl.float32)\n"
        + sweep(layout, body, span)
        + f"total = {layout.folded('sum', 'totals')}\n"
    )


def _write(layout: RowLayout, span: Span = ROW, *, readd: bool) -> str:
    read = _add(last_read=True) if readd else _REREAD
    return sweep(layout, read + _result(layout, span.last), span)


def _result(layout: RowLayout, last: str) -> str:
    return fill(_LOAD_WEIGHT, last=last) + store(layout, "values * scale * weights")


# Two kernels ---------------------------------------------------------------------------------------

_STORE_PARTIAL = """\
tl.store(partial_sum + m * SPLITS + s, total)
"""

_MERGE_PARTIALS = """\
total = tl.sum(tl.load(partial_sum + m * SPLITS + tl.arange(0, SPLITS)), axis=0)
"""


def _split(layout: RowLayout, *, readd: bool) -> list[RowKernel]:
    statistics = _total(layout, CHUNK_OF_ROW, readd=readd) + _STORE_PARTIAL
    result = _MERGE_PARTIALS + _SCALE + _write(layout, CHUNK_OF_ROW, readd=readd)
    read = ("x", "residual", "added") if readd else ("added",)
    return [
        RowKernel("add_rmsnorm_partials", ("x", "residual", "added", "partial_sum"), statistics),
        RowKernel("add_rmsnorm_combine", (*read, "weight", "partial_sum", "y"), result),
    ]
