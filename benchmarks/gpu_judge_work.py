"""What our own sections judge, as records: the programs of `gpu_judge_programs` and the workload they are for.

With `smoke`, on a machine without a GPU, the shipped C++ softmax instead.
"""

from __future__ import annotations

import gpu_judge_programs as programs

from gpuworker import requests
from search.records import Candidate, Language, SourceFile
from search.workload import Case, ConstAxis, DType, Policy, Tensor, Tolerance, VarAxis, Workload


def candidate(source: str, knobs: dict[str, int] | None = None) -> Candidate:
    """A Triton source as the judge takes it."""
    file = SourceFile(path="kernel.py", content=source)
    return Candidate(language=Language.TRITON, sources=(file,), knobs={**(knobs or {})})


def workload(rows: tuple[int, ...] = programs.ROWS) -> Workload:
    """RMSNorm with a timed case for each number of rows, and a hidden one."""
    timed = [Case(name=f"rows_{count}", axes={"M": count}) for count in rows]
    hidden = Case(name="hidden_odd", axes={"M": 13}, hidden=True, timed=False)
    row = Tensor(shape=("M", "N"), dtype=DType.BFLOAT16)
    return Workload(
        name="rmsnorm_h4096",
        title="RMSNorm, 4096 bf16 columns",
        op_type="rmsnorm",
        axes={"M": VarAxis(), "N": ConstAxis(value=programs.COLUMNS)},
        inputs={"x": row, "weight": Tensor(shape=("N",), dtype=DType.BFLOAT16)},
        outputs={"y": row},
        reference=programs.REFERENCE,
        cases=(*timed, hidden),
        tolerance=Tolerance(scale=2.0, relative=0.01, frobenius=0.01),
        # What `hosted_program` does on the host.
        policy=Policy(torch_ops=True),
    )


def our_workload(rows: tuple[int, ...] = programs.ROWS, *, smoke: bool) -> Workload:
    """What our sections judge."""
    return requests.load_workload("softmax") if smoke else workload(rows)


def our_candidates(*, smoke: bool) -> list[Candidate]:
    """The one to warm up with, then ten."""
    if smoke:
        return [requests.sample(str(number)) for number in range(len(programs.triton_programs()))]
    return [candidate(source) for source in programs.triton_programs()]


def our_variants(*, smoke: bool) -> list[Candidate]:
    """One source with many knob settings."""
    if smoke:
        return [requests.sample().model_copy(update={"knobs": {"LANES": 4 << one}}) for one in range(4)]
    return [candidate(programs.tuned_program(), knobs) for knobs in programs.knob_settings()]
