"""Contracts of structures that the playbook does not write: an honest source passes, one of another structure does not."""

from __future__ import annotations

import pytest
from library_workloads import WORKLOADS

from search.contract import check
from search.library import compose, shipped_library
from search.records import Candidate, Language, SourceFile, Verdict

HEAD = """\
import torch
import triton
import triton.language as tl

KNOBS = {"BLOCK": 1024, "BLOCK_N": 1024, "SPLITS": 8, "NARROW": 4096, "NUM_WARPS": 4, "PROGRAMS": 132}

"""

STATISTICS = """\
@triton.jit
def softmax_statistics(x_ptr, max_ptr, sum_ptr, N, BLOCK_N: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK_N)
    m = -float("inf")
    s = 0.0
    for start in range(0, N, BLOCK_N):
        x = tl.load(x_ptr + row * N + start + cols, mask=start + cols < N, other=-float("inf")).to(tl.float32)
        new = tl.maximum(m, tl.max(x, axis=0))
        s = s * tl.exp(m - new) + tl.sum(tl.exp(x - new), axis=0)
        m = new
    tl.store(max_ptr + row, m)
    tl.store(sum_ptr + row, s)


@triton.jit
def softmax_apply(x_ptr, y_ptr, max_ptr, sum_ptr, N, BLOCK_N: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK_N)
    m = tl.load(max_ptr + row)
    s = tl.load(sum_ptr + row)
    for start in range(0, N, BLOCK_N):
        x = tl.load(x_ptr + row * N + start + cols, mask=start + cols < N, other=0.0).to(tl.float32)
        tl.store(y_ptr + row * N + start + cols, tl.exp(x - m) / s, mask=start + cols < N)


def run(x, y):
    M, N = x.shape
    row_max = torch.empty((M,), dtype=torch.float32, device=x.device)
    row_sum = torch.empty((M,), dtype=torch.float32, device=x.device)
    softmax_statistics[(M,)](x, row_max, row_sum, N, BLOCK_N=KNOBS["BLOCK_N"])
    softmax_apply[(M,)](x, y, row_max, row_sum, N, BLOCK_N=KNOBS["BLOCK_N"])
"""

LIBRARY_PRODUCT = """\
@triton.jit
def bias_gelu(p_ptr, bias_ptr, c_ptr, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    inside = (rows[:, None] < M) & (cols[None, :] < N)
    at = rows[:, None] * N + cols[None, :]
    v = tl.load(p_ptr + at, mask=inside, other=0.0) + tl.load(bias_ptr + cols, mask=cols < N, other=0.0)[None, :]
    u = 0.7978845608028654 * (v + 0.044715 * v * v * v)
    tl.store(c_ptr + at, 0.5 * v * (2.0 - 2.0 / (tl.exp(2.0 * u) + 1.0)), mask=inside)


def run(a, b, bias, c):
    M, K = a.shape
    N = b.shape[0]
    product = torch.empty((M, N), dtype=torch.float32, device=a.device)
    torch.mm(a, b.T, out=product)
    bias_gelu[(triton.cdiv(M, 32), triton.cdiv(N, 64))](product, bias, c, M, N, BLOCK_M=32, BLOCK_N=64)
"""

SCAN = """\
@triton.jit
def scan_rows(x_ptr, y_ptr, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    carry = 0.0
    for start in range(0, N, BLOCK):
        x = tl.load(x_ptr + row * N + start + cols, mask=start + cols < N, other=0.0).to(tl.float32)
        tl.store(y_ptr + row * N + start + cols, tl.cumsum(x, axis=0) + carry, mask=start + cols < N)
        carry += tl.sum(x, axis=0)


def run(x, y):
    M, N = x.shape
    scan_rows[(M,)](x, y, N, BLOCK=KNOBS["BLOCK"])
"""

