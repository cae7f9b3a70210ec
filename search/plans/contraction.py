"""Plans of contractions: GEMM with a pointwise epilogue over M x N, contracted over K."""

from __future__ import annotations

from typing import TYPE_CHECKING

from search.blueprint import Intermediate, KernelPlan
from search.plans.plan import Launch, Plan, assemble, self_made, suffix
from search.records import Clause, ClauseKind, Language
from search.traits import contracted_axis

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import JsonValue

    from search.workload import Workload


_LIBRARY = "torch.mm"
_SAID = {
    "roles": {"swapped": "_swapped"},
    "weights": {"prepacked": "_prepacked"},
    "domain": {"triangle": "_triangle"},
    "transposition": {"tile": "_transposed"},
    "accumulation": {"flushed": "_flushed"},
    "scaling": {"on_load": "_scaled_loads", "per_step": "_scaled_steps", "epilogue": "_scaled"},
    "operand_path": {"shared": "_shared", "async": "_async"},
}


def plan_contraction(workload: Workload, choices: Mapping[str, str], language: Language) -> Plan:
    """Plan of a contraction.

    Args:
        workload: A product over M x N, contracted over K.
        choices: Decisions of the structure.
        language: C++ maps fewer axes to its parallel loops than Triton to its grids.
    """
    axes = _axes(workload)
    launches = [*_packing(choices, axes, language), *_dequantising(choices, axes, language)]
    launches += _products(choices, axes, language)
    if choices.get("epilogue") == "separate":
        launches.append(_elementwise("bias_gelu", "bias and GELU of the product", axes, language))
    if choices.get("output_cast") == "separate":
        launches.append(_elementwise("quantise", "scales and casts the product", axes, language))
    own = _own(workload, choices, axes, language)
    if choices.get("epilogue") == "fused" and choices["ownership"] != "stream_k" and "merge" not in choices:
        own.append(_fusion(workload, axes, launches[-1].kernel.name))
    return assemble(launches, _intermediates(workload, choices, axes), own)


def _fusion(workload: Workload, axes: tuple[str, str, str], kernel: str) -> Clause:
    """The kernel that ends the product reads the vectors of the epilogue and writes the output."""
    vectors = [name for name, tensor in workload.inputs.items() if tensor.shape == axes[1:2]]
    return Clause(kind=ClauseKind.FUSION, subject=kernel, value=[*vectors, next(iter(workload.outputs))])


def _own(
    workload: Workload, choices: Mapping[str, str], axes: tuple[str, str, str], language: Language
) -> list[Clause]:
    """Clauses on the product itself; none where it is a call of a library."""
    mechanisms = _mechanisms(choices)
    if choices.get("library") == "product":
        return mechanisms
    operands = _operand_types(workload, axes[2])
    forms = {"split_k": "split_combine", "stream_k": ""}
    reduction = "" if choices.get("merge") == "atomic" else forms.get(choices["ownership"], "loop")
    clauses = [*mechanisms, Clause(kind=ClauseKind.NUMERICS, value=_numerics(choices, operands))]
    if form := _contraction(choices, language):
        clauses.insert(0, Clause(kind=ClauseKind.CONTRACTION, subject=axes[2], value=form))
    if reduction:
        clauses.insert(0, Clause(kind=ClauseKind.REDUCTION, subject=axes[2], value=reduction))
    return clauses


def _mechanisms(choices: Mapping[str, str]) -> list[Clause]:
    """Clauses on what an action asks of the hardware."""
    found: list[Clause] = []
    if choices.get("library") != "product":
        found += self_made(*(["accumulate"] if choices.get("merge") == "atomic" else []))
    if choices.get("operand_path") == "descriptor":
        found.append(Clause(kind=ClauseKind.DESCRIPTORS, value=True))
    if choices.get("roles_of_warps") == "specialised":
        found.append(Clause(kind=ClauseKind.WARP_SPECIALISATION, value=True))
    return found


def _axes(workload: Workload) -> tuple[str, str, str]:
    """Row axis, column axis and contracted axis."""
    rows, columns = next(iter(workload.outputs.values())).shape or ()
    contracted = contracted_axis(workload)
    if contracted is None:
        raise ValueError(f"{workload.name} contracts no axis")
    return rows, columns, contracted


def _contraction(choices: Mapping[str, str], language: Language) -> dict[str, JsonValue]:
    if language is Language.TRITON or choices.get("units") == "matrix":
        return {"form": "dot", "blocked": True}
    if language is Language.CUDA:
        # A tile per block, spread over threads, has as many honest forms as ways to spread it.
        return {}
    form = "register_tile" if choices["register_tile"] == "accumulators" else choices["loop_order"]
    return {"form": form, "blocked": choices["ownership"] != "element"}


def _numerics(choices: Mapping[str, str], operands: list[str]) -> dict[str, JsonValue]:
    value: dict[str, JsonValue] = {"accumulate": "float32"}
    if "float32" in operands:
        value["tf32"] = choices.get("accumulation") == "tf32"
    if "gelu" in choices:
        value["exp"] = choices["gelu"]
    return value


def _packing(choices: Mapping[str, str], axes: tuple[str, str, str], language: Language) -> list[Launch]:
    rows, columns, contracted = axes
    wanted = {"stream": "", "packed_b": "b", "packed_ab": "ab"}[choices["staging"]]
    both = language is not Language.CPP
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


