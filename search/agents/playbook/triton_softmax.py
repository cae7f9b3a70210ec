"""Row softmax in Triton: one function per way of reducing a row."""

from __future__ import annotations

from typing import TYPE_CHECKING

from search.agents.playbook.family import axes_of
from search.agents.playbook.text import fill
from search.agents.playbook.triton import (
    EXP_KNOBS,
    EXPONENTIALS,
    LOWEST,
    Kernel,
    Program,
    knob,
    source_file,
)
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

_NORMALISED = """\
@triton.jit
def normalised(value, total, RECIPROCAL: tl.constexpr):
    if RECIPROCAL:
        return value * (1.0 / total)
    return value / total
"""

MINUS_INFINITY = '-float("inf")'


def softmax(blueprint: Blueprint, workload: Workload) -> str:
    """The Triton module for a softmax blueprint."""
    layout = RowLayout.of(blueprint.choices)
    exp = blueprint.choices["exp"]
    constants = layout.constants | {"RECIPROCAL": knob("RECIPROCAL"), EXP_KNOBS[exp]: knob(EXP_KNOBS[exp])}
    bodies = (
        _split(layout, EXP_KNOBS[exp]) if layout.ownership == "split_row" else _rows(layout, EXP_KNOBS[exp])
    )
    kernels = [
        Kernel(
            name, tensors, layout.grid, deal_rows(layout, body), constants, {"num_warps": knob("NUM_WARPS")}
        )
        for name, tensors, body in bodies
    ]
    functions = [EXPONENTIALS[exp], _NORMALISED]
    if layout.reduction in {"online", "split_combine"}:
        functions.insert(0, LOWEST)
    axes = axes_of(workload)
    return source_file(
        blueprint, workload, Program(functions, kernels, ("x",), ("y",), "M, N = x.shape", axes)
    )


Bodies = list[tuple[str, tuple[str, ...], str]]
"""Kernel name, tensors, what a program does."""


def _rows(layout: RowLayout, exp: str) -> Bodies:
    return [("softmax_rows", ("x", "y"), REDUCTIONS[layout.reduction](layout, exp))]


# One kernel ----------------------------------------------------------------------------------------


def _three_pass(layout: RowLayout, exp: str) -> str:
    return _top(layout) + _total(layout, exp) + _write(layout, exp)


_EXP_INTO_OUTPUT = """\
e = exponential(values - top, @exp@)
tl.store(y + at, e.to(y.dtype.element_ty), mask=mask)
totals += e
"""


def _stored_exp(layout: RowLayout, exp: str) -> str:
    into_output = load("x", MINUS_INFINITY) + fill(_EXP_INTO_OUTPUT, exp=exp)
    scale = load("y", "0.0", last_read=True) + store(layout, "normalised(values, total, RECIPROCAL)")
    return (
        _top(layout)
        + _folded_total(layout, sweep(layout, into_output))
        # A thread may read back what another of its program has written.
        + "tl.debug_barrier()\n"
        + sweep(layout, scale)
    )


_RESIDENT = """\
@columns@
@load@
e = exponential(values - @top@, @exp@)
total = @total@
@store@
"""


def _resident(layout: RowLayout, exp: str) -> str:
    return fill(
        _RESIDENT,
        columns=whole_row(layout),
        load=load("x", MINUS_INFINITY, last_read=True),
        top=layout.folded("max", "values"),
        exp=exp,
        total=layout.folded("sum", "e"),
        store=store(layout, "normalised(e, total, RECIPROCAL)"),
    )


_ONLINE = """\
top = tl.full(@shape@, LOWEST, tl.float32)
total = tl.full(@shape@, 0.0, tl.float32)
@sweep@
"""

_ONLINE_STEP = """\
@load@
best = tl.maximum(top, @high@)
part = @part@
total = total * exponential(top - best, @exp@) + part
top = best
"""


def _online(layout: RowLayout, exp: str) -> str:
    step = fill(
        _ONLINE_STEP,
        load=load("x", MINUS_INFINITY),
        high=layout.folded("max", "values"),
        part=layout.folded("sum", f"exponential(values - best, {exp})"),
        exp=exp,
    )
    shape = "(ROWS, 1)" if layout.rows else "()"
    return fill(_ONLINE, shape=shape, sweep=sweep(layout, step)) + _write(layout, exp)


def _top(layout: RowLayout, span: Span = ROW, start: str = MINUS_INFINITY) -> str:
    return (
        f"tops = tl.full({layout.block}, {start}, tl.float32)\n"
        + sweep(layout, load("x", MINUS_INFINITY) + "tops = tl.maximum(tops, values)", span)
        + f"top = {layout.folded('max', 'tops')}\n"
    )


def _total(layout: RowLayout, exp: str, span: Span = ROW) -> str:
    body = load("x", MINUS_INFINITY) + f"totals += exponential(values - top, {exp})"
    return _folded_total(layout, sweep(layout, body, span))


def _folded_total(layout: RowLayout, swept: str) -> str:
    start = f"totals = tl.zeros({layout.block}, tl.float32)\n"
    return start + swept + f"total = {layout.folded('sum', 'totals')}\n"


def _write(layout: RowLayout, exp: str, span: Span = ROW) -> str:
    value = f"normalised(exponential(values - top, {exp}), total, RECIPROCAL)"
    return sweep(layout, load("x", MINUS_INFINITY, last_read=True) + store(layout, value), span)


REDUCTIONS = {"three_pass": _three_pass, "stored_exp": _stored_exp, "resident": _resident, "online": _online}

# Two kernels ---------------------------------------------------------------------------------------

_STORE_PARTIALS = """\
tl.store(partial_max + m * SPLITS + s, top)
tl.store(partial_sum + m * SPLITS + s, total)
"""

_MERGE_PARTIALS = """\
parts = tl.arange(0, SPLITS)
tops = tl.load(partial_max + m * SPLITS + parts)
top = tl.max(tops, axis=0)
totals = tl.load(partial_sum + m * SPLITS + parts) * exponential(tops - top, @exp@)
total = tl.sum(totals, axis=0)
"""


def _split(layout: RowLayout, exp: str) -> Bodies:
    partials = ("partial_max", "partial_sum")
    statistics = _top(layout, CHUNK_OF_ROW, "LOWEST") + _total(layout, exp, CHUNK_OF_ROW) + _STORE_PARTIALS
    result = fill(_MERGE_PARTIALS, exp=exp) + _write(layout, exp, CHUNK_OF_ROW)
    return [
        ("softmax_partials", ("x", *partials), statistics),
        ("softmax_combine", ("x", *partials, "y"), result),
    ]
