"""Box stencils in Triton: means over square windows, zero outside of the image.

`line` reads one row of inputs at columns `n`, moved by an offset; windows are made of such lines. A program owns a
row, a tile or a strip; in the first two `m` is its row or the column vector of its rows.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from search.agents.playbook.family import axes_of, radius
from search.agents.playbook.text import fill, rename
from search.agents.playbook.triton import Kernel, Program, knob, source_file

if TYPE_CHECKING:
    from collections.abc import Mapping

    from search.blueprint import Blueprint
    from search.workload import Workload


_LINE = """\
@triton.jit
def line(x, m, n, M, N, EVICT_LAST: tl.constexpr):
    # Inputs at rows m and columns n, zero outside of the image.
    width = tl.where((m >= 0) & (m < M), N, 0)
    inside = (n >= 0) & (n < width)
    policy: tl.constexpr = "evict_last" if EVICT_LAST else ""
    return tl.load(x + tl.cast(m, tl.int64) * N + n, mask=inside, other=0.0, eviction_policy=policy).to(tl.float32)
"""

_ROW_SUM = """\
@triton.jit
def row_sum(x, m, n, M, N, EVICT_LAST: tl.constexpr):
    total = line(x, m, n - RADIUS, M, N, EVICT_LAST)
    for j in tl.static_range(1, WIDE):
        total += line(x, m, n + j - RADIUS, M, N, EVICT_LAST)
    return total
"""

_COLUMN_SUM = """\
@triton.jit
def column_sum(x, m, n, M, N, EVICT_LAST: tl.constexpr):
    total = line(x, m - RADIUS, n, M, N, EVICT_LAST)
    for i in tl.static_range(1, WIDE):
        total += line(x, m + i - RADIUS, n, M, N, EVICT_LAST)
    return total
"""

_WINDOW_SUM = """\
@triton.jit
def window_sum(x, m, n, M, N, EVICT_LAST: tl.constexpr):
    total = row_sum(x, m - RADIUS, n, M, N, EVICT_LAST)
    for i in tl.static_range(1, WIDE):
        total += row_sum(x, m + i - RADIUS, n, M, N, EVICT_LAST)
    return total
"""

_FUNCTIONS = {
    "direct": [_LINE, _ROW_SUM, _WINDOW_SUM],
    "sliding": [_LINE, _ROW_SUM],
    "two_kernels": [_LINE, _ROW_SUM, _COLUMN_SUM],
}

CONSTANTS = {name: knob(name) for name in ("BLOCK_M", "BLOCK_N", "STRIP", "EVICT_LAST")}
OPTIONS = {"num_warps": knob("NUM_WARPS")}


def stencil(blueprint: Blueprint, workload: Workload) -> str:
    """The Triton module for a stencil blueprint."""
    choices = blueprint.choices
    wide = 2 * radius(workload) + 1
    numbers = {"RADIUS": str(wide // 2), "WIDE": str(wide)}
    factor = f"{1 / wide**2!r} * "
    program = Program(
        functions=[rename(text, numbers) for text in _FUNCTIONS[choices["window"]]],
        kernels=_kernels(choices, factor, wide),
        inputs=("x",),
        outputs=("y",),
        sizes="M, N = x.shape",
        axes=axes_of(workload),
    )
    return source_file(blueprint, workload, program)


def _kernels(choices: Mapping[str, str], factor: str, wide: int) -> list[Kernel]:
    match choices["window"]:
        case "two_kernels":
            return [
                _kernel(
                    choices, "stencil_row_sums", ("x", "row_sums"), _store("row_sum", "x", "row_sums", "")
                ),
                _kernel(
                    choices,
                    "stencil_column_sums",
                    ("row_sums", "y"),
                    _store("column_sum", "row_sums", "y", factor),
                ),
            ]
        case "sliding":
            return [_kernel(choices, "stencil_strips", ("x", "y"), _sliding(factor, wide))]
    name = "stencil_tiles" if choices["ownership"] == "tile" else "stencil_rows"
    return [_kernel(choices, name, ("x", "y"), _store("window_sum", "x", "y", factor))]


def _kernel(choices: Mapping[str, str], name: str, tensors: tuple[str, ...], work: str) -> Kernel:
    ownership = choices["ownership"]
    persistent = choices["scheduling"] == "persistent"
    body = fill((_SHARES if persistent else _UNITS)[ownership], work=work)
    grid = f"({knob('PROGRAMS')},)" if persistent else _GRIDS[ownership]
    return Kernel(name, tensors, grid, body, CONSTANTS, OPTIONS)


# What a program owns -------------------------------------------------------------------------------

_BLOCKS = f"triton.cdiv(N, {knob('BLOCK_N')})"
_GRIDS = {
    "row": "(M,)",
    "tile": f"({_BLOCKS}, triton.cdiv(M, {knob('BLOCK_M')}))",
    "strip": f"({_BLOCKS}, triton.cdiv(M, {knob('STRIP')}))",
}

_ROW = """\
for start in tl.range(0, N, BLOCK_N):
    n = start + tl.arange(0, BLOCK_N)
    @work@
