"""A launch plan held against the contract: what a candidate launches, on each case, beside what its source says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuworker.cuda.plan import Fill
from search.contract.launches import Launch, LaunchRecord, Pass, Scratch, check_launches, with_launches
from search.knobs import read_knobs

if TYPE_CHECKING:
    from gpuworker.cuda.plan import CasePlan, LaunchPlan, Step
    from search.records import Candidate, ClauseVerdict, Contract
    from search.workload import Workload


def verdicts(
    source: tuple[ClauseVerdict, ...],
    contract: Contract | None,
    plan: LaunchPlan | None,
    workload: Workload,
    candidate: Candidate,
) -> tuple[ClauseVerdict, ...]:
    """Verdicts on the source, overruled where launches on the cases that people see convict."""
    if contract is None or plan is None:
        return source
    knobs = read_knobs(candidate.language, candidate.sources[0].content)
    sizes = {case.name: workload.sizes(case) for case in workload.cases}
    passes = [Pass(record=_record(case, plan), axes=sizes[case.case], knobs=knobs) for case in plan.cases]
    first, *others = passes
    launched = check_launches(contract, first.record, first.axes, knobs=first.knobs, others=others)
    return with_launches(source, launched)


def _record(case: CasePlan, plan: LaunchPlan) -> LaunchRecord:
    return LaunchRecord(
        launches=tuple(_launch(step, plan) for step in case.steps),
        scratch=tuple(Scratch(size_bytes=size) for size in case.scratch),
        high_water_bytes=sum(case.scratch),
    )


def _launch(step: Step, plan: LaunchPlan) -> Launch:
    if isinstance(step, Fill):
        return Launch(kind="fill")
    kernel = plan.kernels[step.kernel]
    return Launch(name=kernel.name, grid=step.grid, threads=kernel.threads, shared_bytes=kernel.shared_bytes)
