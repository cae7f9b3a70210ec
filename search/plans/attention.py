"""Plans of attention over contiguous keys and values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from search.plans.parts import inner_axes, launch, output_axes, plan, stored
from search.plans.plan import suffix

if TYPE_CHECKING:
    from collections.abc import Mapping

    from search.plans.plan import Plan
    from search.records import Language
    from search.workload import Workload


_SAID = {
    "query": {"resident": "_resident"},
    "mapping": {"sequence": "_sequence"},
    "masking": {"skipped": "_skipped"},
    "overlap": {"ping_pong": "_ping_pong"},
    "order": {"longest_first": "_longest_first"},
}


def plan_attention(workload: Workload, choices: Mapping[str, str], language: Language) -> Plan:
    """Scores, softmax and values in kernels of their own, in one, or in one over parts of the keys and a merge.

    Args:
        workload: Its first output is (…, queries, head dimension).
        choices: Decisions of the structure.
        language: Not looked at.
    """
    *queries, width = output_axes(workload)
    rows = tuple(queries)
    # Self-attention may name queries and keys alike.
    keys = inner_axes(workload)[:1] or rows[-1:]
    said = suffix(choices, _SAID)
    if choices["keys"] == "split":
        return _split(f"attention{said}_partials", rows, keys, width)
    if choices["fusion"] == "fused":
        kernel = launch(f"attention{said}", "scores, online softmax and values", rows, (*keys, width))
        return plan([kernel], [], sums=True)
    scores = (*rows, *keys)
    launches = [
        launch(f"scores{said}", "products of queries and keys", scores, (width,)),
        launch("softmax_rows", "softmax of each row of scores", rows, keys),
        launch("values", "weighted sums of the values", (*rows, width), keys),
    ]
    tensors = [
        stored("scores", scores, f"scores{said}", "softmax_rows"),
        stored("weights", scores, "softmax_rows", "values"),
    ]
    return plan(launches, tensors, sums=True)


def _split(first: str, rows: tuple[str, ...], keys: tuple[str, ...], width: str) -> Plan:
    parts = (*rows, "SPLITS")
    second = "attention_combine"
    launches = [
        launch(first, "attention over one part of the keys", parts, (*keys, width)),
        launch(second, "merges the parts by their maxima and sums", (*rows, width), ("SPLITS",)),
    ]
    tensors = [
        stored("partial_max", parts, first, second),
        stored("partial_sum", parts, first, second),
        stored("partial_output", (*parts, width), first, second),
    ]
    return plan(launches, tensors, sums=True)
