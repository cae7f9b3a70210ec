"""Which actions an expert tries first: relative weights, not verdicts; a search may prove them wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

from search.records import Language

if TYPE_CHECKING:
    from collections.abc import Mapping

FIRST_CHOICE = 8.0
"""Weight of what an expert tries first."""

# On one core, arithmetic in order is what a direct implementation loses most by: a strict compiler adds one
# element per latency, and a library exponential keeps a loop scalar. Each of these alone gives a factor of two
# to ten, so they come first; orders of memory access give tens of percent; scheduling gives little on one core.
CPU: Mapping[str, float] = {
    "vector_lanes": 8,
    "polynomial_exp": 8,
    "stored_exponentials": 5,
    "resident_row": 3,
    "online_softmax": 2,
    "row_groups": 2,
    "streaming_stores": 2,
    "split_row": 1,
    "persistent_rows": 1,
    "dynamic_rows": 0.5,
    "output_tiles": 8,
    "register_accumulators": 8,
    "axpy_order": 5,
    "fused_epilogue": 5,
    "polynomial_gelu": 5,
    "pack_b": 3,
    "pack_both": 1,
    "split_k": 1,
    "collapsed_tiles": 0.5,
    "grouped_tile_order": 0.5,
    "persistent_tiles": 0.5,
    "dynamic_tiles": 0.5,
}

# On a GPU, row reductions live on memory traffic: one read of the row is the floor, and enough programs must be
# in flight to reach it, which few wide rows only give when they are split. Arithmetic is almost free there.
GPU: Mapping[str, float] = {
    "resident_row": 8,
    "split_row": 5,
    "persistent_rows": 4,
    "online_softmax": 4,
    "row_groups": 2,
    "streaming_stores": 2,
    "online_logsumexp": 4,
    "two_sums": 3,
    "welford_statistics": 3,
    "readd_residual": 1,
    "stored_exponentials": 0.5,
    "polynomial_exp": 0.5,
    "fused_epilogue": 8,
    "grouped_tile_order": 4,
    "split_k": 4,
    "persistent_tiles": 3,
    "stream_k": 2,
    "grouped_split_k": 2,
    "persistent_split_k": 2,
    "swapped_roles": 2,
    "pack_b": 0.5,
    "pack_both": 0.5,
    "polynomial_gelu": 1,
    # Decoding reads keys and values: once per group of heads, and from every multiprocessor.
    "packed_heads": 8,
    "matrix_decode": 8,
    "split_sequence": 8,
    "persistent_decode": 2,
    # A stencil is bound by its loads out of the caches until sums are shared.
    "stencil_tiles": 4,
    "sliding_rows": 8,
    "separate_axes": 4,
    "persistent_stencil": 1,
}


def weight(action: str, language: Language) -> float:
    """Relative weight of an action; one for an action the playbook has no opinion about."""
    return (CPU if language is Language.CPP else GPU).get(action, 1.0)
