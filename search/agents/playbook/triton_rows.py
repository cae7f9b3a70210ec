"""Triton pieces of row reductions: which rows a program owns and how it walks their columns.

`m` is the row (or a column vector of ROWS rows), `n` the columns of a step, `at` the addresses of both; so one
text serves one row and several. Reductions run along the last axis of a block.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from search.agents.playbook.text import fill
from search.agents.playbook.triton import Kernel, knob

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class RowLayout:
    """The decisions that shape every block."""

    ownership: str
    reduction: str
    persistent: bool
    streaming: bool

    @classmethod
    def of(cls, choices: Mapping[str, str]) -> RowLayout:
        """Read them from a blueprint's choices."""
        return cls(
            ownership=choices["ownership"],
            reduction=choices["reduction"],
            persistent=choices["scheduling"] == "persistent",
            streaming=choices.get("store") == "streaming",
        )

    @property
    def rows(self) -> bool:
        """Whether a program owns several rows."""
        return self.ownership == "rows"

    @property
    def resident(self) -> bool:
        """Whether a block spans the whole row."""
        return self.reduction == "resident"

    @property
    def grid(self) -> str:
        """Grid of the launch."""
        if self.ownership == "split_row":
            return f"(M, {knob('SPLITS')})"
        if self.persistent:
            return f"({knob('PROGRAMS')},)"
        return f"(triton.cdiv(M, {knob('ROWS')}),)" if self.rows else "(M,)"

    @property
    def constants(self) -> dict[str, str]:
        """Compile-time parameters that follow from the layout."""
        named = {"EVICT_FIRST": knob("EVICT_FIRST")}
        if self.rows:
            named["ROWS"] = knob("ROWS")
        if self.ownership == "split_row":
            named["SPLITS"] = knob("SPLITS")
        if self.resident:
            named |= {"BLOCK_N": "triton.next_power_of_2(N)", "ROW_STAGES": knob("NUM_STAGES")}
        else:
            named |= {"BLOCK_N": knob("BLOCK_N"), "STAGES": knob("NUM_STAGES")}
        return named

    @property
    def block(self) -> str:
        """Shape of a block."""
        return "(ROWS, BLOCK_N)" if self.rows else "(BLOCK_N,)"

    @property
    def scalar(self) -> str:
        """Shape of one value per row."""
        return "(ROWS, 1)" if self.rows else "()"

    def folded(self, operation: str, block: str) -> str:
        """`max` or `sum` of a block along its columns; broadcasts against the block."""
        return (
            f"tl.{operation}({block}, axis=1, keep_dims=True)"
            if self.rows
            else f"tl.{operation}({block}, axis=0)"
        )


# Blocks --------------------------------------------------------------------------------------------

_COLUMNS = """\
n = @start@ + tl.arange(0, BLOCK_N)
mask = n < @last@
at = tl.cast(m, tl.int64) * N + n
"""

_COLUMNS_OF_ROWS = """\
n = @start@ + tl.arange(0, BLOCK_N)[None, :]
mask = (m < M) & (n < @last@)
at = tl.cast(m, tl.int64) * N + n
"""

_SWEEP = """\
for start in tl.range(@first@, @last@, BLOCK_N, num_stages=STAGES):
    @columns@
    @body@
"""


@dataclass(frozen=True)
class Span:
    """Names of the bounds of a sweep."""

    first: str = "0"
    last: str = "N"


ROW = Span()
CHUNK_OF_ROW = Span("first", "last")


def sweep(layout: RowLayout, body: str, span: Span = ROW) -> str:
    """Run `body` for the blocks of a span of the row(s)."""
    columns = _columns(layout, "start", span.last)
    return fill(_SWEEP, first=span.first, last=span.last, columns=columns, body=body)


def whole_row(layout: RowLayout) -> str:
    """Addresses of a block that spans the row(s)."""
    return _columns(layout, "0", "N")


def load(name: str, other: str, *, into: str = "values", last_read: bool = False) -> str:
    """Statement that reads a block of a row tensor as float32; half types would compute in half otherwise."""
    policy = ', eviction_policy="evict_first" if EVICT_FIRST else ""' if last_read else ""
    return f"{into} = tl.load({name} + at, mask=mask, other={other}{policy}).to(tl.float32)\n"


def store(layout: RowLayout, value: str) -> str:
    """Statements that store a block of the output."""
    policy = ', eviction_policy="evict_first"' if layout.streaming else ""
    return f"result = {value}\ntl.store(y + at, result.to(y.dtype.element_ty), mask=mask{policy})\n"


@dataclass(frozen=True)
class RowKernel:
    """One kernel of a row family before its rows are dealt out."""

    name: str
    tensors: tuple[str, ...]
    body: str
    """What is done for the row(s) or the chunk `m`."""
    whole: bool = False
    """It owns one row each, whatever the layout says: it merges what chunks of rows left."""


def row_kernels(layout: RowLayout, kernels: list[RowKernel], constants: Mapping[str, str]) -> list[Kernel]:
    """Kernels with their grids and launch options; `constants` are the family's own compile-time parameters."""
    named = layout.constants | dict(constants)
    return [
        Kernel(
            name=kernel.name,
            tensors=kernel.tensors,
            grid="(M,)" if kernel.whole else layout.grid,
            body=fill(_ONE_ROW, program=kernel.body) if kernel.whole else deal_rows(layout, kernel.body),
            constants=named,
            options={"num_warps": knob("NUM_WARPS")},
        )
        for kernel in kernels
    ]


def _columns(layout: RowLayout, start: str, last: str) -> str:
    columns = fill(_COLUMNS_OF_ROWS if layout.rows else _COLUMNS, start=start, last=last)
    return columns.replace("n = 0 + ", "n = ")


# Mapping -------------------------------------------------------------------------------------------

_ONE_ROW = """\
m = tl.program_id(0)
@program@
"""

_SEVERAL_ROWS = """\
m = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
@program@
"""

_PERSISTENT_ROW = """\
for m in tl.range(tl.program_id(0), M, tl.num_programs(0)@ahead@):
    @program@
"""

_PERSISTENT_ROWS = """\
for group in tl.range(tl.program_id(0), tl.cdiv(M, ROWS), tl.num_programs(0)@ahead@):
    m = group * ROWS + tl.arange(0, ROWS)[:, None]
    @program@
"""

_SPLIT = """\
m = tl.program_id(0)
s = tl.program_id(1)
# Chunks start at multiples of 128, so that loads stay vectors.
length = tl.cdiv(tl.cdiv(N, SPLITS), 128) * 128
first = s * length
last = tl.minimum(first + length, N)
@program@
"""


def deal_rows(layout: RowLayout, program: str) -> str:
    """What a program does: `program` for each of the rows, groups or chunks it owns."""
    if layout.ownership == "split_row":
        return fill(_SPLIT, program=program)
    if layout.persistent:
        # A resident row is one load per iteration: with stages the next rows are fetched meanwhile.
        ahead = ", num_stages=ROW_STAGES" if layout.resident else ""
        return fill(_PERSISTENT_ROWS if layout.rows else _PERSISTENT_ROW, ahead=ahead, program=program)
    return fill(_SEVERAL_ROWS if layout.rows else _ONE_ROW, program=program)
