"""Hand-written Triton sources that keep a contract, and their twins that break one clause of it."""

from __future__ import annotations

import pytest

from search.records import ClauseKind, Language, Verdict
from tests.search.contract.contract_factories import (
    TRITON_ONLINE,
    TRITON_RESIDENT,
    TRITON_THREE,
    blueprint,
    passes,
    refused,
    triton,
    verdicts,
)

POWER_OF_TWO = "    M, N = x.shape\n    softmax_rows[(M,)](x, y, M, N, BLOCK=triton.next_power_of_2(N))"
PERSISTENT = "    for i in range(tl.program_id(0), M, tl.num_programs(0)):\n" + "".join(
    f"    {line}\n" for line in TRITON_THREE.splitlines()[1:]
)
FIXED = '    M, N = x.shape\n    softmax_rows[(min(M, KNOBS["PROGRAMS"]),)](x, y, M, N, BLOCK=1024)'

KEPT = {
    "a kernel under another name": (
        (),
        triton(
            TRITON_THREE,
            "    M, N = x.shape\n    k = softmax_rows\n    k[(M,)](x, y, M, N, BLOCK=1024)",
        ),
    ),
    "three passes": ((), triton(TRITON_THREE)),
    "a grid as a function": (
        (),
        triton(
            TRITON_THREE,
            "    M = x.shape[0]\n    N = x.size(-1)\n    grid = lambda meta: (triton.cdiv(M, 1),)\n"
            '    softmax_rows[grid](x, y, M, N, BLOCK=KNOBS["BLOCK"])',
        ),
    ),
    "online": (("online_softmax",), triton(TRITON_ONLINE)),
    "one block": (("resident_row",), triton(TRITON_RESIDENT, POWER_OF_TWO)),
    "one block of a fixed width": (("resident_row",), triton(TRITON_RESIDENT)),
    "persistent": (("persistent_rows",), triton(PERSISTENT, FIXED)),
    "a helper": (
        (),
        triton(
            TRITON_THREE.replace("tl.exp(v - m)", "weight(v, m)"),
            more="@triton.jit\ndef weight(v, m):\n    return tl.exp2((v - m) * 1.44269504)\n",
        ),
    ),
}

BROKEN = {
    "one pass is missing": ((), triton(TRITON_ONLINE), ClauseKind.REDUCTION),
    "three passes for two": (("online_softmax",), triton(TRITON_THREE), ClauseKind.REDUCTION),
    "the block is loaded again": (
        ("resident_row",),
        triton(
            TRITON_RESIDENT.replace("    tl.store", "    v = tl.load(x_ptr + i * N + cols, mask=cols < N)\n    tl.store"),
            POWER_OF_TWO,
        ),
        ClauseKind.REDUCTION,
    ),
    "programs follow the rows": (("persistent_rows",), triton(PERSISTENT), ClauseKind.GRID),
    "one program walks all rows": (
        (),
        triton(PERSISTENT.replace("tl.program_id(0), M, tl.num_programs(0)", "0, M"), POWER_OF_TWO.replace("(M,)", "(1,)")),
        ClauseKind.GRID,
    ),
    "the grid is over columns": ((), triton(TRITON_THREE, "    M, N = x.shape\n    softmax_rows[(N,)](x, y, M, N, BLOCK=1024)"), ClauseKind.GRID),
    "the program number is not used": ((), triton(TRITON_THREE.replace("tl.program_id(0)", "0")), ClauseKind.GRID),
    "a jitted function that is never launched": (
        (),
        triton(TRITON_THREE, "    M, N = x.shape\n    other[(M,)](x, y, M, N, BLOCK=1024)", "@triton.jit\ndef other(x_ptr, y_ptr, M, N, BLOCK: tl.constexpr):\n" + TRITON_THREE),
        ClauseKind.KERNELS,
    ),
    "torch does the work": ((), triton(TRITON_THREE, "    y.copy_(torch.softmax(x, -1))"), ClauseKind.KERNELS),
    "a copy before the launch": (
        (),
        triton(TRITON_THREE, "    x = x.contiguous()\n    M, N = y.shape\n    softmax_rows[(M,)](x, y, M, N, BLOCK=1024)"),
        ClauseKind.KERNELS,
    ),
    "a workspace": (
        (),
        triton(TRITON_THREE, "    M, N = x.shape\n    spare = torch.empty_like(x)\n    softmax_rows[(M,)](x, y, M, N, BLOCK=1024)"),
        ClauseKind.INTERMEDIATES,
    ),
    "a half-precision accumulator": (
        (),
        triton(TRITON_THREE.replace("s = 0.0", "s = tl.zeros((1,), tl.float16)")),
        ClauseKind.NUMERICS,
    ),
    "a cast on the way": ((), triton(TRITON_THREE.replace("tl.exp(v - m) / s", "(tl.exp(v - m) / s).to(tl.bfloat16)")), ClauseKind.NUMERICS),
    "a library exponential": (("polynomial_exp",), triton(TRITON_THREE), ClauseKind.NUMERICS),
}  # fmt: skip

