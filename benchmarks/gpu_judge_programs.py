"""Texts and sizes of what the benchmark judges: RMSNorm of 4096 bf16 columns in eleven Triton programs.

Imports nothing heavy, since the processes whose start is timed read it.
"""

from __future__ import annotations

import itertools

COLUMNS = 4096
ROWS = (1024, 64, 8192)
"""Of the timed cases; the fast tier times the first."""
LARGE_ROWS, SMALL_ROWS = 16384, 64
"""About 70 and 2 us on an H200."""
SMOKE_ROWS = (8, 4, 16)

REFERENCE = """\
import torch


def run(x, weight):
    values = x if x.dtype == torch.float64 else x.float()
    scale = torch.rsqrt(values.pow(2).mean(dim=-1, keepdim=True) + 1e-6)
    return (values * scale * weight.to(values.dtype)).to(x.dtype)
"""

_HEAD = """\
KNOBS = @knobs@
import triton
import triton.language as tl

"""

_RESIDENT = """
@triton.jit
def rmsnorm_rows(x, weight, y, N, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    n = tl.arange(0, BLOCK)
    mask = n < N
    values = tl.load(x + row * N + n, mask=mask, other=0.0).to(tl.float32)
    scale = 1.0 / tl.sqrt(tl.sum(values * values, axis=0) / N + 1e-6)
    weights = tl.load(weight + n, mask=mask, other=0.0).to(tl.float32)
    tl.store(y + row * N + n, (values * scale * weights).to(y.dtype.element_ty), mask=mask)


def run(x, weight, y):
    M, N = x.shape
    rmsnorm_rows[(M,)](x, weight, y, N, BLOCK=triton.next_power_of_2(N), num_warps=KNOBS["NUM_WARPS"])
"""

_TWO_PASS = """
@triton.jit
def rmsnorm_chunks(x, weight, y, N, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    totals = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, N, BLOCK):
        n = start + tl.arange(0, BLOCK)
        values = tl.load(x + row * N + n, mask=n < N, other=0.0).to(tl.float32)
        totals += values * values
    scale = 1.0 / tl.sqrt(tl.sum(totals, axis=0) / N + 1e-6)
    for start in range(0, N, BLOCK):
        n = start + tl.arange(0, BLOCK)
        values = tl.load(x + row * N + n, mask=n < N, other=0.0).to(tl.float32)
        weights = tl.load(weight + n, mask=n < N, other=0.0).to(tl.float32)
        tl.store(y + row * N + n, (values * scale * weights).to(y.dtype.element_ty), mask=n < N)


def run(x, weight, y):
    M, N = x.shape
    rmsnorm_chunks[(M,)](x, weight, y, N, BLOCK=KNOBS["BLOCK"], num_warps=KNOBS["NUM_WARPS"])
"""

_PERSISTENT = """
@triton.jit
def rmsnorm_strides(x, weight, y, M, N, BLOCK: tl.constexpr):
    n = tl.arange(0, BLOCK)
    mask = n < N
    weights = tl.load(weight + n, mask=mask, other=0.0).to(tl.float32)
    for number in range(tl.program_id(0), M, tl.num_programs(0)):
        row = tl.cast(number, tl.int64)
        values = tl.load(x + row * N + n, mask=mask, other=0.0).to(tl.float32)
        scale = 1.0 / tl.sqrt(tl.sum(values * values, axis=0) / N + 1e-6)
        tl.store(y + row * N + n, (values * scale * weights).to(y.dtype.element_ty), mask=mask)


def run(x, weight, y):
    M, N = x.shape
    grid = (min(M, KNOBS["PROGRAMS"]),)
    rmsnorm_strides[grid](x, weight, y, M, N, BLOCK=triton.next_power_of_2(N), num_warps=KNOBS["NUM_WARPS"])
"""

_TILED = """
@triton.jit
def rmsnorm_tiles(x, weight, y, M, N, TILE: tl.constexpr, BLOCK: tl.constexpr):
    m = (tl.program_id(0) * TILE + tl.arange(0, TILE)).to(tl.int64)[:, None]
    n = tl.arange(0, BLOCK)[None, :]
    mask = (m < M) & (n < N)
    values = tl.load(x + m * N + n, mask=mask, other=0.0).to(tl.float32)
    scale = 1.0 / tl.sqrt(tl.sum(values * values, axis=1) / N + 1e-6)
    weights = tl.load(weight + n, mask=n < N, other=0.0).to(tl.float32)
    tl.store(y + m * N + n, (values * scale[:, None] * weights).to(y.dtype.element_ty), mask=mask)


def run(x, weight, y):
    M, N = x.shape
    TILE, BLOCK = KNOBS["TILE"], triton.next_power_of_2(N)
    grid = (triton.cdiv(M, TILE),)
    rmsnorm_tiles[grid](x, weight, y, M, N, TILE=TILE, BLOCK=BLOCK, num_warps=KNOBS["NUM_WARPS"])
"""

_SMOKE = """
import torch


def run(x, weight, y):
    values = x.float()
    y.copy_(values * torch.rsqrt(values.pow(2).mean(dim=-1, keepdim=True) + 1e-6) * weight.float())
"""

_PROGRAMS: list[tuple[str, dict[str, int]]] = [
    (_RESIDENT, {"NUM_WARPS": 2}),
    (_RESIDENT, {"NUM_WARPS": 4}),
    (_RESIDENT, {"NUM_WARPS": 8}),
    (_RESIDENT, {"NUM_WARPS": 16}),
    (_TWO_PASS, {"BLOCK": 1024, "NUM_WARPS": 4}),
    (_TWO_PASS, {"BLOCK": 2048, "NUM_WARPS": 8}),
    (_TWO_PASS, {"BLOCK": 4096, "NUM_WARPS": 16}),
    (_PERSISTENT, {"PROGRAMS": 264, "NUM_WARPS": 8}),
    (_PERSISTENT, {"PROGRAMS": 528, "NUM_WARPS": 4}),
    (_TILED, {"TILE": 2, "NUM_WARPS": 8}),
    (_TILED, {"TILE": 4, "NUM_WARPS": 16}),
]

# A plan cannot hold what is computed beside the launches, even where it is nothing: the judge's slope times it then.
_BESIDE = "    torch.ones(1) + 1\n    M, N = x.shape\n"


def triton_programs() -> list[str]:
    """Eleven Triton sources, each its own kernel; the first warms a runner up and is not counted."""
    return [_source(body, knobs) for body, knobs in _PROGRAMS]


def smoke_programs() -> list[str]:
    """The same number of programs without a kernel."""
    return [f"# {number}\n{_SMOKE}" for number in range(len(_PROGRAMS))]


def knob_settings() -> list[dict[str, int]]:
    """Twenty knob settings for `tuned_program`."""
    blocks, warps = (256, 512, 1024, 2048, 4096), (2, 4, 8, 16)
    return [{"BLOCK": block, "NUM_WARPS": warp} for block, warp in itertools.product(blocks, warps)]


def tuned_program() -> str:
    """The source whose knobs are tuned."""
    return _source(_TWO_PASS, {"BLOCK": 1024, "NUM_WARPS": 4})


def plain_program() -> str:
    """The program whose time is taken in several ways."""
    return _source(_RESIDENT, {"NUM_WARPS": 8})


def hosted_program() -> str:
    """The same kernel behind host code that no launch plan holds."""
    return "import torch\n" + plain_program().replace("    M, N = x.shape\n", _BESIDE)


def _source(body: str, knobs: dict[str, int]) -> str:
    return _HEAD.replace("@knobs@", repr(knobs)) + body
