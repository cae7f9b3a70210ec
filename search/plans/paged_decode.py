"""Plans of attention decoding over a paged cache: one query token per sequence, grouped query heads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from search.blueprint import Intermediate, KernelPlan
from search.plans.plan import Launch, Plan, assemble
from search.records import Clause, ClauseKind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import JsonValue

    from search.records import Language
    from search.workload import Workload

_COMPUTES = "scores, running softmax and weighted values of"


def plan_paged_decode(workload: Workload, choices: Mapping[str, str], language: Language) -> Plan:
    """Plan of a decode.

    Args:
        workload: Queries (sequences, query heads, head dimension) and caches of pages
            (pages, tokens of a page, key heads, head dimension).
        choices: Decisions of the structure.
        language: Not looked at: work is mapped alike in all of them.
    """
    query, cache = decode_shapes(workload)
    heads = query[1] if choices["heads"] == "single" else cache[2]
    matrix = choices["product"] == "matrix"
    product: dict[str, JsonValue] = {"form": "dot" if matrix else [], "blocked": matrix}
    own = [
        Clause(kind=ClauseKind.CONTRACTION, subject=query[2], value=product),
        Clause(kind=ClauseKind.NUMERICS, value={"accumulate": "float32", "exp": "libm", "tf32": False}),
    ]
    form = choices["scheduling"]
    if choices["sequence"] == "whole":
        kernel = KernelPlan(name="decode", computes=f"{_COMPUTES} a sequence", parallel=(query[0], heads))
        return assemble([Launch(kernel, form)], [], own)
    partials = KernelPlan(
        name="decode_partials", computes=f"{_COMPUTES} a part", parallel=(query[0], heads, "SPLITS")
    )
    merge = KernelPlan(
        name="decode_merge",
        computes="merges the parts of a sequence",
        parallel=(query[0], query[1]),
        sequential=("SPLITS",),
    )
    return assemble([Launch(partials, form), Launch(merge)], _partials(query), own)


def decode_shapes(workload: Workload) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Axes of the queries (three) and of the key cache (four): the first inputs of so many axes.

    Raises:
        ValueError: the workload has no such inputs.
    """
    shapes = [tensor.shape or () for tensor in workload.inputs.values()]
    query = next((shape for shape in shapes if len(shape) == 3), None)
    cache = next((shape for shape in shapes if len(shape) == 4), None)
    if query is None or cache is None:
        raise ValueError(f"{workload.name} has no queries of three axes or no cache of four")
    return query, cache


def used_pages(workload: Workload) -> str:
    """Axis that counts the pages in use: of the list of page numbers, or of the cache where none is told."""
    named = (tensor.shape for name, tensor in workload.inputs.items() if name.endswith("indices"))
    shape = next((shape for shape in named if shape and len(shape) == 1), None)
    return shape[0] if shape else decode_shapes(workload)[1][0]


def _partials(query: tuple[str, ...]) -> list[Intermediate]:
    heads = (query[0], query[1], "SPLITS")
    shapes = {"partial_max": heads, "partial_sum": heads, "partial_values": (*heads, query[2])}
    return [
        Intermediate(
            name=name, shape=shape, dtype="float32", written_by="decode_partials", read_by="decode_merge"
        )
        for name, shape in shapes.items()
    ]
