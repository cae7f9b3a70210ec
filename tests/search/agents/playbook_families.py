"""The workloads that the playbook writes, one per family, and the languages it writes them in."""

from __future__ import annotations

from search.agents.playbook.writers import refusal
from search.library import shipped_workloads
from search.records import Language

WORKLOADS = {
    name: workload for name, workload in shipped_workloads().items() if not refusal(workload, Language.TRITON)
}
_FIRST = {(workload.op_type, len(workload.inputs)): name for name, workload in reversed(WORKLOADS.items())}
FAMILIES = tuple(_FIRST.values())
"""Names of one workload per operation and number of inputs; others differ in element types and sizes."""

CELLS = [
    (name, language)
    for name in FAMILIES
    for language in (Language.CPP, Language.TRITON)
    if not refusal(WORKLOADS[name], language)
]
