"""GEMM in Triton: C = A B, or gelu(A B + bias); A is M x K, B is K x N, all row-major.

A program owns one or more output tiles at (m0, n0) and walks K in steps of BLOCK_K; the pieces say where tiles
come from (`_deal_tiles`, `_deal_parts`), how operands are addressed and what is done with a finished sum (`Finish`).
With swapped roles the texts are turned round (`_turned`). Stream-K is in `triton_stream_k.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from search.agents.playbook.family import axes_of
from search.agents.playbook.text import fill, rename
from search.agents.playbook.triton import EXPONENTIALS, Kernel, Program, knob, source_file
from search.agents.playbook.triton_stream_k import SHARED, STORE_PART, WHOLE, fix_up, stream

if TYPE_CHECKING:
    from collections.abc import Mapping

    from search.blueprint import Blueprint
    from search.workload import Workload

# tanh(u) = 2 sigmoid(2u) - 1, so the tanh form of GELU is x sigmoid(2u).
LIBM_GELU = """\
@triton.jit
def gelu(x):
    twice = 1.5957691216 * (x + 0.044715 * x * x * x)
    return x / (1.0 + tl.exp(-twice))
"""

POLYNOMIAL_GELU = """\
@triton.jit
def gelu(x, DEGREE: tl.constexpr):
    # x / (1 + exp(-2u)) with the exponential of -|2u|, which neither overflows nor loses the sign.
    twice = 1.5957691216 * (x + 0.044715 * x * x * x)
    e = exponential(-tl.abs(twice), DEGREE)
    return x * tl.where(twice < 0.0, e, 1.0) / (1.0 + e)
