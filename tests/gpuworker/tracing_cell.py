"""Traces files of the GPU corpus one by one, each in a fork of its own, and prints what came of each as a JSON line.

Run it in a process of its own: `python -m tests.gpuworker.tracing_cell FILE...`.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path

from gpuworker import tracing
from gpuworker.cuda import plan as plans
from gpuworker.cuda.device_facts import H200
from gpuworker.cuda.ghosts import UnreplayableError
from gpuworker.cuda.tracer import traced, warm_up
from search.workload import Workload
from tests.gpu.gpu_bench import request_for


def main(files: list[str]) -> None:
    """Trace them all."""
    warm_up()
    for file in files:
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            print(json.dumps(outcome(Path(file))), flush=True)
            os._exit(0)
        os.waitpid(child, 0)


def outcome(path: Path) -> dict[str, object]:
    """The fault in the plan of its first case, and its steps and scratch; or why there is no plan."""
    request = request_for(path)
    workload = Workload.load(request.workload)
    try:
        plan = traced(tracing._order(request.candidate, workload, list(workload.cases[:1]), H200))
    except UnreplayableError as error:
        return {"unreplayable": str(error)}
    # Whatever a program of the corpus raises is what is asked for.
    except Exception as error:  # noqa: BLE001
        return {"error": f"{type(error).__name__}: {error}"[:500]}
    first = plan.cases[0]
    return {
        "fault": plans.fault(plan, len(workload.inputs) + len(workload.outputs)),
        "kernels": [kernel.name for kernel in plan.kernels],
        "steps": [step.type for step in first.steps],
        "grids": [launch.grid for launch in first.launches],
        "scratch": first.scratch,
    }


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TRITON_CACHE_DIR"] = folder
        main(sys.argv[1:])