JOINT = """\
@triton.jit
def pointwise_elements(x_ptr, y_ptr, z_ptr, total, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < total, other=0.0)
    tl.store(y_ptr + at, x + 1.0, mask=at < total)
    tl.store(z_ptr + at, x * 2.0, mask=at < total)


def run(x, y, z):
    M, N = x.shape
    pointwise_elements[(triton.cdiv(M * N, KNOBS["BLOCK"]),)](x, y, z, M * N, BLOCK=KNOBS["BLOCK"])
"""

TOTAL = """\
@triton.jit
def total_partials(x_ptr, p_ptr, total, BLOCK: tl.constexpr, SPLITS: tl.constexpr):
    part = tl.program_id(0)
    s = 0.0
    for start in range(part * BLOCK, total, SPLITS * BLOCK):
        at = start + tl.arange(0, BLOCK)
        s += tl.sum(tl.load(x_ptr + at, mask=at < total, other=0.0).to(tl.float32), axis=0)
    tl.store(p_ptr + part, s)


@triton.jit
def total_combine(p_ptr, y_ptr, SPLITS: tl.constexpr, WIDTH: tl.constexpr):
    at = tl.arange(0, WIDTH)
    tl.store(y_ptr, tl.sum(tl.load(p_ptr + at, mask=at < SPLITS, other=0.0), axis=0))


def run(x, y):
    M, N = x.shape
    SPLITS = KNOBS["SPLITS"]
    partials = torch.empty((SPLITS,), dtype=torch.float32, device=x.device)
    total_partials[(SPLITS,)](x, partials, M * N, BLOCK=KNOBS["BLOCK"], SPLITS=SPLITS)
    total_combine[(1,)](partials, y, SPLITS=SPLITS, WIDTH=triton.next_power_of_2(SPLITS))
"""

ATTENTION = """\
@triton.jit
def attention(q_ptr, k_ptr, v_ptr, n_ptr, o_ptr, H, L, S, D: tl.constexpr, BLOCK_Q: tl.constexpr, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_Q + tl.arange(0, BLOCK_Q)
    head = tl.program_id(1)
    batch = tl.program_id(2)
    base = batch * H + head
    dims = tl.arange(0, D)
    q_at = (base * L + rows[:, None]) * D + dims[None, :]
    q = tl.load(q_ptr + q_at, mask=rows[:, None] < L, other=0.0)
    m = tl.full((BLOCK_Q,), -1e30, dtype=tl.float32)
    s = tl.zeros((BLOCK_Q,), dtype=tl.float32)
    acc = tl.zeros((BLOCK_Q, D), dtype=tl.float32)
    for start in range(0, S, BLOCK):
        keys = start + tl.arange(0, BLOCK)
        at = (base * S + keys[:, None]) * D + dims[None, :]
        k = tl.load(k_ptr + at, mask=keys[:, None] < S, other=0.0)
        v = tl.load(v_ptr + at, mask=keys[:, None] < S, other=0.0)
        scores = tl.dot(q, tl.trans(k)) * 0.088
        scores = tl.where(keys[None, :] <= rows[:, None], scores, -1e30)
        new = tl.maximum(m, tl.max(scores, axis=1))
        p = tl.exp(scores - new[:, None])
        scale = tl.exp(m - new)
        s = s * scale + tl.sum(p, axis=1)
        acc = acc * scale[:, None] + tl.dot(p.to(v.dtype), v)
        m = new
    tl.store(o_ptr + q_at, acc / s[:, None], mask=rows[:, None] < L)


def run(q, k, v, lengths, o):
    B, H, L, D = q.shape
    S = k.shape[2]
    attention[(triton.cdiv(L, 64), H, B)](q, k, v, lengths, o, H, L, S, D=D, BLOCK_Q=64, BLOCK=KNOBS["BLOCK"])
"""

