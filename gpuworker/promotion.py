"""Promotion: what a would-be best must stand besides a full measurement on values that nobody has seen.

On a GPU its launches run under compute-sanitizer, each tensor an allocation of its own, and under Nsight Compute where
the driver lets this user read its counters.
"""

from __future__ import annotations

import base64
import csv
import io
import os
import re
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from gpuworker import layout
from gpuworker.cells import Order
from gpuworker.sandbox import Limits, View
from gpuworker.seccomp import Profile
from gpuworker.verdicts import RejectedError
from search.records import EvaluationStatus

if TYPE_CHECKING:
    from pydantic import JsonValue

    from gpuworker.court import Court
    from gpuworker.cuda.plan import LaunchPlan
    from gpuworker.entry import Entry

_TOOLS = Path("/usr/local/cuda/bin")
_FOUND = 86
_TOOL_S = 60.0
_LIMITS = Limits(
    memory_bytes=32 << 30, cpu_s=120, processes=512, file_bytes=64 << 20, files=1024, device=True
)
_MOST_BYTES = 4 << 20
"""Cases whose tensors are larger would take minutes under a sanitizer."""
_SUMMARY = re.compile(r"(?:ERROR|RACECHECK) SUMMARY: (\d+)")
_METRICS = {
    "gpu__time_duration.sum": "us",
    "dram__throughput.avg.pct_of_peak_sustained_elapsed": "DRAM %",
    "sm__throughput.avg.pct_of_peak_sustained_elapsed": "SM %",
    "sm__warps_active.avg.pct_of_peak_sustained_active": "occupancy %",
}


def examine(entry: Entry, plan: LaunchPlan) -> dict[str, JsonValue]:
    """Run the small cases under each tool that is there; what they found, for the evidence.

    Raises:
        RejectedError: a kernel steps out of its tensors, or races.
    """
    order = _order(entry, plan)
    found: dict[str, JsonValue] = {}
    for tool in ("memcheck", "racecheck"):
        found[tool] = _sanitised(entry.court, order, tool)
    found["profile"] = _profile(entry.court, order)
    return found


def _order(entry: Entry, plan: LaunchPlan) -> bytes:
    # Imported here: the module needs the driver's bindings, which a machine without a GPU may lack.
    from gpuworker.cuda.examined import ExamineOrder

    workload = entry.stick.workload
    traced = {case.case for case in plan.cases}
    sizes = {case.name: layout.slot_bytes(workload, case) for case in workload.cases}
    small = [case for case in workload.cases if case.name in traced and sizes[case.name] <= _MOST_BYTES]
    specimens = [entry.stick.checks[case.name][0] for case in small]
    order = ExamineOrder(
        plan=plan,
        layout=layout.plan(workload, {case.name: 1 for case in small}),
        inputs=tuple(tuple(_bytes(value) for value in one.inputs) for one in specimens),
        device=entry.court.device.bus,
    )
    return order.model_dump_json().encode()


def _bytes(value: torch.Tensor) -> str:
    flat = value.reshape(-1).cpu().view(torch.uint8) if value.numel() else torch.empty(0, dtype=torch.uint8)
    return base64.b64encode(bytes(flat.tolist())).decode()


def _sanitised(court: Court, order: bytes, tool: str) -> JsonValue:
    """How many errors; a sentence where the tool is not there or does not work."""
    command = [str(_TOOLS / "compute-sanitizer"), "--tool", tool, "--error-exitcode", str(_FOUND)]
    code, log = _run(court, order, command)
    errors = _SUMMARY.search(log)
    if errors is None:
        return f"{tool} did not run (exit code {code})"
    if int(errors[1]):
        status = EvaluationStatus.OUT_OF_BOUNDS if tool == "memcheck" else EvaluationStatus.NONDETERMINISTIC
        raise RejectedError(status, f"{tool} found {errors[1]} errors", log[-2000:])
    return 0


def _profile(court: Court, order: bytes) -> JsonValue:
    """Per kernel, what its counters say; a sentence where this user may not read them."""
    command = [str(_TOOLS / "ncu"), "--csv", "--page", "raw", "--metrics", ",".join(_METRICS)]
    code, log = _run(court, order, command)
    lines = [line for line in log.splitlines() if line.startswith('"')]
    if len(lines) < 2:
        if "ERR_NVGPUCTRPERM" in log:
            return "the driver keeps its counters from this user"
        return f"ncu did not run (exit code {code}): {' '.join(log.split())[-300:]}"
    rows = list(csv.DictReader(io.StringIO("\n".join(lines))))
    return [
        {"kernel": row.get("Kernel Name", ""), **{word: row.get(name, "") for name, word in _METRICS.items()}}
        for row in rows[1:]  # the first holds units
    ]


def _run(court: Court, order: bytes, command: list[str]) -> tuple[int | None, str]:
    if not Path(command[0]).exists():
        return None, "the tool is not installed"
    file = os.memfd_create("order", os.MFD_CLOEXEC)
    os.write(file, order)
    cell = court.block.start(
        Order(Profile.EXAMINE, View.DEVICE, court.shop.uid_slot, court.device.judge_cores, _LIMITS)
    )
    try:
        environment = {"PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)}
        cell.send({"tool": command, "environment": environment}, [file])
        code = cell.join(time.monotonic() + _TOOL_S)
        return code, cell.log()
    finally:
        cell.close()
        os.close(file)
