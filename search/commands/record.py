"""`python -m search record`: measure a landscape with a device worker of this machine."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from search.landscapes.design import Design, plan
from search.landscapes.files import SUFFIX, write_landscape
from search.landscapes.partial import PartialFile
from search.landscapes.recorder import Order, Recorder, assembled
from search.library import shipped_library, shipped_workloads
from search.records import Language
from search.stdio import DeviceError, StdioDevice
from search.workload import Workload

STARTS = 5
"""Times that a device worker is started."""
UNFINISHED = 3
"""Exit status when the time was up; the same command goes on."""


def record(arguments: list[str]) -> int:
    """Record, or go on recording; exit status 3 when `--stop-after` ended it first."""
    options = _parser().parse_args(arguments)
    try:
        return _record(options)
    except (ValueError, OSError, DeviceError) as error:
        sys.stderr.write(f"record: {error}\n")
        return 2


def _record(options: argparse.Namespace) -> int:
    stop_at = time.monotonic() + options.stop_after
    order = _order(options)
    recorder, is_whole = _measured(options, order, stop_at)
    if not is_whole and not options.finish:
        _say(f"stopped with {len(recorder.partial.rows)} evaluations; the same command goes on")
        return UNFINISHED
    landscape = assembled(order, recorder.plan, recorder.partial)
    write_landscape(options.out, landscape)
    _say(f"{options.out}: {len(landscape.rows)} points of {len(landscape.structures)} structures")
    return 0


def _measured(options: argparse.Namespace, order: Order, stop_at: float) -> tuple[Recorder, bool]:
    """Run a recorder; a device worker that dies is started again, and what it held is sent again.

    Raises:
        DeviceError: it died too often.
    """
    recorder: Recorder | None = None
    for _ in range(STARTS):
        try:
            with StdioDevice(options.device) as worker:
                recorder = recorder or _recorder(options.out, order, worker, stop_at)
                recorder.device = worker
                return recorder, recorder.run()
        except DeviceError as error:
            _say(f"the device worker is started again: {error}")
    raise DeviceError(f"the device worker died {STARTS} times")


def _recorder(out: Path, order: Order, worker: StdioDevice, stop_at: float) -> Recorder:
    """Of the plan for the worker's device class, with what was measured before."""
    device_class = str(worker.description["device_class"])
    chosen = plan(order.narrowed, order.library, order.language, device_class, order.design)
    points = sum(map(len, chosen.points))
    _say(f"{order.name}: {len(chosen.structures)} structures, {points} points; {order.design.text}")
    partial = PartialFile(out.with_name(out.name + ".part"), chosen.hash)
    partial.note_versions(worker.description)
    return Recorder(order, chosen, partial, worker, device_class, _say, stop_at)


def _order(options: argparse.Namespace) -> Order:
    workload = _workload(options.workload)
    cases = {case.name: case for case in workload.cases}
    first = next((case.name for case in workload.cases if case.timed), workload.cases[0].name)
    case = options.case or first
    if case not in cases:
        raise ValueError(f"--case {case}: the workload has {', '.join(cases)}")
    design = Design(
        structures=options.structures,
        points=options.points,
        repeat_share=options.repeat_share,
        repeats=options.repeats,
        fastest=options.fastest,
        seed=options.seed,
    )
    if not options.out.name.endswith(SUFFIX):
        raise ValueError(f"--out {options.out}: the name must end in {SUFFIX}")
    name = options.out.name.removesuffix(SUFFIX)
    return Order(name, workload, case, options.language, shipped_library(), design, options.deadline)


def _workload(text: str) -> Workload:
    shipped = shipped_workloads()
    if text in shipped:
        return shipped[text]
    if not Path(text).is_file():
        raise ValueError(f"--workload {text}: no such file, and not one of {', '.join(shipped)}")
    return Workload.model_validate_json(Path(text).read_text("utf-8"))


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m search record", description=__doc__)
    parser.add_argument("--workload", required=True, help="slug of a shipped workload, or a file")
    parser.add_argument("--language", type=Language, required=True, choices=list(Language))
    parser.add_argument("--device", required=True, help="as `python -m gpuworker serve --device` takes it")
    parser.add_argument("--case", default="", help="case to measure; otherwise the first timed one")
    parser.add_argument("--structures", type=_count, default=40, help="at most so many")
    parser.add_argument("--points", type=_count, default=64, help="at most so many of each structure")
    parser.add_argument("--seed", type=_whole, default=0, help="of the design")
    parser.add_argument("--repeat-share", type=_share, default=0.1, help="share of points measured again")
    parser.add_argument("--fastest", type=_whole, default=16, help="fastest points, measured again too")
    parser.add_argument("--repeats", type=_whole, default=2, help="further evaluations of each of those")
    parser.add_argument("--deadline", type=float, default=120.0, metavar="SECONDS", help="of one evaluation")
    parser.add_argument("--stop-after", type=float, default=float("inf"), metavar="SECONDS")
    parser.add_argument("--finish", action="store_true", help="write what was measured when time is up")
    parser.add_argument(
        "--out", type=Path, required=True, help=f"<name>{SUFFIX}; <out>.part until it is done"
    )
    return parser


def _whole(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number")
    return int(text)


def _count(text: str) -> int:
    if _whole(text) < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return int(text)


def _share(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError("must be from 0 to 1")
    return value
