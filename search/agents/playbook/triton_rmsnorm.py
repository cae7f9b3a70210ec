"""RMSNorm in Triton: one function per way of reducing a row."""

from __future__ import annotations

from typing import TYPE_CHECKING

from search.agents.playbook.family import axes_of, epsilon
from search.agents.playbook.text import fill
from search.agents.playbook.triton import Kernel, Program, knob, source_file
from search.agents.playbook.triton_rows import (
    CHUNK_OF_ROW,
    ROW,
    RowLayout,
    Span,
    deal_rows,
    load,
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


def rmsnorm(blueprint: Blueprint, workload: Workload) -> str:
    """The Triton module for an RMSNorm blueprint."""
    layout = RowLayout.of(blueprint.choices)
    bodies = _split(layout) if layout.ownership == "split_row" else _rows(layout)
    kernels = [
        Kernel(
            name,
            tensors,
            layout.grid,
            deal_rows(layout, body),
            layout.constants,
            {"num_warps": knob("NUM_WARPS")},
        )
        for name, tensors, body in bodies
    ]
    program = Program(
        functions=[fill(_HEAD, epsilon=epsilon(workload))],
        kernels=kernels,
        inputs=("x", "weight"),
        outputs=("y",),
        sizes="M, N = x.shape",
        axes=axes_of(workload),
    )
    return source_file(blueprint, workload, program)


Bodies = list[tuple[str, tuple[str, ...], str]]
"""Kernel name, tensors, what a program does."""


def _rows(layout: RowLayout) -> Bodies:
    return [("rmsnorm_rows", ("x", "weight", "y"), REDUCTIONS[layout.reduction](layout))]


# One kernel ----------------------------------------------------------------------------------------

_SCALE = """\
scale = 1.0 / tl.sqrt(total / N + EPSILON)
"""

_LOAD_WEIGHT = """\
weights = tl.load(weight + n, mask=n < @last@, other=0.0).to(tl.float32)
"""


def _two_pass(layout: RowLayout) -> str:
    return _total(layout) + _SCALE + _write(layout)


def _resident(layout: RowLayout) -> str:
    return (
        whole_row(layout)
        + load("x", "0.0", last_read=True)
        + f"total = {layout.folded('sum', 'values * values')}\n"
        + _SCALE
        + _result(layout, "N")
    )


def _total(layout: RowLayout, span: Span = ROW) -> str:
    return (
        f"totals = tl.zeros({layout.block}, tl.float32)\n"
        + sweep(layout, load("x", "0.0") + "totals += values * values", span)
        + f"total = {layout.folded('sum', 'totals')}\n"
    )


def _write(layout: RowLayout, span: Span = ROW) -> str:
    return sweep(layout, load("x", "0.0", last_read=True) + _result(layout, span.last), span)


def _result(layout: RowLayout, last: str) -> str:
    return fill(_LOAD_WEIGHT, last=last) + store(layout, "values * scale * weights")


REDUCTIONS = {"two_pass": _two_pass, "resident": _resident}

# Two kernels ---------------------------------------------------------------------------------------

_STORE_PARTIAL = """\
tl.store(partial_sum + m * SPLITS + s, total)
"""

_MERGE_PARTIALS = """\
total = tl.sum(tl.load(partial_sum + m * SPLITS + tl.arange(0, SPLITS)), axis=0)
"""


def _split(layout: RowLayout) -> Bodies:
    statistics = _total(layout, CHUNK_OF_ROW) + _STORE_PARTIAL
    result = _MERGE_PARTIALS + _SCALE + _write(layout, CHUNK_OF_ROW)
    return [
        ("rmsnorm_partials", ("x", "partial_sum"), statistics),
        ("rmsnorm_combine", ("x", "weight", "partial_sum", "y"), result),
    ]