"""

GELUS = {"libm": [LIBM_GELU], "polynomial": [EXPONENTIALS["polynomial"], POLYNOMIAL_GELU]}

_KNOBS = ("BLOCK_M", "BLOCK_N", "BLOCK_K", "SPLITS", "GROUP", "DEGREE", "PROGRAMS")
CONSTANTS = {name: knob(name) for name in _KNOBS} | {
    "STAGES": knob("NUM_STAGES"),
    "EVEN_K": f"K % {knob('BLOCK_K')} == 0",
}
OPTIONS = {"num_warps": knob("NUM_WARPS")}


def gemm(blueprint: Blueprint, workload: Workload) -> str:
    """The Triton module for a GEMM blueprint."""
    choices = blueprint.choices
    kernels = _packing(choices) + _products(choices)
    if choices.get("epilogue") == "separate":
        value = FINISHES["fused"].value(choices, "total")
        kernels.append(_elementwise("bias_gelu", ("product", "bias", "c"), _READ_PRODUCT, value))
    program = Program(
        functions=GELUS.get(choices.get("gelu", ""), []),
        kernels=kernels,
        inputs=("a", "b", "bias")[: len(workload.inputs)],
        outputs=("c",),
        sizes="M, K = a.shape\n_, N = b.shape",
        axes=axes_of(workload),
        like={"packed_a": "a", "packed_b": "b"},
        # Of the tiles of a share both the first and the last may be unfinished.
        copies={"partials": 2} if choices["ownership"] == "stream_k" else {},
    )
    return source_file(blueprint, workload, program)


@dataclass(frozen=True)
class Finish:
    """What is done with a finished sum before it is stored, and where it goes."""

    target: str
    reads: tuple[str, ...] = ()

    def value(self, choices: Mapping[str, str], total: str) -> str:
        """Expression of the stored value."""
        if not self.reads:
            return total
        degree = ", DEGREE" if choices["gelu"] == "polynomial" else ""
        return f"gelu({total} + tl.load(bias + n, mask=n < N, other=0.0).to(tl.float32)[None, :]{degree})"


FINISHES = {"none": Finish("c"), "separate": Finish("product"), "fused": Finish("c", ("bias",))}

# Packing: tiles one after the other, each row-major. -------------------------------------------------

_PACK_A = """\
m0 = tl.program_id(0) * BLOCK_M
k0 = tl.program_id(1) * BLOCK_K
m = m0 + tl.arange(0, BLOCK_M)
k = k0 + tl.arange(0, BLOCK_K)
mask = (m[:, None] < M) & (k[None, :] < K)
values = tl.load(a + m[:, None] * K + k[None, :], mask=mask, other=0.0)
@address@
tl.store(packed_a + at, values, mask=mask)
"""

_PACK_B = """\
n0 = tl.program_id(0) * BLOCK_N
k0 = tl.program_id(1) * BLOCK_K
n = n0 + tl.arange(0, BLOCK_N)
k = k0 + tl.arange(0, BLOCK_K)
mask = (k[:, None] < K) & (n[None, :] < N)
values = tl.load(b + k[:, None] * N + n[None, :], mask=mask, other=0.0)
@address@
tl.store(packed_b + at, values, mask=mask)
"""

_PACKED_A_AT = """\
at = m0 * K + k0 * tl.minimum(BLOCK_M, M - m0) + (m - m0)[:, None] * tl.minimum(BLOCK_K, K - k0) + (k - k0)[None, :]
"""

_PACKED_B_AT = """\
at = n0 * K + k[:, None] * tl.minimum(BLOCK_N, N - n0) + (n - n0)[None, :]
"""


def _packing(choices: Mapping[str, str]) -> list[Kernel]:
    turned = choices.get("roles") == "swapped"

    def grid(axis: str) -> str:
        block = f"BLOCK_{axis}"
        block = _TURNED[block] if turned else block
        return f"(triton.cdiv({axis}, {knob(block)}), triton.cdiv(K, {knob('BLOCK_K')}))"

    body_a, body_b = fill(_PACK_A, address=_PACKED_A_AT), fill(_PACK_B, address=_PACKED_B_AT)
    if turned:
        body_a, body_b = rename(body_a, _TURNED), rename(body_b, _TURNED)
    pack_a = Kernel("pack_a", ("a", "packed_a"), grid("M"), body_a, CONSTANTS, OPTIONS)
    pack_b = Kernel("pack_b", ("b", "packed_b"), grid("N"), body_b, CONSTANTS, OPTIONS)
    return {"stream": [], "packed_b": [pack_b], "packed_ab": [pack_a, pack_b]}[choices["staging"]]


# Products ------------------------------------------------------------------------------------------

_TILE = """\
m = m0 + tl.arange(0, BLOCK_M)
n = n0 + tl.arange(0, BLOCK_N)
total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
for k0 in tl.range(@first@, @last@, BLOCK_K, num_stages=STAGES):
    k = k0 + tl.arange(0, BLOCK_K)
    @a_at@
    a_block = tl.load(@a@ + at, mask=(m[:, None] < M) & ((k[None, :] < @last@) | EVEN_K), other=0.0)
    @b_at@
    b_block = tl.load(@b@ + at, mask=((k[:, None] < @last@) | EVEN_K) & (n[None, :] < N), other=0.0)
    total = tl.dot(a_block, b_block, total, input_precision="ieee")
@store@
"""

_A_AT = """\
at = m[:, None] * K + k[None, :]
"""

_B_AT = """\
at = k[:, None] * N + n[None, :]
"""

STORE = """\
result = @value@
tl.store(@target@ + m[:, None] * N + n[None, :], result.to(@target@.dtype.element_ty), mask=@mask@)
"""

IN_OUTPUT = "(m[:, None] < M) & (n[None, :] < N)"

_ONE_TILE = """\
m0 = tl.program_id(0) * BLOCK_M
n0 = tl.program_id(1) * BLOCK_N
@tile@
"""

_NUMBERED_TILE = """\
tile_rows = tl.cdiv(M, BLOCK_M)
tile_columns = tl.cdiv(N, BLOCK_N)
t = tl.program_id(0)
@place@
@tile@
"""

_PERSISTENT_TILES = """\
tile_rows = tl.cdiv(M, BLOCK_M)
tile_columns = tl.cdiv(N, BLOCK_N)
for t in tl.range(tl.program_id(0), tile_rows * tile_columns, tl.num_programs(0)):
    @place@
    @tile@
