"""One-shot work in a cell without a device: run a program's host code on ghosts and write its launch plan down."""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import traceback
from typing import TYPE_CHECKING, Any

import torch
from triton.backends.nvidia.compiler import get_ptxas_version
from triton.runtime.build import platform_key

from gpuworker import sandbox
from gpuworker.adapters import python
from gpuworker.cuda.device_facts import H200
from gpuworker.cuda.ghosts import Ghosts, TorchComputeError, UnreplayableError, patched
from gpuworker.cuda.plan import CasePlan, LaunchPlan
from gpuworker.cuda.recorder import Recorder, recording
from gpuworker.cuda.trace_order import TracedCase, TraceOrder
from gpuworker.dtypes import TORCH_TYPES
from gpuworker.seccomp import Profile
from gpuworker.verdicts import Exit

if TYPE_CHECKING:
    from gpuworker.wire import Frame


def warm_up() -> None:
    """Load what torch loads when fake tensors are first used: seconds of imports, once for all cells."""
    # Otherwise it asks the system for the name of a user that cells do not have.
    os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", "/tmp/inductor")
    # And some of it asks for devices, which would make a context that no fork survives.
    none = {"is_available": lambda: False, "device_count": lambda: 0}
    counts = {"_cuda_getDeviceCount": lambda: 0} if torch.version.cuda else {}
    with patched(torch.cuda, none), patched(torch._C, counts):
        ghosts = Ghosts(lambda fill: None)
    with ghosts.entered(H200):
        torch.empty(1, device="cuda").view(1)
    # Parts of every key of Triton's cache; to find them means to run programs, which judged processes may not.
    platform_key()
    get_ptxas_version(H200.capability[0] * 10 + H200.capability[1])


def trace(frame: Frame, mode: sandbox.Mode) -> None:
    """Answer with the plan as JSON in the judge's file, or end with the exit code that says why there is none."""
    sandbox.apply_filter(Profile.BUILD, mode)
    order = TraceOrder.load(frame.document)
    os.environ |= {"TRITON_CACHE_DIR": "/tmp/triton", "TRITON_DUMP_PTXAS_LOG": "1"}
    torch.set_num_threads(1)
    try:
        plan = traced(order)
    # Whatever a stranger's host code raises says only that there is no plan.
    except BaseException as error:  # noqa: BLE001
        _leave(error)
    os.write(frame.files[0], json.dumps(plan.dump()).encode())


def traced(order: TraceOrder) -> LaunchPlan:
    """Run every case on ghosts.

    Raises:
        UnreplayableError: the host code does what a plan cannot hold.
        Exception: whatever the program raises.
    """
    printed = io.StringIO()
    recorder = Recorder(order.device, printed)
    cases: list[CasePlan] = []
    with recording(recorder), contextlib.redirect_stdout(printed):
        with Ghosts(recorder.steps.append).entered(order.device):
            run = python.import_entry(order.program)
        if not python.writes_in_place(run, order.program):
            raise UnreplayableError("returns its outputs instead of writing them in place")
        for case in order.cases:
            cases.append(_one_case(run, case, recorder))
    return LaunchPlan(kernels=tuple(recorder.kernels), cases=tuple(cases))


def _one_case(run: Any, case: TracedCase, recorder: Recorder) -> CasePlan:
    recorder.steps = []
    ghosts = Ghosts(lambda fill: recorder.steps.append(fill))
    recorder.ghosts = ghosts
    tensors = [ghosts.tensor(each.shape, TORCH_TYPES[each.dtype]) for each in case.arguments]
    given = [
        tensor if each.value is None else each.value
        for tensor, each in zip(tensors, case.arguments, strict=True)
    ]
    with ghosts.entered(recorder.device):
        run(*given)
    return CasePlan(case=case.case, steps=tuple(recorder.steps), scratch=ghosts.sizes(len(tensors)))


def _leave(error: BaseException) -> None:
    """Tell in the log, then end; the message of an unreplayable program is its last line."""
    if isinstance(error, UnreplayableError):
        sys.stderr.write(f"\n{error}\n")
        code = Exit.TORCH_COMPUTE if isinstance(error, TorchComputeError) else Exit.UNREPLAYABLE
    else:
        traceback.print_exception(error)
        code = Exit.OUT_OF_MEMORY if isinstance(error, MemoryError) else Exit.COMPILE_FAILED
    sys.stderr.flush()
    os._exit(code)
