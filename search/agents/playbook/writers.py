"""Who writes which family in which language, and the actions each writer knows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from search.agents.playbook.cpp_gemm import gemm as cpp_gemm
from search.agents.playbook.cpp_rmsnorm import rmsnorm as cpp_rmsnorm
from search.agents.playbook.cpp_softmax import softmax as cpp_softmax
from search.agents.playbook.family import check
from search.agents.playbook.triton_add_rmsnorm import add_rmsnorm
from search.agents.playbook.triton_cross_entropy import cross_entropy
from search.agents.playbook.triton_gemm import gemm as triton_gemm
from search.agents.playbook.triton_layernorm import layernorm
from search.agents.playbook.triton_paged_decode import paged_decode
from search.agents.playbook.triton_rmsnorm import rmsnorm as triton_rmsnorm
from search.agents.playbook.triton_softmax import softmax as triton_softmax
from search.agents.playbook.triton_stencil import stencil
from search.records import Language, SourceFile
from search.traits import PAGED_DECODES

if TYPE_CHECKING:
    from collections.abc import Callable

    from search.blueprint import Blueprint
    from search.workload import Workload


@dataclass(frozen=True)
class Writer:
    """The function that writes a family, and the ids of the actions whose structures it can write."""

    write: Callable[[Blueprint, Workload], str]
    actions: frozenset[str]


_CPP_ROWS = frozenset(
    {"row_groups", "split_row", "resident_row", "persistent_rows", "dynamic_rows", "vector_lanes"}
    | {"streaming_stores"}
)
_CPP_SOFTMAX = _CPP_ROWS | {"stored_exponentials", "online_softmax", "polynomial_exp"}
_CPP_GEMM = frozenset(
    {"output_tiles", "split_k", "axpy_order", "pack_b", "pack_both", "register_accumulators"}
    | {"fused_epilogue", "collapsed_tiles", "grouped_tile_order", "persistent_tiles", "dynamic_tiles"}
    | {"polynomial_gelu"}
)
_ROWS = frozenset({"row_groups", "split_row", "resident_row", "persistent_rows", "streaming_stores"})
_SOFTMAX = _ROWS | {"stored_exponentials", "online_softmax", "polynomial_exp"}
_CROSS_ENTROPY = (_ROWS - {"streaming_stores"}) | {"online_logsumexp", "polynomial_exp"}
_GEMM = frozenset(
    {"split_k", "pack_b", "pack_both", "fused_epilogue", "grouped_tile_order", "persistent_tiles"}
    | {"polynomial_gelu", "stream_k", "grouped_split_k", "persistent_split_k", "swapped_roles"}
)
_PAGED_DECODE = frozenset({"packed_heads", "matrix_decode", "split_sequence", "persistent_decode"})
_STENCIL = frozenset({"stencil_tiles", "sliding_rows", "separate_axes", "persistent_stencil"})

WRITERS: dict[tuple[str, Language], Writer] = {
    ("softmax", Language.CPP): Writer(cpp_softmax, _CPP_SOFTMAX),
    ("rmsnorm", Language.CPP): Writer(cpp_rmsnorm, _CPP_ROWS),
    ("gemm", Language.CPP): Writer(cpp_gemm, _CPP_GEMM),
    ("softmax", Language.TRITON): Writer(triton_softmax, _SOFTMAX),
    ("rmsnorm", Language.TRITON): Writer(triton_rmsnorm, _ROWS),
    ("layernorm", Language.TRITON): Writer(layernorm, _ROWS | {"two_sums", "welford_statistics"}),
    ("add_rmsnorm", Language.TRITON): Writer(add_rmsnorm, _ROWS | {"readd_residual"}),
    ("cross_entropy", Language.TRITON): Writer(cross_entropy, _CROSS_ENTROPY),
    ("gemm", Language.TRITON): Writer(triton_gemm, _GEMM),
    ("stencil", Language.TRITON): Writer(stencil, _STENCIL),
    **{(name, Language.TRITON): Writer(paged_decode, _PAGED_DECODE) for name in PAGED_DECODES},
}
"""By operation type of the workload and language."""

PATHS = {Language.CPP: "kernel.cpp", Language.TRITON: "kernel.py"}


def writes(workload: Workload, language: Language) -> tuple[str, ...]:
    """Ids of the actions that the playbook can write for a workload, sorted; empty if it writes none of it."""
    writer = WRITERS.get((workload.op_type, language))
    return tuple(sorted(writer.actions)) if writer else ()


def refusal(workload: Workload, language: Language) -> str:
    """Why the playbook cannot write this workload in this language; empty if it can."""
    if (workload.op_type, language) not in WRITERS:
        return f"the playbook does not write {workload.op_type} in {language}"
    try:
        check(workload, language)
    except ValueError as error:
        return str(error)
    return ""


def refusal_of(blueprint: Blueprint, workload: Workload, language: Language) -> str:
    """Why the playbook cannot write this structure; empty if it can."""
    unknown = [action for action in blueprint.actions if action not in writes(workload, language)]
    if not unknown:
        return ""
    return (
        f"the playbook cannot write {blueprint.title}: it has no {language} source for {', '.join(unknown)}"
    )


def write_source(blueprint: Blueprint, workload: Workload, language: Language) -> SourceFile:
    """The source of a blueprint; `refusal` and `refusal_of` must be empty."""
    content = WRITERS[workload.op_type, language].write(blueprint, workload)
    return SourceFile(path=PATHS[language], content=content)
