"""The judge's side of tracing: cases in cells side by side, and plans read like a stranger's data.

Hidden cases are traced in cells of their own whose log nobody sees. Cases whose sizes Triton would specialise in
the same way share a cell, because they share its compiled kernels.
"""

from __future__ import annotations

import json
import math
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from pydantic import ValidationError

from gpuworker.built import Built
from gpuworker.cells import Order
from gpuworker.cuda.plan import LaunchPlan, fault, merge
from gpuworker.cuda.trace_order import TracedCase, TracedTensor, TraceOrder
from gpuworker.program import Program
from gpuworker.sandbox import Limits, View
from gpuworker.seccomp import Profile
from gpuworker.verdicts import Exit, RejectedError
from search.records import EvaluationStatus
from search.workload import ScalarInput

if TYPE_CHECKING:
    from pydantic import JsonValue

    from gpuworker.cuda.device_facts import GhostDevice
    from gpuworker.shop import Shop
    from search.records import Candidate
    from search.workload import Case, Tensor, Workload

_LIMITS = Limits(memory_bytes=4 << 30, cpu_s=130, processes=512, file_bytes=32 << 20, files=256)
_PLAN_BYTES = 32 << 20
_SIDE_BY_SIDE = 8
_UNIT = 16
"""Triton specialises on divisibility by this, and on 1."""


class UnreplayableError(Exception):
    """No plan can hold what the host code does; the message says what that is."""


def trace(
    shop: Shop, candidate: Candidate, workload: Workload, device: GhostDevice, deadline: float
) -> Built:
    """Launch plans of all cases.

    Raises:
        UnreplayableError: a plan cannot hold what it does.
        RejectedError: it does not compile, or raises.
    """
    groups = _groups(workload)
    with ThreadPoolExecutor(_SIDE_BY_SIDE) as pool:
        work = [
            pool.submit(
                _traced,
                shop,
                _order(candidate, workload, group, device),
                workload,
                deadline,
                hidden=hidden,
            )
            for (hidden, _), group in groups.items()
        ]
    traced = [future.result() for future in work]
    plans: dict[bool, LaunchPlan] = {}
    for hidden in (False, True):
        found = [plan for (one, _), plan in zip(groups, traced, strict=True) if one is hidden]
        if found:
            plans[hidden] = merge(found)
    return Built(plans=plans, details={"kernels": _resources(plans[False])})


def _groups(workload: Workload) -> dict[tuple[bool, tuple[tuple[bool, bool], ...]], list[Case]]:
    """Cases by whether they are hidden and how their sizes specialise."""
    groups: dict[tuple[bool, tuple[tuple[bool, bool], ...]], list[Case]] = {}
    for case in workload.cases:
        sizes = workload.sizes(case).values()
        key = (case.hidden, tuple((size % _UNIT == 0, size == 1) for size in sizes))
        groups.setdefault(key, []).append(case)
    return groups


def _order(candidate: Candidate, workload: Workload, cases: list[Case], device: GhostDevice) -> TraceOrder:
    program = Program(
        adapter="python",
        entry_point=candidate.entry_point,
        sources=candidate.sources,
        input_count=len(workload.inputs),
        output_count=len(workload.outputs),
    )
    return TraceOrder(program=program, cases=tuple(_case(workload, case) for case in cases), device=device)


def _case(workload: Workload, case: Case) -> TracedCase:
    sizes = workload.sizes(case)
    inputs = [_tensor(workload, tensor, sizes, case, name) for name, tensor in workload.inputs.items()]
    outputs = [
        TracedTensor(dtype=tensor.dtype, shape=workload.shape(tensor, sizes))
        for tensor in workload.outputs.values()
    ]
    return TracedCase(case=case.name, arguments=(*inputs, *outputs))


def _tensor(workload: Workload, tensor: Tensor, sizes: dict[str, int], case: Case, name: str) -> TracedTensor:
    value = None
    if tensor.shape is None:
        source = case.inputs.get(name)
        if not isinstance(source, ScalarInput):
            raise UnreplayableError(f"takes the scalar `{name}`, whose value changes from call to call")
        value = float(source.value) if tensor.dtype.is_float else int(source.value)
    return TracedTensor(dtype=tensor.dtype, shape=workload.shape(tensor, sizes), value=value)


def _traced(
    shop: Shop, order: TraceOrder, workload: Workload, deadline: float, *, hidden: bool
) -> LaunchPlan:
    cell = Order(Profile.TRACE, View.PYTHON, shop.uid_slot, shop.cores, _LIMITS)
    try:
        data = shop.artefact(cell, order.dump(), deadline, _PLAN_BYTES)
    except RejectedError as error:
        raise _reason(error, workload, hidden=hidden) from error
    try:
        plan = LaunchPlan.model_validate_json(data)
    except ValidationError as error:
        message = f"its launches cannot be replayed: {error.errors()[0]['msg']}"
        raise RejectedError(EvaluationStatus.COMPILE_ERROR, message) from error
    traced = [case.case for case in plan.cases]
    if traced != [case.case for case in order.cases]:
        raise RejectedError(EvaluationStatus.REWARD_HACK, "changed what was written down of its launches")
    if why := fault(plan, len(workload.inputs) + len(workload.outputs)):
        raise RejectedError(EvaluationStatus.RUNTIME_ERROR, why)
    most = order.device.memory_bytes // 8
    if any(sum(case.scratch) > most for case in plan.cases):
        raise RejectedError(EvaluationStatus.OOM, f"allocates more than {most >> 20} MiB of scratch memory")
    return plan


def _reason(error: RejectedError, workload: Workload, *, hidden: bool) -> Exception:
    """Why there is no plan; nothing that a hidden case made the program say."""
    message, log = ("fails in a hidden case", "") if hidden else (error.message, error.log)
    if error.code == Exit.TORCH_COMPUTE and not workload.policy.torch_ops:
        return RejectedError(EvaluationStatus.CONTRACT_VIOLATION, message, log)
    if error.code in {Exit.UNREPLAYABLE, Exit.TORCH_COMPUTE}:
        return UnreplayableError("no plan can hold what it does in a hidden case" if hidden else message)
    return RejectedError(error.status, message, log)


def _resources(plan: LaunchPlan) -> list[JsonValue]:
    """For people: what each kernel takes, and the launches of the first case."""
    launched = {step.kernel: step.grid for step in plan.cases[0].launches}
    return [
        {
            "name": kernel.name,
            "threads": kernel.threads,
            "shared_bytes": kernel.shared_bytes,
            "registers": kernel.registers,
            "spilled_bytes": kernel.spilled_bytes,
            "programs": math.prod(launched[number]) if number in launched else None,
        }
        for number, kernel in enumerate(plan.kernels)
        if number in launched
    ]


def plan_file(plan: LaunchPlan) -> bytes:
    """A plan as the cell that replays it reads it."""
    return json.dumps(plan.dump()).encode()
