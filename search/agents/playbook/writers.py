"""Who writes which family in which language."""

from __future__ import annotations

from typing import TYPE_CHECKING

from search.agents.playbook.cpp_gemm import gemm as cpp_gemm
from search.agents.playbook.cpp_rmsnorm import rmsnorm as cpp_rmsnorm
from search.agents.playbook.cpp_softmax import softmax as cpp_softmax
from search.agents.playbook.family import check
from search.agents.playbook.triton_gemm import gemm as triton_gemm
from search.agents.playbook.triton_rmsnorm import rmsnorm as triton_rmsnorm
from search.agents.playbook.triton_softmax import softmax as triton_softmax
from search.records import Language, SourceFile

if TYPE_CHECKING:
    from collections.abc import Callable

    from search.blueprint import Blueprint
    from search.workload import Workload

WRITERS: dict[tuple[str, Language], Callable[[Blueprint, Workload], str]] = {
    ("softmax", Language.CPP): cpp_softmax,
    ("rmsnorm", Language.CPP): cpp_rmsnorm,
    ("gemm", Language.CPP): cpp_gemm,
    ("softmax", Language.TRITON): triton_softmax,
    ("rmsnorm", Language.TRITON): triton_rmsnorm,
    ("gemm", Language.TRITON): triton_gemm,
}
"""By operation type of the workload and language."""

PATHS = {Language.CPP: "kernel.cpp", Language.TRITON: "kernel.py"}


def refusal(workload: Workload, language: Language) -> str:
    """Why the playbook cannot write this workload in this language; empty if it can."""
    if (workload.op_type, language) not in WRITERS:
        return f"the playbook does not write {workload.op_type} in {language}"
    try:
        check(workload, language)
    except ValueError as error:
        return str(error)
    return ""


def write_source(blueprint: Blueprint, workload: Workload, language: Language) -> SourceFile:
    """The source of a blueprint; `refusal` must be empty."""
    content = WRITERS[workload.op_type, language](blueprint, workload)
    return SourceFile(path=PATHS[language], content=content)
