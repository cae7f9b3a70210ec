"""`python -m search record`: measure a landscape with a device worker of this machine."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from search.landscapes.design import Design, plan
from search.landscapes.files import SUFFIX, write_landscape
from search.landscapes.partial import PartialFile
from search.landscapes.recorder import BATCH, FruitlessError, Order, Recorder, assembled
from search.library import shipped_library, shipped_workloads
from search.records import Language
from search.stdio import DeviceError, StdioDevice
from search.workload import Workload

STARTS = 8
"""Times that a device worker is started."""
UNFINISHED = 3
"""Exit status when the time was up; the same command goes on."""
FIRST_SHARE = 0.87
"""Share of the time after which points that are measured are measured again, where the file is to be finished."""


def record(arguments: list[str]) -> int:
    """Record, or go on recording; exit status 3 when `--stop-after` ended it first."""
    options = _parser().parse_args(arguments)
    try:
        return _record(options)
    except (ValueError, OSError, DeviceError) as error:
        sys.stderr.write(f"record: {error}\n")
        return 2


def _record(options: argparse.Namespace) -> int:
    order = _order(options)
    recorder, is_whole = _measured(options, order)
    if not is_whole and not options.finish:
        _say(f"stopped with {len(recorder.partial.rows)} evaluations; the same command goes on")
        return UNFINISHED
    landscape = assembled(order, recorder.plan, recorder.partial)
    write_landscape(options.out, landscape)
    _say(f"{options.out}: {len(landscape.rows)} points of {len(landscape.structures)} structures")
    return 0


def _measured(options: argparse.Namespace, order: Order) -> tuple[Recorder, bool]:
    """Run a recorder; a device worker that dies is started again, and what it held is sent again.

    Raises:
        DeviceError: it died too often, and what was measured is not to be written.
    """
    recorder: Recorder | None = None
    started = time.monotonic()
    for _ in range(STARTS):
        try:
            with StdioDevice(options.device) as worker:
                recorder = recorder or _recorder(options, order, worker, started)
                recorder.device = worker
                return recorder, recorder.run()
        except (DeviceError, FruitlessError) as error:
            _say(f"the device worker is started again: {error}")
    if recorder is not None and options.finish:
        return recorder, False
    raise DeviceError(f"the device worker failed {STARTS} times")


def _recorder(options: argparse.Namespace, order: Order, worker: StdioDevice, started: float) -> Recorder:
    """Of the plan for the worker's device class, with what was measured before."""
    device_class = str(worker.description["device_class"])
    chosen = plan(order.narrowed, order.library, order.language, device_class, order.design)
    points = sum(map(len, chosen.points))
    _say(f"{order.name}: {len(chosen.structures)} structures, {points} points; {order.design.text}")
    partial = PartialFile(options.out.with_name(options.out.name + ".part"), chosen.hash)
    partial.note_versions(worker.description)
    share = FIRST_SHARE if options.finish else 1.0
    return Recorder(
        order,
        chosen,
        partial,
        worker,
        device_class,
        _say,
        stop_at=started + options.stop_after,
        repeat_at=started + share * options.stop_after,
        batch=options.batch,
    )


def _order(options: argparse.Namespace) -> Order:
    workload = workload_named(options.workload)
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


def workload_named(text: str) -> Workload:
    """A shipped workload, or the one in a file.

    Raises:
        ValueError: there is no such file, or what is wrong in it.
    """
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
    parser.add_argument("--batch", type=_count, default=BATCH, help="requests that are sent at once")
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