CONVOLUTION = """\
@triton.jit
def convolution(x_ptr, f_ptr, y_ptr, C, K, H, W, P, Q, R: tl.constexpr, BLOCK: tl.constexpr):
    cols = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    plane = tl.program_id(1)
    image = plane // K
    channel = plane % K
    row = cols // Q
    col = cols % Q
    acc = tl.zeros((BLOCK,), dtype=tl.float32)
    for c in range(C):
        for r in tl.static_range(R):
            for s in tl.static_range(R):
                x = tl.load(x_ptr + ((image * C + c) * H + row + r) * W + col + s, mask=cols < P * Q, other=0.0)
                f = tl.load(f_ptr + ((channel * C + c) * R + r) * R + s)
                acc += x.to(tl.float32) * f.to(tl.float32)
    tl.store(y_ptr + plane * P * Q + cols, acc, mask=cols < P * Q)


def run(x, f, y):
    N, C, H, W = x.shape
    K, P, Q = y.shape[1], y.shape[2], y.shape[3]
    R = f.shape[2]
    convolution[(triton.cdiv(P * Q, KNOBS["BLOCK"]), N * K)](x, f, y, C, K, H, W, P, Q, R=R, BLOCK=KNOBS["BLOCK"])
"""

GATHER = """\
@triton.jit
def gather_groups(t_ptr, i_ptr, y_ptr, M, D, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    picked = tl.load(i_ptr + rows, mask=rows < M, other=0)
    for start in range(0, D, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        inside = (rows[:, None] < M) & (cols[None, :] < D)
        values = tl.load(t_ptr + picked[:, None] * D + cols[None, :], mask=inside, other=0.0)
        tl.store(y_ptr + rows[:, None] * D + cols[None, :], values, mask=inside)


def run(table, rows, y):
    M, D = y.shape
    gather_groups[(triton.cdiv(M, 4),)](table, rows, y, M, D, ROWS=4, BLOCK=KNOBS["BLOCK"])
"""

ARGMAX = """\
@triton.jit
def select_running(x_ptr, y_ptr, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    best = -float("inf")
    place = 0
    for start in range(0, N, BLOCK):
        x = tl.load(x_ptr + row * N + start + cols, mask=start + cols < N, other=-float("inf")).to(tl.float32)
        top = tl.max(x, axis=0)
        at = start + tl.argmax(x, axis=0)
        place = tl.where(top > best, at, place)
        best = tl.maximum(best, top)
    tl.store(y_ptr + row, place)


def run(x, place):
    M, N = x.shape
    select_running[(M,)](x, place, N, BLOCK=KNOBS["BLOCK"])
"""

ATOMIC_TOTAL = """\
@triton.jit
def clear_output(y_ptr, total, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.zeros((BLOCK,), dtype=tl.float32), mask=at < total)


@triton.jit
def total_atomic(x_ptr, y_ptr, total, BLOCK: tl.constexpr, SPLITS: tl.constexpr):
    part = tl.program_id(0)
    s = 0.0
    for start in range(part * BLOCK, total, SPLITS * BLOCK):
        at = start + tl.arange(0, BLOCK)
        s += tl.sum(tl.load(x_ptr + at, mask=at < total, other=0.0).to(tl.float32), axis=0)
    tl.atomic_add(y_ptr, s)


def run(x, y):
    M, N = x.shape
    clear_output[(1,)](y, 1, BLOCK=16)
    total_atomic[(KNOBS["SPLITS"],)](x, y, M * N, BLOCK=KNOBS["BLOCK"], SPLITS=KNOBS["SPLITS"])
"""

COUNT = """\
@triton.jit
def clear_output(y_ptr, total, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.zeros((BLOCK,), dtype=tl.float32), mask=at < total)


@triton.jit
def count(x_ptr, c_ptr, N, B, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < N, other=0.0).to(tl.float32)
    bins = (x * B).to(tl.int32)
    tl.atomic_add(c_ptr + bins, 1, mask=at < N)


def run(x, counts):
    N = x.shape[0]
    B = counts.shape[0]
    clear_output[(triton.cdiv(B, KNOBS["BLOCK"]),)](counts, B, BLOCK=KNOBS["BLOCK"])
    count[(triton.cdiv(N, KNOBS["BLOCK"]),)](x, counts, N, B, BLOCK=KNOBS["BLOCK"])
"""