HIDDEN = {
    "does not parse": triton("    i = tl.program_id(0"),
    "an unknown function": triton(TRITON_THREE.replace("tl.exp(", "tl.mystery(")),
    "a launch in a loop": triton(TRITON_THREE, "    M, N = x.shape\n    for _ in range(2):\n        softmax_rows[(M,)](x, y, M, N, BLOCK=1024)"),
    "a kernel behind a choice": triton(TRITON_THREE, "    M, N = x.shape\n    k = softmax_rows if N > 9 else softmax_rows\n    k[(M,)](x, y, M, N, BLOCK=1024)"),
    "a function that is replaced": triton(TRITON_THREE) + "\nrun = softmax_rows\n",
    "exec": triton(TRITON_THREE, "    exec('pass')\n    M, N = x.shape\n    softmax_rows[(M,)](x, y, M, N, BLOCK=1024)"),
    "inline assembly": triton(TRITON_THREE.replace("tl.exp(v - m)", 'tl.inline_asm_elementwise("", "", [v], tl.float32, True, 1)')),
    "no entry point": "import triton\n",
}  # fmt: skip


@pytest.mark.parametrize("name", KEPT)
def test_an_honest_source_passes_every_clause(name):
    actions, source = KEPT[name]
    found = verdicts(blueprint("softmax", *actions, language=Language.TRITON), source, Language.TRITON)
    assert passes(found), [
        (v.clause.text, v.verdict, v.evidence) for v in found if v.verdict is not Verdict.PASS
    ]


@pytest.mark.parametrize("name", BROKEN)
def test_its_twin_breaks_the_named_clause(name):
    actions, source, kind = BROKEN[name]
    found = verdicts(blueprint("softmax", *actions, language=Language.TRITON), source, Language.TRITON)
    assert kind in refused(found), [(v.clause.text, v.verdict, v.evidence) for v in found]


@pytest.mark.parametrize("name", HIDDEN)
def test_what_is_not_understood_is_undecidable_with_a_line(name):
    found = verdicts(blueprint("softmax", language=Language.TRITON), HIDDEN[name], Language.TRITON)
    unclear = [v for v in found if v.verdict is Verdict.UNDECIDABLE]
    assert unclear
    assert all(v.line and v.evidence for v in unclear)


def test_comments_and_strings_do_nothing():
    noise = '    "tl.float16 tl.load(x_ptr)"\n    # softmax_rows[(N,)](x, y)\n'
    direct = blueprint("softmax", language=Language.TRITON)
    assert passes(verdicts(direct, triton(noise + TRITON_THREE), Language.TRITON))


GEMM = """\
import torch
import triton
import triton.language as tl

KNOBS = {"BM": 32}


@triton.jit
def gemm(a, b, bias, c, M, N, K, BM: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BM + tl.arange(0, BM)
    acc = tl.zeros((BM, BM), dtype=tl.float32)
    for k0 in range(0, K, BM):
        k = k0 + tl.arange(0, BM)
        left = tl.load(a + m[:, None] * K + k[None, :], mask=(m[:, None] < M) & (k[None, :] < K), other=0.0)
        right = tl.load(b + k[:, None] * N + n[None, :], mask=(k[:, None] < K) & (n[None, :] < N), other=0.0)
        acc += tl.dot(left, right, input_precision="ieee")
    u = acc + tl.load(bias + n, mask=n < N, other=0.0)[None, :]
    out = u * tl.sigmoid(1.5957691 * (u + 0.044715 * u * u * u))
    tl.store(c + m[:, None] * N + n[None, :], out, mask=(m[:, None] < M) & (n[None, :] < N))


def run(a, b, bias, c):
    M, K = a.shape
    N = b.shape[1]
    gemm[(triton.cdiv(M, 32), triton.cdiv(N, 32))](a, b, bias, c, M, N, K, BM=KNOBS["BM"])
"""


def test_a_fused_gemm_passes():
    fused = blueprint("gemm_bias_gelu", "fused_epilogue", language=Language.TRITON)
    assert passes(verdicts(fused, GEMM, Language.TRITON))


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        (', input_precision="ieee"', "", ClauseKind.NUMERICS),
        ("dtype=tl.float32", "dtype=tl.bfloat16", ClauseKind.NUMERICS),
        ("triton.cdiv(N, 32))]", "triton.cdiv(K, 32))]", ClauseKind.GRID),
        (
            "    gemm[",
            "    spare = torch.zeros((M, N), device=c.device)\n    gemm[",
            ClauseKind.INTERMEDIATES,
        ),
        ("range(0, K, BM)", "range(0, N, BM)", ClauseKind.REDUCTION),
    ],
)
def test_one_change_to_it_breaks_the_named_clause(old, new, kind):
    fused = blueprint("gemm_bias_gelu", "fused_epilogue", language=Language.TRITON)
    assert kind in refused(verdicts(fused, GEMM.replace(old, new), Language.TRITON))
