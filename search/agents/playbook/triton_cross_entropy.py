"""Cross entropy of rows of logits in Triton: log of the sum of exponentials, less the target's logit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from search.agents.playbook.family import axes_of
from search.agents.playbook.text import fill
from search.agents.playbook.triton import (
    EXP_KNOBS,
    EXPONENTIALS,
    LOWEST,
    Program,
    knob,
    source_file,
)
from search.agents.playbook.triton_rows import (
    CHUNK_OF_ROW,
    ROW,
    RowKernel,
    RowLayout,
    Span,
    load,
    row_kernels,
    sweep,
    whole_row,
)

if TYPE_CHECKING:
    from search.blueprint import Blueprint
    from search.workload import Workload


def cross_entropy(blueprint: Blueprint, workload: Workload) -> str:
    """The Triton module for a cross-entropy blueprint."""
    layout = RowLayout.of(blueprint.choices)
    exp = EXP_KNOBS[blueprint.choices["exp"]]
    kernels = _split(layout, exp) if layout.ownership == "split_row" else _rows(layout, exp)
    program = Program(
        functions=[LOWEST, EXPONENTIALS[blueprint.choices["exp"]]],
        kernels=row_kernels(layout, kernels, {exp: knob(exp)}),
        inputs=("x", "target"),
        outputs=("loss",),
        sizes="M, N = x.shape",
        axes=axes_of(workload),
    )
    return source_file(blueprint, workload, program)


def _rows(layout: RowLayout, exp: str) -> list[RowKernel]:
    body = REDUCTIONS[layout.reduction](layout, exp) + _loss(layout)
    return [RowKernel("cross_entropy_rows", ("x", "target", "loss"), body)]


_LOSS = """\
chosen = tl.load(target + m@rows@)
logit = tl.load(x + tl.cast(m, tl.int64) * N + chosen@rows@).to(tl.float32)
result = top + tl.log(total) - logit
tl.store(loss + m, result.to(loss.dtype.element_ty)@rows@)
"""


def _loss(layout: RowLayout) -> str:
    return fill(_LOSS, rows=", mask=m < M" if layout.rows else "")


# One kernel ----------------------------------------------------------------------------------------

_TOP = """\
tops = tl.full(@block@, LOWEST, tl.float32)
@sweep@
top = @fold@
"""

_TOTAL = """\
totals = tl.zeros(@block@, tl.float32)
@sweep@
total = @fold@
"""

_X = load("x", '-float("inf")')
_LAST_X = load("x", '-float("inf")', last_read=True)


def _top(layout: RowLayout, span: Span = ROW) -> str:
    swept = sweep(layout, _X + "tops = tl.maximum(tops, values)", span)
    return fill(_TOP, block=layout.block, sweep=swept, fold=layout.folded("max", "tops"))


def _total(layout: RowLayout, exp: str, span: Span = ROW) -> str:
    swept = sweep(layout, _LAST_X + f"totals += exponential(values - top, {exp})", span)
    return fill(_TOTAL, block=layout.block, sweep=swept, fold=layout.folded("sum", "totals"))


def _two_pass(layout: RowLayout, exp: str) -> str:
    return _top(layout) + _total(layout, exp)


_RESIDENT = """\
@columns@
@load@
top = tl.maximum(@high@, LOWEST)
total = @total@
"""


def _resident(layout: RowLayout, exp: str) -> str:
    return fill(
        _RESIDENT,
        columns=whole_row(layout),
        load=_LAST_X,
        high=layout.folded("max", "values"),
        total=layout.folded("sum", f"exponential(values - top, {exp})"),
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


def _online(layout: RowLayout, exp: str, span: Span = ROW) -> str:
    step = fill(
        _ONLINE_STEP,
        load=_LAST_X,
        high=layout.folded("max", "values"),
        part=layout.folded("sum", f"exponential(values - best, {exp})"),
        exp=exp,
    )
    return fill(_ONLINE, shape=layout.scalar, sweep=sweep(layout, step, span))


REDUCTIONS = {"two_pass": _two_pass, "resident": _resident, "online": _online}

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


def _split(layout: RowLayout, exp: str) -> list[RowKernel]:
    partials = ("partial_max", "partial_sum")
    statistics = _online(layout, exp, CHUNK_OF_ROW) + _STORE_PARTIALS
    result = fill(_MERGE_PARTIALS, exp=exp) + _loss(layout)
    return [
        RowKernel("cross_entropy_partials", ("x", *partials), statistics),
        RowKernel("cross_entropy_combine", ("x", "target", *partials, "loss"), result, whole=True),
    ]