SIBLINGS = """\
@triton.jit
def products(x_ptr, a_ptr, b_ptr, q_ptr, k_ptr, M, N, P, K, BLOCK_M: tl.constexpr, BLOCK: tl.constexpr, STEP: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    q = tl.zeros((BLOCK_M, BLOCK), dtype=tl.float32)
    k = tl.zeros((BLOCK_M, BLOCK), dtype=tl.float32)
    for start in range(0, K, STEP):
        inner = start + tl.arange(0, STEP)
        x = tl.load(x_ptr + rows[:, None] * K + inner[None, :], mask=(rows[:, None] < M) & (inner[None, :] < K), other=0.0)
        a = tl.load(a_ptr + inner[:, None] * N + cols[None, :], mask=(inner[:, None] < K) & (cols[None, :] < N), other=0.0)
        b = tl.load(b_ptr + inner[:, None] * P + cols[None, :], mask=(inner[:, None] < K) & (cols[None, :] < P), other=0.0)
        q = tl.dot(x, a, q)
        k = tl.dot(x, b, k)
    tl.store(q_ptr + rows[:, None] * N + cols[None, :], q, mask=(rows[:, None] < M) & (cols[None, :] < N))
    tl.store(k_ptr + rows[:, None] * P + cols[None, :], k, mask=(rows[:, None] < M) & (cols[None, :] < P))


def run(x, wq, wk, q, k):
    M, K = x.shape
    N = wq.shape[1]
    P = wk.shape[1]
    grid = (triton.cdiv(M, 32), triton.cdiv(max(N, P), 64))
    products[grid](x, wq, wk, q, k, M, N, P, K, BLOCK_M=32, BLOCK=64, STEP=32)
"""

TWO_LEVEL = """\
@triton.jit
def scan_totals(x_ptr, t_ptr, N, SPLITS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    part = tl.program_id(1)
    length = tl.cdiv(N, SPLITS)
    s = 0.0
    for start in range(part * length, min(N, (part + 1) * length), BLOCK):
        at = start + tl.arange(0, BLOCK)
        s += tl.sum(tl.load(x_ptr + row * N + at, mask=at < min(N, (part + 1) * length), other=0.0), axis=0)
    tl.store(t_ptr + row * SPLITS + part, s)


@triton.jit
def scan_chunks(x_ptr, t_ptr, y_ptr, N, SPLITS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    part = tl.program_id(1)
    length = tl.cdiv(N, SPLITS)
    parts = tl.arange(0, SPLITS)
    carry = tl.sum(tl.load(t_ptr + row * SPLITS + parts, mask=parts < part, other=0.0), axis=0)
    for start in range(part * length, min(N, (part + 1) * length), BLOCK):
        at = start + tl.arange(0, BLOCK)
        inside = at < min(N, (part + 1) * length)
        x = tl.load(x_ptr + row * N + at, mask=inside, other=0.0).to(tl.float32)
        tl.store(y_ptr + row * N + at, tl.cumsum(x, axis=0) + carry, mask=inside)
        carry += tl.sum(x, axis=0)


def run(x, y):
    M, N = x.shape
    SPLITS = KNOBS["SPLITS"]
    totals = torch.empty((M, SPLITS), dtype=torch.float32, device=x.device)
    scan_totals[(M, SPLITS)](x, totals, N, SPLITS=SPLITS, BLOCK=KNOBS["BLOCK"])
    scan_chunks[(M, SPLITS)](x, totals, y, N, SPLITS=SPLITS, BLOCK=KNOBS["BLOCK"])
"""

