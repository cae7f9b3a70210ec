"""What others do with a candidate, without their frameworks: load, check against a float reference, time three shapes.

    python benchmarks/gpu_judge_rivals.py fresh|fork|bare|clocks OUT [--smoke] [--count N] [--limit SECONDS]

`fresh` starts a Python for each candidate, `fork` a child of a process that imported torch and triton but has no CUDA
context, `bare` takes them in a loop. Each section has a compiler cache of its own, which the first candidate,
not counted, fills with what is not the candidate's. `clocks` times one kernel with `do_bench`, and replayed as a graph.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gpu_judge_programs as programs
from gpu_judge_figures import summary

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.connection import Connection

_TOLERANCE = 0.01
_CLOCKINGS = 5


def judge_once(path: Path, *, smoke: bool) -> dict[str, float]:
    """Everything that such a runner does with one candidate.

    Returns:
        Median microseconds by case.

    Raises:
        AssertionError: a wrong output.
    """
    import torch

    module, reference = load(path), load_reference()
    times: dict[str, float] = {}
    for rows in programs.SMOKE_ROWS if smoke else programs.ROWS:
        x, weight, y = tensors(rows, smoke=smoke)
        module.run(x, weight, y)
        torch.testing.assert_close(y.float(), reference(x, weight).float(), rtol=_TOLERANCE, atol=_TOLERANCE)
        times[f"rows_{rows}"] = clocked_us(lambda: module.run(x, weight, y), smoke=smoke)  # noqa: B023
    return times


def load(path: Path) -> Any:
    """The module in a file, under its own name."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def load_reference() -> Callable[..., Any]:
    """The workload's reference."""
    scope: dict[str, Any] = {}
    exec(compile(programs.REFERENCE, "reference.py", "exec"), scope)
    found: Callable[..., Any] = scope["run"]
    return found


def tensors(rows: int, *, smoke: bool) -> tuple[Any, Any, Any]:
    """Inputs and a place for the output."""
    import torch

    made = {"dtype": torch.bfloat16, "device": "cpu" if smoke else "cuda"}
    x = torch.randn(rows, programs.COLUMNS, **made)
    return x, torch.randn(programs.COLUMNS, **made), torch.empty_like(x)


def clocked_us(call: Callable[[], object], *, smoke: bool) -> float:
    """Median microseconds of a call: triton's `do_bench`, or a stopwatch without a GPU."""
    if smoke:
        began = time.perf_counter()
        call()
        return (time.perf_counter() - began) * 1e6
    from triton.testing import do_bench

    return float(do_bench(call, return_mode="median")) * 1e3


class Section:
    """Walls of the candidates of one section, written down after each."""

    def __init__(self, name: str, arguments: argparse.Namespace) -> None:
        """Write the candidates into a new folder and give the section a new compiler cache."""
        self.name = name
        self.smoke = bool(arguments.smoke)
        self._out = Path(arguments.out)
        self._stop = time.monotonic() + arguments.limit
        self._folder = tempfile.TemporaryDirectory(prefix=f"bench-{name}-")
        folder = Path(self._folder.name)
        os.environ["TRITON_CACHE_DIR"] = str(folder / "triton")
        sources = programs.smoke_programs() if self.smoke else programs.triton_programs()
        sources = sources[: arguments.count + 1]
        self.paths = [folder / f"candidate_{number}.py" for number in range(len(sources))]
        for path, source in zip(self.paths, sources, strict=True):
            path.write_text(source)

    def walk(self, judge: Callable[[Path], object]) -> None:
        """Judge one after the other while there is time."""
        walls: list[float] = []
        answers: list[object] = []
        for path in self.paths:
            if time.monotonic() > self._stop:
                break
            began = time.monotonic()
            answers.append(judge(path))
            walls.append(time.monotonic() - began)
            first, *later = walls
            self.write({"first_s": first, "wall_s": summary(later), "answers": answers})

    def write(self, figures: dict[str, Any]) -> None:
        """Leave the figures that there are."""
        self._out.write_text(json.dumps({self.name: figures}))


def fresh(section: Section) -> None:
    """A new Python for each."""
    more = ["--smoke"] if section.smoke else []

    def judge(path: Path) -> object:
        command = [sys.executable, __file__, "one", str(path), *more]
        return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)

    section.walk(judge)


def fork(section: Section) -> None:
    """A child of this process for each; this process never makes a CUDA context."""
    import torch
    import triton.testing  # noqa: F401 - for the children

    torch.set_num_threads(1)

    context = multiprocessing.get_context("fork")

    def judge(path: Path) -> object:
        receiving, sending = context.Pipe(duplex=False)
        child = context.Process(target=_tell, args=(sending, path, section.smoke))
        child.start()
        sending.close()
        try:
            return receiving.recv()
        except EOFError as error:
            raise RuntimeError(f"the child for {path.name} failed") from error
        finally:
            child.join()

    section.walk(judge)


def _tell(sending: Connection, path: Path, smoke: bool) -> None:
    sending.send(judge_once(path, smoke=smoke))


def bare(section: Section) -> None:
    """All in this process."""
    import torch  # noqa: F401 - a loop pays for imports once
    import triton.testing  # noqa: F401

    section.walk(lambda path: judge_once(path, smoke=section.smoke))


def clocks(section: Section) -> None:
    """How long `plain_program` takes by others' clocks, several times each, in microseconds."""
    path = section.paths[0].with_name("plain.py")
    path.write_text(programs.smoke_programs()[0] if section.smoke else programs.plain_program())
    found: dict[str, Any] = {}
    for name, rows in (("large", programs.LARGE_ROWS), ("small", programs.SMALL_ROWS)):
        x, weight, y = tensors(programs.SMOKE_ROWS[0] if section.smoke else rows, smoke=section.smoke)
        module = load(path)

        def call(module: Any = module, given: tuple[Any, ...] = (x, weight, y)) -> None:
            module.run(*given)

        found[name] = {
            "do_bench": [clocked_us(call, smoke=section.smoke) for _ in range(_CLOCKINGS)],
            "graph": [] if section.smoke else [_graph_us(call) for _ in range(_CLOCKINGS)],
        }
        section.write(found)


def _graph_us(call: Callable[[], object]) -> float:
    """Replayed as a CUDA graph, with a warm cache: no launch time, but the memory of a loop."""
    import torch
    from triton.testing import do_bench_cudagraph

    with torch.cuda.stream(torch.cuda.Stream()):
        return float(do_bench_cudagraph(call, return_mode="median")) * 1e3


SECTIONS = {"fresh": fresh, "fork": fork, "bare": bare, "clocks": clocks}


def main() -> None:
    """Run one section, or judge one file."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("section", choices=[*SECTIONS, "one"])
    parser.add_argument("out", help="file for the figures; with `one`, the candidate")
    parser.add_argument("--smoke", action="store_true")
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--limit", type=float, default=120.0, help="start nothing new after so many seconds")
    arguments = parser.parse_args()
    if arguments.section == "one":
        print(json.dumps(judge_once(Path(arguments.out), smoke=arguments.smoke)))
        return
    SECTIONS[arguments.section](Section(arguments.section, arguments))


if __name__ == "__main__":
    main()