"""

_PLACES = {
    "row_major": """\
m0 = t // tile_columns * BLOCK_M
n0 = t % tile_columns * BLOCK_N
""",
    # Inside a group of GROUP tile rows (fewer in the last one) tiles are numbered column by column.
    "grouped": """\
group_first = t // (GROUP * tile_columns) * GROUP
group_rows = tl.minimum(GROUP, tile_rows - group_first)
in_group = t % (GROUP * tile_columns)
m0 = (group_first + in_group % group_rows) * BLOCK_M
n0 = in_group // group_rows * BLOCK_N
""",
}

_PARTS = {
    "grid": """\
s = tl.program_id(0)
m0 = tl.program_id(1) * BLOCK_M
n0 = tl.program_id(2) * BLOCK_N
@part@
""",
    # The part of K is the slowest index, so that programs that run together share operands.
    "grouped": """\
tile_rows = tl.cdiv(M, BLOCK_M)
tile_columns = tl.cdiv(N, BLOCK_N)
t = tl.program_id(0)
s = tl.program_id(1)
@place@
@part@
""",
    "persistent": """\
tile_rows = tl.cdiv(M, BLOCK_M)
tile_columns = tl.cdiv(N, BLOCK_N)
for unit in tl.range(tl.program_id(0), tile_rows * tile_columns * SPLITS, tl.num_programs(0)):
    s = unit % SPLITS
    t = unit // SPLITS
    @place@
    @part@