SPLIT_ARGMAX = """\
@triton.jit
def select_partials(x_ptr, v_ptr, i_ptr, N, SPLITS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    part = tl.program_id(1)
    length = tl.cdiv(N, SPLITS)
    best = -float("inf")
    place = 0
    for start in range(part * length, min(N, (part + 1) * length), BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * N + at, mask=at < min(N, (part + 1) * length), other=-float("inf")).to(tl.float32)
        top = tl.max(x, axis=0)
        place = tl.where(top > best, start + tl.argmax(x, axis=0), place)
        best = tl.maximum(best, top)
    tl.store(v_ptr + row * SPLITS + part, best)
    tl.store(i_ptr + row * SPLITS + part, place)


@triton.jit
def select_combine(v_ptr, i_ptr, y_ptr, SPLITS: tl.constexpr):
    row = tl.program_id(0)
    parts = tl.arange(0, SPLITS)
    v = tl.load(v_ptr + row * SPLITS + parts)
    tl.store(y_ptr + row, tl.load(i_ptr + row * SPLITS + tl.argmax(v, axis=0)))


def run(x, place):
    M, N = x.shape
    SPLITS = KNOBS["SPLITS"]
    partial_values = torch.empty((M, SPLITS), dtype=torch.float32, device=x.device)
    partial_indices = torch.empty((M, SPLITS), dtype=torch.int32, device=x.device)
    select_partials[(M, SPLITS)](x, partial_values, partial_indices, N, SPLITS=SPLITS, BLOCK=KNOBS["BLOCK"])
    select_combine[(M,)](partial_values, partial_indices, place, SPLITS=SPLITS)
"""

GEMM = """\
@triton.jit
def gemm{suffix}(a_ptr, b_ptr, c_ptr, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range({range}):
        k = start + tl.arange(0, BLOCK_K)
        a = tl.load(a_ptr + rows[:, None] * K + k[None, :], mask=(rows[:, None] < M) & (k[None, :] < K), other=0.0)
        b = tl.load(b_ptr + cols[None, :] * K + k[:, None], mask=(cols[None, :] < N) & (k[:, None] < K), other=0.0)
        acc = tl.dot(a, b, acc)
    inside = (rows[:, None] < M) & (cols[None, :] < N)
    tl.store(c_ptr + rows[:, None] * N + cols[None, :], acc, mask=inside)


def run(a, b, c):
    M, K = a.shape
    N = b.shape[0]
    gemm{suffix}[(triton.cdiv(M, 32), triton.cdiv(N, 64))](a, b, c, M, N, K, BLOCK_M=32, BLOCK_N=64, BLOCK_K=32)
"""

ATOMIC_GEMM = """\
@triton.jit
def clear_output(c_ptr, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    inside = (rows[:, None] < M) & (cols[None, :] < N)
    zeros = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    tl.store(c_ptr + rows[:, None] * N + cols[None, :], zeros, mask=inside)


@triton.jit
def gemm_atomic(
    a_ptr, b_ptr, c_ptr, M, N, K, SPLITS: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr
):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    part = tl.program_id(2)
    length = tl.cdiv(K, SPLITS)
    end = min(K, (part + 1) * length)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(part * length, end, BLOCK_K):
        k = start + tl.arange(0, BLOCK_K)
        a = tl.load(a_ptr + rows[:, None] * K + k[None, :], mask=(rows[:, None] < M) & (k[None, :] < end), other=0.0)
        b = tl.load(b_ptr + cols[None, :] * K + k[:, None], mask=(cols[None, :] < N) & (k[:, None] < end), other=0.0)
        acc = tl.dot(a, b, acc)
    inside = (rows[:, None] < M) & (cols[None, :] < N)
    tl.atomic_add(c_ptr + rows[:, None] * N + cols[None, :], acc, mask=inside)


def run(a, b, c):
    M, K = a.shape
    N = b.shape[0]
    S = KNOBS["SPLITS"]
    clear_output[(triton.cdiv(M, 32), triton.cdiv(N, 64))](c, M, N, BLOCK_M=32, BLOCK_N=64)
    grid = (triton.cdiv(M, 32), triton.cdiv(N, 64), S)
    gemm_atomic[grid](a, b, c, M, N, K, SPLITS=S, BLOCK_M=32, BLOCK_N=64, BLOCK_K=32)
"""

