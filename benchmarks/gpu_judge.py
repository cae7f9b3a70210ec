"""How fast and how exact is the judge on a GPU? Ours beside a bare loop, a fork, a fresh Python and flashinfer-bench.

    PYTHONPATH=. python benchmarks/gpu_judge.py [--json OUT] [--flashinfer-bench FOLDER] [--smoke] [--only SECTION ...]

One run on one device; ten RMSNorm programs (`gpu_judge_programs.py`) on three batch sizes:

1. `ours` (`gpu_judge_ours.py`): each alone through a running worker, fast tier, then full; knob variants in batches;
2. `bare`, `fork`, `fresh` (`gpu_judge_rivals.py`): load, check, `do_bench` of all three shapes, no sandbox;
3. `fib_persistent`, `fib_isolated` (`gpu_judge_fib.py`): flashinfer-bench 0.1.2 as its users run it, from FOLDER;
4. `accuracy` and `clocks`: one kernel of about 70 us and one of 2 us by trusted launch, slope and `do_bench`.

A section is a process with a deadline of its own: one that fails leaves its error and what it had. The judge also checks
a hidden case, hard values and repeats, which the others do not. Its fast tier times one of the three shapes; the
others time all. Nobody's first candidate is counted, since it pays for what serves many.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpu_judge_figures import TARGETS, derive, ratios, table

_HERE = Path(__file__).resolve().parent
_MARGIN_S = 15.0
"""A section ends by itself so long before it is killed."""
_LOG_BYTES = 3000


@dataclass(frozen=True)
class Section:
    """A program of this folder with its arguments, and the seconds it may take."""

    program: str
    arguments: tuple[str, ...]
    seconds: float
    keys: tuple[str, ...]
    """Where its figures go; an error goes to the first that is missing."""

    @property
    def on_cpu(self) -> bool:
        """Whether it runs without a GPU."""
        return self.program != "gpu_judge_fib.py"


SECTIONS = {
    "ours": Section("gpu_judge_ours.py", ("speed",), 110.0, ("ours", "ours_batch", "ours_full")),
    "bare": Section("gpu_judge_rivals.py", ("bare",), 40.0, ("bare",)),
    "fork": Section("gpu_judge_rivals.py", ("fork",), 50.0, ("fork",)),
    "fresh": Section("gpu_judge_rivals.py", ("fresh", "--count", "5"), 70.0, ("fresh",)),
    "fib_persistent": Section("gpu_judge_fib.py", ("persistent",), 60.0, ("fib_persistent",)),
    "fib_isolated": Section("gpu_judge_fib.py", ("isolated", "--count", "2"), 90.0, ("fib_isolated",)),
    "clocks": Section("gpu_judge_rivals.py", ("clocks",), 40.0, ("clocks",)),
    "accuracy": Section("gpu_judge_ours.py", ("accuracy",), 80.0, ("accuracy",)),
}


def main() -> None:
    """Run the sections one after the other and print what was found."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", type=Path, help="write all figures there, after every section")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--flashinfer-bench", type=Path, default=Path("/tmp/ks/fib"), metavar="FOLDER")
    parser.add_argument("--smoke", action="store_true", help="on the CPU, with other programs: does it run?")
    parser.add_argument("--limit", type=float, default=290.0, metavar="SECONDS", help="for all of it")
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=list(SECTIONS))
    arguments = parser.parse_args()
    results: dict[str, Any] = {"smoke": arguments.smoke}
    stop = time.monotonic() + arguments.limit
    for name in arguments.only:
        began = time.monotonic()
        results |= run(SECTIONS[name], arguments, stop - began)
        print(f"{name}: {time.monotonic() - began:.1f} s", file=sys.stderr, flush=True)
        derive(results)
        results["ratios"] = ratios(results)
        results["targets"] = [target.judge(results) for target in TARGETS]
        if arguments.json:
            arguments.json.write_text(json.dumps(results, indent=1))
    print(table(results))
    if not arguments.json:
        print(json.dumps(results))


def run(section: Section, arguments: argparse.Namespace, left_s: float) -> dict[str, Any]:
    """The section's figures; what it printed last stands under `error` where it failed."""
    if arguments.smoke and not section.on_cpu:
        return {section.keys[0]: {"error": "needs a GPU"}}
    if left_s < 2 * _MARGIN_S:
        return {section.keys[0]: {"error": "no time was left"}}
    seconds = min(section.seconds, left_s)
    with tempfile.TemporaryDirectory() as folder:
        out, log = Path(folder) / "figures.json", Path(folder) / "log"
        line = command(section, seconds, out, arguments)
        error = _finished(line, log, seconds, environment(section, arguments))
        results = _written(out)
        if error:
            key = next((key for key in section.keys if key not in results), section.keys[-1])
            printed = log.read_bytes()[-_LOG_BYTES:].decode(errors="replace")
            results.setdefault(key, {})["error"] = f"{error}: {printed}"
        return results


def command(section: Section, seconds: float, out: Path, arguments: argparse.Namespace) -> list[str]:
    """What to start."""
    program, *more = section.arguments
    line = [sys.executable, str(_HERE / section.program), program, str(out), *more]
    if section.on_cpu:
        line += ["--limit", str(seconds - _MARGIN_S)]
        line += ["--smoke"] if arguments.smoke else []
    if section.program == "gpu_judge_ours.py":
        line += ["--device", "cpu" if arguments.smoke else arguments.device]
    return line


def environment(section: Section, arguments: argparse.Namespace) -> dict[str, str]:
    """Only the section that needs it sees flashinfer-bench and what it brings along."""
    parts = [str(_HERE.parent), os.environ.get("PYTHONPATH", "")]
    if not section.on_cpu:
        parts.append(str(arguments.flashinfer_bench))
    return {**os.environ, "PYTHONPATH": os.pathsep.join(part for part in parts if part)}


def _written(out: Path) -> dict[str, Any]:
    """What a section left, which is nothing when it was killed while it wrote."""
    try:
        results: dict[str, Any] = json.loads(out.read_text())
    except (FileNotFoundError, json.JSONDecodeError):
        return {}
    return results


def _finished(line: list[str], log: Path, seconds: float, variables: dict[str, str]) -> str:
    """Wait for a program and all it started; why it failed, or nothing."""
    with log.open("wb") as file:
        process = subprocess.Popen(
            line, env=variables, stdout=file, stderr=subprocess.STDOUT, start_new_session=True
        )
    try:
        code = process.wait(seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return f"killed after {seconds:.0f} s"
    return f"exit code {code}" if code else ""


if __name__ == "__main__":
    main()
