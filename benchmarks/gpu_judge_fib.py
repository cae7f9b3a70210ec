"""flashinfer-bench's own `Benchmark` on the same candidates and shapes, isolated or persistent.

    python benchmarks/gpu_judge_fib.py isolated|persistent OUT [--count N]

Needs `flashinfer_bench` 0.1.2 with safetensors, docstring-parser and filelock to import; flashinfer-python and
apache-tvm-ffi are imported only for solutions that are not Triton. A candidate's seconds are the sum over workloads
of `run_solution`, so the baseline that it makes once per workload is not in them; it is told apart.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import gpu_judge_programs as programs
from gpu_judge_figures import summary

NAME = "rmsnorm_h4096"


def trace_set(count: int) -> Any:
    """Definition, workloads and so many solutions after the first, which is not counted."""
    from flashinfer_bench import Definition, RandomInput, Trace, TraceSet, Workload

    row = {"shape": ["M", "N"], "dtype": "bfloat16"}
    definition = Definition.model_validate(
        {
            "name": NAME,
            "op_type": "rmsnorm",
            "axes": {"M": {"type": "var"}, "N": {"type": "const", "value": programs.COLUMNS}},
            "inputs": {"x": row, "weight": {"shape": ["N"], "dtype": "bfloat16"}},
            "outputs": {"y": row},
            "reference": programs.REFERENCE,
        }
    )
    inputs = {"x": RandomInput(), "weight": RandomInput()}
    workloads = [
        Trace(definition=NAME, workload=Workload(axes={"M": rows}, inputs=inputs, uuid=f"rows_{rows}"))
        for rows in programs.ROWS
    ]
    solutions = [
        _solution(number, source) for number, source in enumerate(programs.triton_programs()[: count + 1])
    ]
    return TraceSet(
        root=Path(os.environ["FIB_DATASET_PATH"]),
        definitions={NAME: definition},
        solutions={NAME: solutions},
        workloads={NAME: workloads},
    )


def _solution(number: int, source: str) -> Any:
    from flashinfer_bench import Solution

    spec = {"language": "triton", "target_hardware": ["cuda"], "entry_point": "kernel.py::run"}
    return Solution.model_validate(
        {
            "name": f"candidate_{number}",
            "definition": NAME,
            "author": "benchmark",
            "spec": spec,
            "sources": [{"path": "kernel.py", "content": source}],
        }
    )


def timed(worker_class: Any) -> dict[str, list[float]]:
    """Make a worker class note how long each solution takes; seconds by solution, one for each workload."""
    seconds: dict[str, list[float]] = defaultdict(list)
    original = worker_class.run_solution

    def run_solution(self: Any, solution: Any, *rest: Any) -> Any:
        began = time.monotonic()
        try:
            return original(self, solution, *rest)
        finally:
            seconds[solution.name].append(time.monotonic() - began)

    worker_class.run_solution = run_solution
    return seconds


def measure(mode: str, count: int) -> dict[str, Any]:
    """Run all solutions on all workloads."""
    from flashinfer_bench.bench import Benchmark, BenchmarkConfig
    from flashinfer_bench.bench.runner.isolated_runner import SubprocessWorker
    from flashinfer_bench.bench.runner.persistent_runner import PersistentSubprocessWorker

    isolated = mode == "isolated"
    seconds = timed(SubprocessWorker if isolated else PersistentSubprocessWorker)
    given = trace_set(count)
    began = time.monotonic()
    benchmark = Benchmark(given, BenchmarkConfig(use_isolated_runner=isolated))
    started_s = time.monotonic() - began
    done = benchmark.run_all(dump_traces=False)
    total_s = time.monotonic() - began
    benchmark.close()
    traces = done.traces.get(NAME, [])
    first, *later = (sum(walls) for walls in seconds.values())
    return {
        "first_s": first,
        "wall_s": summary(later),
        "start_s": started_s,
        "total_s": total_s,
        "baselines_s": total_s - started_s - first - sum(later),
        "statuses": dict(Counter(str(trace.evaluation.status.value) for trace in traces)),
        "messages": [_told(trace.evaluation) for trace in traces if trace.evaluation.status != "PASSED"][:2],
        "reported_ms": {
            f"{trace.solution} {trace.workload.uuid}": trace.evaluation.performance.latency_ms
            for trace in traces
            if trace.evaluation.performance
        },
        "loaded": [name for name in ("flashinfer", "tvm_ffi") if name in sys.modules],
    }


def _told(evaluation: Any) -> str:
    return f"{evaluation.status.value}: {(evaluation.log or '')[-600:]}"


def main() -> None:
    """Run one mode."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("mode", choices=["isolated", "persistent"])
    parser.add_argument("out")
    parser.add_argument("--count", type=int, default=10)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-fib-") as folder:
        # Read at import and by the processes it starts.
        for name in ("FIB_DATASET_PATH", "FIB_CACHE_PATH", "TRITON_CACHE_DIR"):
            os.environ[name] = f"{folder}/{name}"
        results = {f"fib_{arguments.mode}": measure(arguments.mode, arguments.count)}
    Path(arguments.out).write_text(json.dumps(results))


if __name__ == "__main__":
    main()