"""

_TILE = """\
m = @place@ * BLOCK_M + tl.arange(0, BLOCK_M)[:, None]
n = @block@ * BLOCK_N + tl.arange(0, BLOCK_N)[None, :]
@work@
"""

_STRIP = """\
first = @place@ * STRIP
n = @block@ * BLOCK_N + tl.arange(0, BLOCK_N)
@work@
"""


def _unit(text: str, place: str, block: str) -> str:
    return text.replace("@place@", place).replace("@block@", block)


_UNITS = {
    "row": "m = tl.program_id(0)\n" + _ROW,
    "tile": _unit(_TILE, "tl.program_id(1)", "tl.program_id(0)"),
    "strip": _unit(_STRIP, "tl.program_id(1)", "tl.program_id(0)"),
}

_SHARE = """\
blocks = tl.cdiv(N, BLOCK_N)
for unit in tl.range(tl.program_id(0), tl.cdiv(M, @height@) * blocks, tl.num_programs(0)):
    @unit@
"""


def _share(text: str, height: str) -> str:
    return fill(_SHARE, height=height, unit=_unit(text, "(unit // blocks)", "(unit % blocks)"))


_SHARES = {
    "row": fill("for m in tl.range(tl.program_id(0), M, tl.num_programs(0)):\n    @row@\n", row=_ROW),
    "tile": _share(_TILE, "BLOCK_M"),
    "strip": _share(_STRIP, "STRIP"),
}

# What it computes ----------------------------------------------------------------------------------

_STORE = """\
result = @value@
tl.store(@target@ + tl.cast(m, tl.int64) * N + n, result.to(@target@.dtype.element_ty), mask=n < tl.where(m < M, N, 0))
"""


def _store(function: str, source: str, target: str, factor: str) -> str:
    return fill(_STORE, value=f"{factor}{function}({source}, m, n, M, N, EVICT_LAST)", target=target)


_SLIDING = """\
@head@
for m in tl.range(first, tl.minimum(first + STRIP, M)):
    @newest@ = row_sum(x, m + @radius@, n, M, N, EVICT_LAST)
    @store@
    @rotate@
"""


def _moved(rows: int) -> str:
    return f"first {'-' if rows < 0 else '+'} {abs(rows)}" if rows else "first"


def _sliding(factor: str, wide: int) -> str:
    """Sums of the last rows in variables r0 (oldest) to the newest; they are rotated, so nothing drifts."""
    names = [f"r{number}" for number in range(wide)]
    head = [
        f"{name} = row_sum(x, {_moved(number - wide // 2)}, n, M, N, EVICT_LAST)"
        for number, name in enumerate(names[:-1])
    ]
    rotate = [f"{old} = {new}" for old, new in itertools.pairwise(names)]
    total = " + ".join(names)
    return fill(
        _SLIDING,
        head="\n".join(head),
        newest=names[-1],
        radius=str(wide // 2),
        store=fill(_STORE, value=f"{factor}({total})", target="y"),
        rotate="\n".join(rotate),
    )
