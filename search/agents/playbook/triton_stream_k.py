"""Stream-K in Triton: a fixed number of programs take equal shares of all K steps of all tiles.

Steps are numbered tile by tile. A tile inside one share is stored at once; of a tile that shares cut, each program
leaves its part in memory (slot 1 of a program for the tile it begins, slot 0 for one that it goes on with), and a
second kernel adds the parts in the order of the programs (Osama et al. 2023).
"""

from __future__ import annotations

from search.agents.playbook.text import fill

_SHARES = """\
tile_columns = tl.cdiv(N, BLOCK_N)
steps = tl.cdiv(K, BLOCK_K)
share = tl.cdiv(tl.cdiv(M, BLOCK_M) * tile_columns * steps, PROGRAMS)
"""

_STREAM = """\
@shares@
p = tl.program_id(0)
step_first = p * share
step_last = tl.minimum(step_first + share, tl.cdiv(M, BLOCK_M) * tile_columns * steps)
for t in tl.range(step_first // steps, tl.cdiv(step_last, steps)):
    k_first = tl.maximum(step_first - t * steps, 0) * BLOCK_K
    k_last = tl.minimum(tl.minimum(step_last - t * steps, steps) * BLOCK_K, K)
    m0 = t // tile_columns * BLOCK_M
    n0 = t % tile_columns * BLOCK_N
    whole_rows = tl.where((k_first == 0) & (k_last == K), M, 0)
    @tile@
"""

WHOLE = "(m[:, None] < whole_rows) & (n[None, :] < N)"
"""Mask of the store of a finished tile."""

_PART_AT = """\
at = slot * BLOCK_M * BLOCK_N + (m - m0)[:, None] * BLOCK_N + (n - n0)[None, :]
"""

STORE_PART = (
    """\
slot = p * 2 + (k_first == 0).to(tl.int32)
"""
    + _PART_AT
    + """\
tl.store(partials + at, total, mask=(m[:, None] < M - whole_rows) & (n[None, :] < N))
"""
)

SHARED = "(m[:, None] < shared_rows) & (n[None, :] < N)"
"""Mask of the store of a tile that several programs shared."""

_FIX_UP = """\
@shares@
m0 = tl.program_id(0) * BLOCK_M
n0 = tl.program_id(1) * BLOCK_N
m = m0 + tl.arange(0, BLOCK_M)
n = n0 + tl.arange(0, BLOCK_N)
start = (tl.program_id(0) * tile_columns + tl.program_id(1)) * steps
p_first = start // share
p_last = (start + steps - 1) // share
shared_rows = tl.where(p_first < p_last, M, 0)
total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
for p in tl.range(p_first, p_last + 1):
    slot = p * 2 + (p * share <= start).to(tl.int32)
    @at@
    total += tl.load(partials + at, mask=(m[:, None] < shared_rows) & (n[None, :] < N), other=0.0)
@store@
"""


def stream(tile: str) -> str:
    """What a program does with its share: `tile` for each tile that it touches, from k_first to k_last."""
    return fill(_STREAM, shares=_SHARES, tile=tile)


def fix_up(store: str) -> str:
    """What a program does for its tile: adds the parts and stores the sum, where programs shared the tile."""
    return fill(_FIX_UP, shares=_SHARES, at=_PART_AT, store=store)
