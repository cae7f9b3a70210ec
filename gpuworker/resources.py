"""What a Triton candidate would take of a GPU, on a machine that has none: compiled as the JIT would on an H200."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuworker import tracing
from gpuworker.built import Built
from gpuworker.cuda.device_facts import H200

if TYPE_CHECKING:
    from gpuworker.shop import Shop
    from search.records import Candidate
    from search.workload import Workload


def report(shop: Shop, candidate: Candidate, workload: Workload, deadline: float) -> Built:
    """Nothing to run, and registers, spills and shared memory of each kernel for the evidence.

    Raises:
        RejectedError: it does not compile for the device.
    """
    try:
        traced = tracing.trace(shop, candidate, workload, H200, deadline)
    except tracing.UnreplayableError as error:
        return Built(details={"host_code": str(error)})
    return Built(details={**traced.details, "compiled_for": H200.name})
