"""Plans of contractions: GEMM with a pointwise epilogue over M x N, contracted over K."""

from __future__ import annotations

from typing import TYPE_CHECKING

from search.blueprint import Intermediate, KernelPlan
from search.plans.plan import Launch, Plan, assemble
from search.records import Clause, ClauseKind, Language

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import JsonValue


def plan_contraction(choices: Mapping[str, str], axes: tuple[str, str, str], language: Language) -> Plan:
    """Plan of a contraction.

    Args:
        choices: Decisions of the structure.
        axes: Row axis, column axis and contracted axis.
        language: C++ maps fewer axes to its parallel loops than Triton to its grids.
    """
    split = choices["ownership"] == "split_k"
    separate = choices.get("epilogue") == "separate"
    launches = _packing(choices, axes, language)
    launches += _split_product(axes, language) if split else _product(choices, axes, language)
    if separate:
        launches.append(_elementwise("bias_gelu", "bias and GELU of the product", axes, language))
    own = [
        Clause(
            kind=ClauseKind.REDUCTION,
            subject=axes[2],
            value="split_combine" if split else "loop",
        ),
        Clause(kind=ClauseKind.CONTRACTION, subject=axes[2], value=_contraction(choices, language)),
        Clause(kind=ClauseKind.NUMERICS, value=_numerics(choices)),
    ]
    return assemble(launches, _intermediates(choices, axes, split=split, separate=separate), own)


def _contraction(choices: Mapping[str, str], language: Language) -> dict[str, JsonValue]:
    if language is Language.TRITON:
        return {"form": "dot", "blocked": True}
    form = "register_tile" if choices["register_tile"] == "accumulators" else choices["loop_order"]
    return {"form": form, "blocked": choices["ownership"] != "element"}


def _numerics(choices: Mapping[str, str]) -> dict[str, JsonValue]:
    value: dict[str, JsonValue] = {"accumulate": "float32", "tf32": False}
    if "gelu" in choices:
        value["exp"] = choices["gelu"]
    return value


def _packing(choices: Mapping[str, str], axes: tuple[str, str, str], language: Language) -> list[Launch]:
    rows, columns, contracted = axes
    wanted = {"stream": "", "packed_b": "b", "packed_ab": "ab"}[choices["staging"]]
    both = language is Language.TRITON
    return [
        Launch(
            KernelPlan(
                name=f"pack_{operand}",
                computes=f"{operand} in tile-major order",
                parallel=(outer, contracted) if both else (outer,),
                sequential=() if both else (contracted,),
            ),
            unit="block",
        )
        for operand, outer in (("a", rows), ("b", columns))
        if operand in wanted
    ]


def _product(choices: Mapping[str, str], axes: tuple[str, str, str], language: Language) -> list[Launch]:
    rows, columns, contracted = axes
    fused = choices.get("epilogue") == "fused"
    both = language is Language.TRITON or _walks_tiles(choices)
    kernel = KernelPlan(
        name="gemm",
        computes="product, bias and GELU" if fused else "product",
        parallel=(rows, columns) if both else (rows,),
        sequential=(contracted,) if both else (columns, contracted),
    )
    unit = "single" if choices["ownership"] == "element" else "block"
    return [Launch(kernel, choices["scheduling"], unit, choices["tile_order"])]


def _walks_tiles(choices: Mapping[str, str]) -> bool:
    """Whether C++ loops over tiles of both output axes in its parallel loop."""
    return (
        choices.get("mapping") == "tiles"
        or choices["tile_order"] == "grouped"
        or choices["scheduling"] == "persistent"
    )


def _split_product(axes: tuple[str, str, str], language: Language) -> list[Launch]:
    rows, columns, contracted = axes
    both = language is Language.TRITON
    partials = KernelPlan(
        name="gemm_partials",
        computes="product over one part of K",
        parallel=("SPLITS", rows, columns) if both else ("SPLITS", rows),
        sequential=(contracted,) if both else (columns, contracted),
    )
    combine = _elementwise("gemm_combine", "sum of the partial products", axes, language)
    return [Launch(partials, unit="block"), combine]


def _elementwise(name: str, computes: str, axes: tuple[str, str, str], language: Language) -> Launch:
    rows, columns, _ = axes
    if language is Language.TRITON:
        return Launch(KernelPlan(name=name, computes=computes, parallel=(rows, columns)), unit="block")
    return Launch(KernelPlan(name=name, computes=computes, parallel=(rows,), sequential=(columns,)))


def _intermediates(
    choices: Mapping[str, str], axes: tuple[str, str, str], *, split: bool, separate: bool
) -> list[Intermediate]:
    rows, columns, contracted = axes
    producer = "gemm_combine" if split else "gemm"
    reader = "gemm_partials" if split else "gemm"
    packed_a = choices["staging"] == "packed_ab"
    packed_b = choices["staging"] != "stream"
    possible = [
        (packed_a, "packed_a", (rows, contracted), "pack_a", reader),
        (packed_b, "packed_b", (columns, contracted), "pack_b", reader),
        (split, "partials", ("SPLITS", rows, columns), "gemm_partials", "gemm_combine"),
        (separate, "product", (rows, columns), producer, "bias_gelu"),
    ]
    return [
        Intermediate(name=name, shape=shape, dtype="float32", written_by=writer, read_by=user)
        for wanted, name, shape, writer, user in possible
        if wanted
    ]
