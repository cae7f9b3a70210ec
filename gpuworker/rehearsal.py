"""Host code that no plan can hold runs once on the device before it is judged, to fill its compiler's cache.

A judged process may start no compiler, and Triton compiles when it first launches. So a cell that may do both runs
every case once, on memory that nobody reads, and leaves its cache for the judged one, which is as far as
trust goes: a candidate can only poison its own.
"""

from __future__ import annotations

import os
import time
from types import MappingProxyType
from typing import TYPE_CHECKING

from gpuworker import layout
from gpuworker.cells import Order
from gpuworker.inputs import Flavour, draw, secret_generator
from gpuworker.sandbox import Limits, View
from gpuworker.seccomp import Profile
from gpuworker.verdicts import RejectedError, read_exit
from search.records import EvaluationStatus
from search.workload import CustomInput

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import torch

    from gpuworker.court import Court
    from gpuworker.program import Program
    from search.workload import Case, Workload

    Values = Sequence[torch.Tensor]
    """Inputs of one call."""

CACHE_BYTES = 48 << 20
_LIMITS = Limits(
    memory_bytes=16 << 30, cpu_s=130, processes=512, file_bytes=CACHE_BYTES, files=1024, device=True
)
_LEASE_WAIT_S = 90.0


def _drawn(workload: Workload, case: Case, generator: torch.Generator) -> Values:
    """Values as the workload declares them: host code may look at them and launch accordingly.

    What a program of the workload makes stays empty.
    """
    if any(isinstance(source, CustomInput) for source in case.inputs.values()):
        return []
    return draw(workload, case, Flavour.DECLARED, generator)


def rehearse(
    court: Court,
    program: Program,
    workload: Workload,
    deadline: float,
    *,
    hidden: bool,
    known: Mapping[str, Sequence[Values]] = MappingProxyType({}),
) -> bytes:
    """Run every hidden case, or every other, once for each of its values; the filled cache as a tar file.

    What a hidden case leaves in a cache must not come to a process whose log is shown.

    Args:
        court: has the device.
        program: the candidate.
        workload: gives the cases.
        deadline: monotonic time.
        hidden: which cases.
        known: inputs by case, one list for each call; of other cases one is drawn.

    Raises:
        RejectedError: it fails, or takes too long.
    """
    generator = secret_generator(court.device.tensors)
    given = {
        case.name: known.get(case.name) or [_drawn(workload, case, generator)]
        for case in workload.cases
        if case.hidden is hidden
    }
    plan = layout.plan(workload, {name: len(calls) for name, calls in given.items()})
    arena = court.device.arena(plan)
    slots = (
        (slot, values) for name in given for slot, values in zip(plan.of_case(name), given[name], strict=True)
    )
    arena.fill({slot: values for slot, values in slots if values})
    cache = os.memfd_create("cache", os.MFD_CLOEXEC)
    cores = court.device.judge_cores
    asked = time.monotonic()
    with court.device.lease(_LEASE_WAIT_S):
        deadline += time.monotonic() - asked  # others' time on the device is not in the candidate's
        cell = court.block.start(Order(Profile.REHEARSE, View.DEVICE, court.shop.uid_slot, cores, _LIMITS))
        try:
            document = {
                "program": program.dump(),
                "layout": plan.dump(),
                "sealed": True,
                "device": court.device.bus,
            }
            cell.send(document, [*arena.files(), cache])
            code = cell.join(deadline)
            # The log may tell of hidden cases.
            if code is None:
                raise RejectedError(EvaluationStatus.TIMEOUT, "did not finish its first calls in time")
            if code != 0:
                raise RejectedError(*read_exit(code))
            return os.pread(cache, CACHE_BYTES, 0)
        finally:
            cell.close()
            arena.close()
            os.close(cache)