FP8 = """\
@triton.jit
def gemm_scaled(
    a_ptr, b_ptr, sa_ptr, sb_ptr, c_ptr, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr
):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        k = start + tl.arange(0, BLOCK_K)
        a = tl.load(a_ptr + rows[:, None] * K + k[None, :], mask=(rows[:, None] < M) & (k[None, :] < K), other=0.0)
        b = tl.load(b_ptr + cols[None, :] * K + k[:, None], mask=(cols[None, :] < N) & (k[:, None] < K), other=0.0)
        acc = tl.dot(a, b, acc)
    inside = (rows[:, None] < M) & (cols[None, :] < N)
    scale = tl.load(sa_ptr + rows, mask=rows < M)[:, None] * tl.load(sb_ptr + cols, mask=cols < N)[None, :]
    tl.store(c_ptr + rows[:, None] * N + cols[None, :], acc * scale, mask=inside)


def run(a, b, scale_a, scale_b, c):
    M, K = a.shape
    N = b.shape[0]
    grid = (triton.cdiv(M, 32), triton.cdiv(N, 64))
    gemm_scaled[grid](a, b, scale_a, scale_b, c, M, N, K, BLOCK_M=32, BLOCK_N=64, BLOCK_K=32)
"""

HONEST = {
    "two_level_scan": ("scan", ("two_level_scan",), TWO_LEVEL),
    "split_selection": ("argmax", ("split_selection",), SPLIT_ARGMAX),
    "plain_product": ("trmm", (), GEMM.replace("{suffix}", "").replace("{range}", "0, K, BLOCK_K")),
    "triangular_domain": (
        "trmm",
        ("triangular_domain",),
        GEMM.replace("{suffix}", "_triangle").replace(
            "{range}", "0, min(K, (tl.program_id(0) + 1) * BLOCK_M), BLOCK_K"
        ),
    ),
    "atomic_split_k": ("trmm", ("split_k", "atomic_split_k"), ATOMIC_GEMM),
    "scales_and_cast_fused": ("gemm_fp8", ("scale_in_epilogue", "quantise_on_store"), FP8),
    "fused_attention": ("attention", ("fused_attention",), ATTENTION),
    "direct_convolution": ("convolution", (), CONVOLUTION),
    "picked_groups": ("gather", ("picked_groups",), GATHER),
    "running_selection": ("argmax", ("running_selection",), ARGMAX),
    "atomic_total": ("total", ("atomic_total",), ATOMIC_TOTAL),
    "counting": ("histogram", (), COUNT),
    "sibling_fusion": ("siblings", ("sibling_fusion",), SIBLINGS),
    "statistics_kernel": ("softmax", ("online_softmax", "statistics_kernel"), STATISTICS),
    "library_product": ("gemm_gelu", ("library_product",), LIBRARY_PRODUCT),
    "sequential_scan": ("scan", (), SCAN),
    "joint_outputs": ("pointwise", ("flat_elements", "joint_outputs"), JOINT),
    "two_kernel_total": ("total", ("two_kernel_total",), TOTAL),
}


OTHER = {
    "trmm": ("split_k",),
    "scan": ("two_level_scan",),
    "convolution": ("winograd_tiles",),
    "histogram": ("bin_copies",),
}


def verdicts(slug: str, actions: tuple[str, ...], source: str):
    blueprint = compose(WORKLOADS[slug], shipped_library(), actions, Language.TRITON)
    file = SourceFile(path="kernel.py", content=HEAD + source)
    return check(blueprint.contract, Candidate(language=Language.TRITON, sources=(file,)))


@pytest.mark.parametrize("name", HONEST)
def test_an_honest_source_keeps_its_contract(name):
    found = verdicts(*HONEST[name])
    assert [(one.clause.text, one.evidence) for one in found if one.verdict is not Verdict.PASS] == []


@pytest.mark.parametrize("name", HONEST)
def test_an_honest_source_breaks_the_contract_of_another_structure(name):
    slug, actions, source = HONEST[name]
    other = () if actions else OTHER[slug]
    assert Verdict.VIOLATED in {one.verdict for one in verdicts(slug, other, source)}