def _dequantising(choices: Mapping[str, str], axes: tuple[str, str, str], language: Language) -> list[Launch]:
    if choices.get("scaling") != "dequantised":
        return []
    rows, columns, contracted = axes
    return [
        _elementwise(f"dequantise_{operand}", f"{operand} in float32", (outer, contracted, ""), language)
        for operand, outer in (("a", rows), ("b", columns))
    ]


def _products(choices: Mapping[str, str], axes: tuple[str, str, str], language: Language) -> list[Launch]:
    if choices.get("library") == "product":
        rows, columns, contracted = axes
        # Named as a reader of sources names it.
        call = KernelPlan(
            name=_LIBRARY, computes="product", parallel=(rows, columns), sequential=(contracted,)
        )
        return [Launch(call, form="")]
    match choices["ownership"]:
        case "split_k":
            return _split_product(choices, axes, language)
        case "stream_k":
            return _stream(axes, language)
    return _product(choices, axes, language)


def _name(choices: Mapping[str, str], part: str = "") -> str:
    """Name of a product kernel."""
    return f"gemm{suffix(choices, _SAID)}{part}"


def _product(choices: Mapping[str, str], axes: tuple[str, str, str], language: Language) -> list[Launch]:
    rows, columns, contracted = axes
    fused = choices.get("epilogue") == "fused"
    both = language is not Language.CPP or _walks_tiles(choices)
    kernel = KernelPlan(
        name=_name(choices),
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


def _split_product(
    choices: Mapping[str, str], axes: tuple[str, str, str], language: Language
) -> list[Launch]:
    rows, columns, contracted = axes
    both = language is not Language.CPP
    atomic = choices.get("merge") == "atomic"
    partials = KernelPlan(
        name=_name(choices, "_atomic" if atomic else "_partials"),
        computes="product over one part of K",
        parallel=("SPLITS", rows, columns) if both else ("SPLITS", rows),
        sequential=(contracted,) if both else (columns, contracted),
    )
    # C++ has no grouped order of parts, so its plain order needs no word.
    order = choices["tile_order"] if both else ""
    first = Launch(partials, choices["scheduling"], "block", order)
    if atomic:
        return [_elementwise("clear_output", "zeros, to be added to", axes, language), first]
    return [first, _elementwise("gemm_combine", "sum of the partial products", axes, language)]


def _stream(axes: tuple[str, str, str], language: Language) -> list[Launch]:
    stream = KernelPlan(
        name="gemm_stream",
        computes="an equal share of all K steps of all tiles",
        parallel=("PROGRAMS",),
        sequential=axes,
    )
    fixup = _elementwise("gemm_fixup", "sum of the parts of shared tiles", axes, language)
    return [Launch(stream, form=""), fixup]


def _elementwise(name: str, computes: str, axes: tuple[str, str, str], language: Language) -> Launch:
    rows, columns, _ = axes
    if language is not Language.CPP:
        return Launch(KernelPlan(name=name, computes=computes, parallel=(rows, columns)), unit="block")
    return Launch(KernelPlan(name=name, computes=computes, parallel=(rows,), sequential=(columns,)))


def _intermediates(
    workload: Workload, choices: Mapping[str, str], axes: tuple[str, str, str]
) -> list[Intermediate]:
    rows, columns, contracted = axes
    ownership, product = choices["ownership"], _name(choices)
    reader = {"split_k": _name(choices, "_partials"), "stream_k": "gemm_stream"}.get(ownership, product)
    producer = {"split_k": "gemm_combine", "stream_k": "gemm_fixup"}.get(ownership, product)
    if choices.get("merge") == "atomic":
        reader = producer = _name(choices, "_atomic")
    if choices.get("library") == "product":
        reader = producer = _LIBRARY
    parts = ownership == "split_k" and choices.get("merge") != "atomic"
    tiles = ("PROGRAMS", "BLOCK_M", "BLOCK_N")
    whole = choices.get("scaling") == "dequantised"
    first, second = _operand_types(workload, contracted)
    possible = [
        (choices["staging"] == "packed_ab", "packed_a", (rows, contracted), "pack_a", reader, first),
        (choices["staging"] != "stream", "packed_b", (columns, contracted), "pack_b", reader, second),
        (whole, "dequantised_a", (rows, contracted), "dequantise_a", reader, "float32"),
        (whole, "dequantised_b", (columns, contracted), "dequantise_b", reader, "float32"),
        (parts, "partials", ("SPLITS", rows, columns), reader, producer, "float32"),
        (ownership == "stream_k", "partials", tiles, reader, producer, "float32"),
        (choices.get("epilogue") == "separate", "product", (rows, columns), producer, "bias_gelu", "float32"),
        (
            choices.get("output_cast") == "separate",
            "product",
            (rows, columns),
            producer,
            "quantise",
            "float32",
        ),
    ]
    return [
        Intermediate(name=name, shape=shape, dtype=dtype, written_by=writer, read_by=user)
        for wanted, name, shape, writer, user, dtype in possible
        if wanted
    ]


def _operand_types(workload: Workload, contracted: str) -> list[str]:
    """Element types of the two operands."""
    return [t.dtype.value for t in workload.inputs.values() if contracted in (t.shape or ())]
