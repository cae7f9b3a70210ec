"""Does the judge's slope clock agree with a stopwatch inside the process? The same kernel, core and flags, both ways.

    python benchmarks/slope_clock.py [--repeats 10] [--core N]

The judge measures from outside, through sandbox, freeze and socket. Here the library is also loaded into a plain
process on the same core, which times its own calls. Prints ten medians of each, their spread, and how far the
medians of these lie apart; the last line is JSON. Run it on a quiet machine.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from gpuworker import requests, scheduling, shop, state
from gpuworker.options import Options
from gpuworker.runner import Runner
from search.knobs import macro_flags, read_knobs
from search.records import Tier

SLOTS = 8
WARM_UP_S = 0.3
PASSES = 25


def main() -> None:
    """Measure both ways and compare."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--core", type=int, default=max(os.sched_getaffinity(0)))
    parser.add_argument("--stopwatch", action="store_true", help="only time in this process, once")
    arguments = parser.parse_args()
    if arguments.stopwatch:
        os.sched_setaffinity(0, {arguments.core})
        scheduling.claim_cores()
        print(timed_calls_us())
        return
    runner = Runner(Options(cores=(arguments.core,), state=str(state.folder())))
    print("device:", json.dumps(runner.start()))
    try:
        rounds = [(slope_us(runner), stopwatch_us(arguments.core)) for _ in range(arguments.repeats)]
    finally:
        runner.close()
    slope, stopwatch = [one for one, _ in rounds], [other for _, other in rounds]
    print("kernel: gpuworker/sample.cpp, softmax, case main, core", arguments.core)
    result = {"slope_us": summary(slope), "stopwatch_us": summary(stopwatch)}
    for name, values in (("slope", slope), ("stopwatch", stopwatch)):
        print(f"{name:9} {', '.join(f'{value:.1f}' for value in values)} us")
    difference = result["slope_us"]["median"] / result["stopwatch_us"]["median"] - 1
    print(f"slope clock over stopwatch, median of {arguments.repeats}: {difference:+.2%}")
    print(json.dumps({**result, "difference": difference, "repeats": arguments.repeats}))


def summary(values: list[float]) -> dict[str, float]:
    """Median and spread (largest minus smallest, as a share of the median)."""
    middle = statistics.median(values)
    return {"median": middle, "spread": (max(values) - min(values)) / middle}


def slope_us(runner: Runner) -> float:
    """One evaluation by the judge."""
    request = requests.make(requests.load_workload("softmax"), requests.sample(), Tier.FAST, 120.0)
    evaluation = next(runner.evaluate([request], lambda: None))
    if evaluation.median_us is None:
        raise SystemExit(f"the judge did not time it: {evaluation.status} {evaluation.message}")
    return evaluation.median_us


def stopwatch_us(core: int) -> float:
    """One plain process that times its own calls; OpenMP reads its variable when it is loaded, so it starts afresh."""
    command = [sys.executable, __file__, "--stopwatch", "--core", str(core)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return float(subprocess.run(command, env=environment, capture_output=True, check=True).stdout)


def timed_calls_us() -> float:
    """Median over passes of the time of one call, each pass over as many buffers as the judge's."""
    calls = bound_calls()
    stop = time.perf_counter() + WARM_UP_S
    while time.perf_counter() < stop:
        for call in calls:
            call()
    passes = []
    for _ in range(PASSES):
        start = time.perf_counter()
        for call in calls:
            call()
        passes.append((time.perf_counter() - start) / len(calls) * 1e6)
        time.sleep(0.005)  # the judge's passes have gaps too
    return statistics.median(passes)


def bound_calls() -> list:
    """The kernel on each of several pairs of buffers."""
    workload = requests.load_workload("softmax")
    sizes = workload.sizes(next(case for case in workload.cases if case.name == "main"))
    axes = (ctypes.c_int64 * len(sizes))(*sizes.values())
    run = ctypes.CDLL(str(built())).run
    run.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
    generator = np.random.default_rng(0)
    calls = []
    for _ in range(SLOTS):
        x = generator.standard_normal(tuple(sizes.values()), dtype=np.float32)
        y = np.empty_like(x)
        buffers = (ctypes.c_void_p * 2)(x.ctypes.data, y.ctypes.data)
        # The arrays live as long as the call that points at them.
        calls.append(lambda buffers=buffers, keep=(x, y): run(buffers, axes, None))
    return calls


def built() -> Path:
    """The library, with the judge's flags."""
    candidate = requests.sample()
    source = candidate.sources[0].content
    folder = Path(tempfile.mkdtemp())
    (folder / "sample.cpp").write_text(source)
    knobs = macro_flags(read_knobs(candidate.language, source))
    command = [shop.COMPILER, *shop.FLAGS, *knobs, "sample.cpp", "-o", "sample.so"]
    subprocess.run(command, cwd=folder, check=True)
    return folder / "sample.so"


if __name__ == "__main__":
    main()