""",
}

_PART = """\
length = tl.cdiv(tl.cdiv(K, SPLITS), BLOCK_K) * BLOCK_K
k_first = s * length
k_last = tl.minimum(k_first + length, K)
@tile@
"""

_TILE_ROWS = f"triton.cdiv(M, {knob('BLOCK_M')})"
_TILE_COLUMNS = f"triton.cdiv(N, {knob('BLOCK_N')})"


def _products(choices: Mapping[str, str]) -> list[Kernel]:
    match choices["ownership"]:
        case "split_k":
            return _split(choices)
        case "stream_k":
            return _stream(choices)
    finish = _finish(choices)
    store = fill(STORE, target=finish.target, value=finish.value(choices, "total"), mask=IN_OUTPUT)
    body, grid = _deal_tiles(choices, tile_of(choices, "0", "K", store))
    tensors = (*_operands(choices), *finish.reads, finish.target)
    return [_product("gemm", choices, tensors, body, grid)]


def _split(choices: Mapping[str, str]) -> list[Kernel]:
    store = fill(STORE, target="partials", value="total", mask=IN_OUTPUT)
    store = store.replace("partials + m", "partials + s * M * N + m")
    body, grid = _deal_parts(choices, tile_of(choices, "k_first", "k_last", store))
    finish = _finish(choices)
    tensors = ("partials", *finish.reads, finish.target)
    return [
        _product("gemm_partials", choices, (*_operands(choices), "partials"), body, grid),
        _elementwise("gemm_combine", tensors, _SUM_PARTIALS, finish.value(choices, "total")),
    ]


def _stream(choices: Mapping[str, str]) -> list[Kernel]:
    finish = _finish(choices)
    store = fill(STORE, target=finish.target, value=finish.value(choices, "total"), mask=WHOLE)
    body = stream(tile_of(choices, "k_first", "k_last", store + STORE_PART))
    programs = f"({knob('PROGRAMS')},)"
    tensors = (*finish.reads, "partials", finish.target)
    store = fill(STORE, target=finish.target, value=finish.value(choices, "total"), mask=SHARED)
    return [
        Kernel("gemm_stream", (*_operands(choices), *tensors), programs, body, CONSTANTS, OPTIONS),
        Kernel("gemm_fixup", tensors, f"({_TILE_ROWS}, {_TILE_COLUMNS})", fix_up(store), CONSTANTS, OPTIONS),
    ]


def _finish(choices: Mapping[str, str]) -> Finish:
    return FINISHES[choices.get("epilogue", "none")]


def _product(name: str, choices: Mapping[str, str], tensors: tuple[str, ...], body: str, grid: str) -> Kernel:
    if choices.get("roles") == "swapped":
        name, body, grid = name.replace("gemm", "gemm_swapped"), _turned(body), rename(grid, _TURNED)
    return Kernel(name, tensors, grid, body, CONSTANTS, OPTIONS)


_TURNED = {"BLOCK_M": "BLOCK_N", "BLOCK_N": "BLOCK_M"}


def _turned(body: str) -> str:
    """The same product transposed: columns of the output are the row axis of a tile, of BLOCK_M."""
    rows, columns = "[:, None]", "[None, :]"
    body = body.replace(rows, "[@]").replace(columns, rows).replace("[@]", columns)
    body = rename(body, _TURNED).replace("(BLOCK_N, BLOCK_M)", "(BLOCK_M, BLOCK_N)")
    return body.replace("tl.dot(a_block, b_block", "tl.dot(b_block, a_block")


def _operands(choices: Mapping[str, str]) -> tuple[str, str]:
    staging = choices["staging"]
    return ("packed_a" if staging == "packed_ab" else "a", "b" if staging == "stream" else "packed_b")


def tile_of(choices: Mapping[str, str], first: str, last: str, store: str) -> str:
    """Text of a tile at (m0, n0): its product over a range of K, then what is to be done with `total`."""
    a, b = _operands(choices)
    return fill(
        _TILE,
        first=first,
        last=last,
        a=a,
        b=b,
        a_at=_A_AT if a == "a" else _PACKED_A_AT,
        b_at=_B_AT if b == "b" else _PACKED_B_AT,
        store=store,
    )


def _deal_parts(choices: Mapping[str, str], tile: str) -> tuple[str, str]:
    """What a program does of one or more parts of K, and the grid."""
    part = fill(_PART, tile=tile)
    place = _PLACES[choices["tile_order"]]
    if choices["scheduling"] == "persistent":
        return fill(_PARTS["persistent"], place=place, part=part), f"({knob('PROGRAMS')},)"
    if choices["tile_order"] == "grouped":
        grid = f"({_TILE_ROWS} * {_TILE_COLUMNS}, {knob('SPLITS')})"
        return fill(_PARTS["grouped"], place=place, part=part), grid
    return fill(_PARTS["grid"], part=part), f"({knob('SPLITS')}, {_TILE_ROWS}, {_TILE_COLUMNS})"


def _deal_tiles(choices: Mapping[str, str], tile: str) -> tuple[str, str]:
    """What a program does, and the grid."""
    place = _PLACES[choices["tile_order"]]
    if choices["scheduling"] == "persistent":
        return fill(_PERSISTENT_TILES, place=place, tile=tile), f"({knob('PROGRAMS')},)"
    if choices["tile_order"] == "grouped":
        return fill(_NUMBERED_TILE, place=place, tile=tile), f"({_TILE_ROWS} * {_TILE_COLUMNS},)"
    return fill(_ONE_TILE, tile=tile), f"({_TILE_ROWS}, {_TILE_COLUMNS})"


# Element by element --------------------------------------------------------------------------------

_ELEMENTWISE = """\
m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
mask = (m[:, None] < M) & (n[None, :] < N)
at = m[:, None] * N + n[None, :]
@read@
@store@
"""

_READ_PRODUCT = """\
total = tl.load(product + at, mask=mask, other=0.0)
"""

_SUM_PARTIALS = """\
total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
for s in range(SPLITS):
    total += tl.load(partials + s * M * N + at, mask=mask, other=0.0)
"""


def _elementwise(name: str, tensors: tuple[str, ...], read: str, value: str) -> Kernel:
    store = fill(STORE, target=tensors[-1], value=value, mask="mask")
    body = fill(_ELEMENTWISE, read=read, store=store)
    return Kernel(name, tensors, f"({_TILE_ROWS}, {_TILE_COLUMNS})", body, CONSTANTS, OPTIONS)
