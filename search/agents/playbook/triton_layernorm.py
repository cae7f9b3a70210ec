"""LayerNorm in Triton: one function per way of reducing a row."""

from __future__ import annotations

from typing import TYPE_CHECKING

from search.agents.playbook.family import axes_of, epsilon
from search.agents.playbook.text import fill
from search.agents.playbook.triton import Program, source_file
from search.agents.playbook.triton_rows import (
    CHUNK_OF_ROW,
    ROW,
    RowKernel,
    RowLayout,
    Span,
    load,
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


def layernorm(blueprint: Blueprint, workload: Workload) -> str:
    """The Triton module for a LayerNorm blueprint."""
    layout = RowLayout.of(blueprint.choices)
    kernels = _split(layout) if layout.ownership == "split_row" else _rows(layout)
    program = Program(
        functions=[fill(_HEAD, epsilon=epsilon(workload))],
        kernels=row_kernels(layout, kernels, {}),
        inputs=("x", "weight", "bias"),
        outputs=("y",),
        sizes="M, N = x.shape",
        axes=axes_of(workload),
    )
    return source_file(blueprint, workload, program)


def _rows(layout: RowLayout) -> list[RowKernel]:
    body = REDUCTIONS[layout.reduction](layout)
    return [RowKernel("layernorm_rows", ("x", "weight", "bias", "y"), body)]


# One kernel ----------------------------------------------------------------------------------------

_SCALE = """\
scale = 1.0 / tl.sqrt(@variance@ + EPSILON)
"""

_CENTRED = """\
centred = tl.where(mask, values - mean, 0.0)
"""

_AFFINE = """\
weights = tl.load(weight + n, mask=n < @last@, other=0.0).to(tl.float32)
biases = tl.load(bias + n, mask=n < @last@, other=0.0).to(tl.float32)
"""


def _three_pass(layout: RowLayout) -> str:
    squares = load("x", "0.0") + _CENTRED + "squares += centred * centred\n"
    return (
        f"sums = tl.zeros({layout.block}, tl.float32)\n"
        + sweep(layout, load("x", "0.0") + "sums += values")
        + f"mean = {layout.folded('sum', 'sums')} / N\n"
        + f"squares = tl.zeros({layout.block}, tl.float32)\n"
        + sweep(layout, squares)
        + fill(_SCALE, variance=f"{layout.folded('sum', 'squares')} / N")
        + _write(layout)
    )


def _two_pass(layout: RowLayout) -> str:
    """E[x^2] - E[x]^2, with what rounding makes negative taken as zero."""
    return (
        f"sums = tl.zeros({layout.block}, tl.float32)\n"
        + f"squares = tl.zeros({layout.block}, tl.float32)\n"
        + sweep(layout, load("x", "0.0") + "sums += values\nsquares += values * values")
        + f"mean = {layout.folded('sum', 'sums')} / N\n"
        + f"variance = {layout.folded('sum', 'squares')} / N - mean * mean\n"
        + fill(_SCALE, variance="tl.maximum(variance, 0.0)")
        + _write(layout)
    )


_RESIDENT = """\
@columns@
@load@
mean = @total@ / N
@centred@
@scale@
@result@
"""


def _resident(layout: RowLayout) -> str:
    return fill(
        _RESIDENT,
        columns=whole_row(layout),
        load=load("x", "0.0", last_read=True),
        total=layout.folded("sum", "values"),
        centred=_CENTRED,
        scale=fill(_SCALE, variance=f"{layout.folded('sum', 'centred * centred')} / N"),
        result=_result(layout, "N"),
    )


# Every lane of the block keeps the mean and the squared deviations of the columns it has seen; a lane that is
# inside the row at a step was so at all steps before, so one count serves all of them. Lanes are merged by
# Chan's formula.
_WELFORD = """\
seen = 0.0
counts = tl.zeros(@block@, tl.float32)
means = tl.zeros(@block@, tl.float32)
squares = tl.zeros(@block@, tl.float32)
@sweep@
mean = @mean@ / @size@
apart = means - mean
m2 = @m2@
"""

_WELFORD_STEP = """\
@load@
seen += 1.0
counts += tl.where(mask, 1.0, 0.0)
apart = tl.where(mask, values - means, 0.0)
means += apart / seen
squares += apart * tl.where(mask, values - means, 0.0)
"""


def _statistics(layout: RowLayout, span: Span, size: str) -> str:
    return fill(
        _WELFORD,
        block=layout.block,
        sweep=sweep(layout, fill(_WELFORD_STEP, load=load("x", "0.0")), span),
        mean=layout.folded("sum", "means * counts"),
        size=size,
        m2=layout.folded("sum", "squares + counts * apart * apart"),
    )


def _welford(layout: RowLayout) -> str:
    return _statistics(layout, ROW, "N") + fill(_SCALE, variance="m2 / N") + _write(layout)


def _write(layout: RowLayout, span: Span = ROW) -> str:
    return sweep(layout, load("x", "0.0", last_read=True) + _result(layout, span.last), span)


def _result(layout: RowLayout, last: str) -> str:
    return fill(_AFFINE, last=last) + store(layout, "(values - mean) * scale * weights + biases")


REDUCTIONS = {
    "three_pass": _three_pass,
    "two_pass": _two_pass,
    "welford": _welford,
    "resident": _resident,
}

# Two kernels ---------------------------------------------------------------------------------------

_STORE_PARTIALS = """\
tl.store(partial_mean + m * SPLITS + s, mean)
tl.store(partial_m2 + m * SPLITS + s, m2)
"""

_MERGE_PARTIALS = """\
parts = tl.arange(0, SPLITS)
counts = tl.minimum(tl.maximum(N - parts * length, 0), length).to(tl.float32)
means = tl.load(partial_mean + m * SPLITS + parts)
mean = tl.sum(means * counts, axis=0) / N
apart = means - mean
squares = tl.load(partial_m2 + m * SPLITS + parts) + counts * apart * apart
"""


def _split(layout: RowLayout) -> list[RowKernel]:
    partials = ("partial_mean", "partial_m2")
    # A chunk may be empty, where the row is short: its mean is 0 of 0 columns.
    statistics = _statistics(layout, CHUNK_OF_ROW, "tl.maximum(last - first, 1)") + _STORE_PARTIALS
    result = (
        _MERGE_PARTIALS + fill(_SCALE, variance="tl.sum(squares, axis=0) / N") + _write(layout, CHUNK_OF_ROW)
    )
    return [
        RowKernel("layernorm_partials", ("x", *partials), statistics),
        RowKernel("layernorm_combine", ("x", "weight", "bias", *partials, "y"), result),
    ]
