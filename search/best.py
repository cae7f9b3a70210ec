"""The fastest program found for a case of a workload, as a row of a table, and as files that a judge measures again.

It is the best of a landscape, or of a search that was made for it (`python -m search find`). `export` writes the
program with the best knob values in its `KNOBS` literal, and the workload with the one case timed; `measured` reads what
`python -m gpuworker evaluate --tier full --baselines … --json` said of them. Without such a result the row of a landscape
holds what that has: the fast tier, and the eager baseline.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

from search.devices import device_model
from search.expressions import evaluate_expression
from search.knobs import with_knobs
from search.records import Evaluation, EvaluationStatus, Interval, KnobValue, Language, Record
from search.workload import ITEM_BYTES, Workload

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from search.landscapes.landscape import Landscape
    from search.structure import Point
    from search.workload import Case

ENDINGS = {Language.TRITON: ".py", Language.PYTORCH: ".py", Language.CPP: ".cpp", Language.CUDA: ".cu"}
EAGER = "eager"


class ResultError(ValueError):
    """A file that holds no evaluation, or one of another program; names the file."""


class Against(Record):
    """Time of a baseline, and how much faster the program is."""

    median_us: float
    speedup: Interval


class Winner(Record):
    """The fastest program for one case of a workload, with all that is needed to measure it again."""

    name: str
    workload: Workload
    case: str
    language: Language
    device_class: str
    device: str
    """For people."""
    label: str
    """How and when it was found; the date comes last, after a comma."""
    structure: str
    """Title of its blueprint."""
    knobs: dict[str, KnobValue]
    source: str
    """Without the knob values."""


class Best(Record):
    """A winner and its times."""

    name: str
    workload: str
    case: str
    sizes: str
    """Of the axes, e.g. `M=2048 N=32000`."""
    device: str
    label: str
    structure: str
    knobs: dict[str, KnobValue]
    median_us: Interval
    """Low and high are the 95 % interval of a full measurement, or the tenths of a fast one."""
    tier: str
    against: dict[str, Against]
    """By the baseline's name; `eager` is always there."""
    of_floor: float | None
    """Share of the time that moving the data, or computing, takes at the device's measured rates."""


def best_of(found: Landscape) -> tuple[int, Point]:
    """The program of highest median speed-up; one that was measured once has only the low end of its interval.

    Raises:
        ValueError: nothing passed.
    """
    if not found.truth:
        raise ValueError(f"{found.name}: nothing passed")
    return max(found.truth, key=lambda key: _surely(found, key))


def _surely(found: Landscape, key: tuple[int, Point]) -> float:
    rows = found.rows[key]
    low = found.measurements.low[rows[0]]
    return found.truth[key] if len(rows) > 1 or low is None else low


def winner_of(found: Landscape) -> Winner:
    """Of a landscape.

    Raises:
        ValueError: nothing passed.
    """
    place, point = best_of(found)
    structure = found.structures[place]
    names = [knob.name for knob in structure.blueprint.knobs]
    return Winner(
        name=found.name,
        workload=found.workload,
        case=found.case,
        language=found.language,
        device_class=found.environment.device_class,
        device=found.environment.device,
        label=found.label,
        structure=structure.blueprint.title,
        knobs=dict(zip(names, point, strict=True)),
        source=structure.sources[0].content,
    )


def export(winner: Winner, folder: Path) -> Path:
    """Write the program and its workload; the program's path."""
    path = folder / f"{winner.name}{ENDINGS[winner.language]}"
    path.write_text(with_knobs(winner.language, winner.source, winner.knobs), "utf-8")
    workload = one_timed(winner.workload, winner.case)
    (folder / f"{winner.name}.workload.json").write_text(workload.model_dump_json(), "utf-8")
    return path


def recorded(found: Landscape) -> Best:
    """The row of a landscape alone."""
    place, point = best_of(found)
    table, rows = found.measurements, found.rows[place, point]
    passed = [row for row in rows if table.status[row] is EvaluationStatus.PASSED]
    middle = sorted(passed, key=lambda row: table.median_us[row] or math.inf)[len(passed) // 2]
    median_us = _interval(table.median_us[middle], table.p10_us[middle], table.p90_us[middle])
    speedup = _interval(table.speedup[middle], table.low[middle], table.high[middle])
    eager = Against(median_us=table.baseline_us[middle] or math.nan, speedup=speedup)
    return _row(winner_of(found), median_us, "fast", {EAGER: eager})


def measured(winner: Winner, path: Path) -> Best:
    """The row of a winner that was measured again.

    Args:
        winner: what was exported.
        path: what `python -m gpuworker evaluate --json` printed.

    Raises:
        ResultError: it is no such file, or the program did not pass there.
    """
    try:
        document = json.loads(path.read_text("utf-8"))
        intervals, baselines = document.pop("intervals_us", {}), document.pop("baselines", {})
        evaluation = Evaluation.load(document)
        timing = next(one for one in evaluation.cases if one.case == winner.case)
        told = intervals.get(winner.case, {})
        low, high = told.get("low", timing.p10_us), told.get("high", timing.p90_us)
        against = {EAGER: Against(median_us=timing.baseline_us, speedup=timing.speedup)}
        against |= _others(baselines, winner.case)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, StopIteration) as error:
        raise ResultError(f"{path}: is no passed evaluation of {winner.name}: {error}") from error
    time = Interval(value=timing.median_us, low=low, high=high)
    return _row(winner, time, str(evaluation.tier), against)


def _others(baselines: Mapping[str, Any], case: str) -> dict[str, Against]:
    """Those that could be measured; eager is in the evaluation itself."""
    found = {}
    for name, one in baselines.items():
        timing = one.get("cases", {}).get(case)
        if name != EAGER and timing and "candidate_speedup" in timing:
            speedup = Interval.load(timing["candidate_speedup"])
            found[name] = Against(median_us=timing["median_us"], speedup=speedup)
    return found


def _row(winner: Winner, median_us: Interval, tier: str, against: dict[str, Against]) -> Best:
    case = _case(winner)
    return Best(
        name=winner.name,
        workload=winner.workload.name,
        case=winner.case,
        sizes=" ".join(f"{axis}={size}" for axis, size in case.axes.items()),
        device=winner.device,
        label=winner.label,
        structure=winner.structure,
        knobs=winner.knobs,
        median_us=median_us,
        tier=tier,
        against=against,
        of_floor=_of_floor(winner, median_us.value),
    )


def _case(winner: Winner) -> Case:
    return next(case for case in winner.workload.cases if case.name == winner.case)


def one_timed(workload: Workload, name: str) -> Workload:
    """The same workload; every case is checked, one is timed."""
    cases = tuple(case.model_copy(update={"timed": case.name == name}) for case in workload.cases)
    return workload.model_copy(update={"cases": cases})


def _of_floor(winner: Winner, median_us: float) -> float | None:
    model = device_model(winner.device_class)
    if model is None or "memory_bytes_per_us" not in model.sources:
        return None  # a class figure is no floor
    workload, sizes = winner.workload, winner.workload.sizes(_case(winner))
    moved = workload.floor.bytes
    size = evaluate_expression(moved, sizes) if moved else _tensor_bytes(workload, sizes)
    work = workload.floor.operations
    halves = next(iter(workload.inputs.values())).dtype.value in {"float16", "bfloat16"}
    rate = model.operations_per_us["matrix16" if halves else "vector"]
    computing = evaluate_expression(work, sizes) / rate if work else 0.0
    return max(size / model.memory_bytes_per_us, computing) / median_us


def _tensor_bytes(workload: Workload, sizes: Mapping[str, int]) -> int:
    """Every input read once, every output written once."""
    tensors = (*workload.inputs.values(), *workload.outputs.values())
    return sum(
        ITEM_BYTES[tensor.dtype] * math.prod(sizes[axis] for axis in tensor.shape or ()) for tensor in tensors
    )


def _interval(value: float | None, low: float | None, high: float | None) -> Interval:
    if value is None or low is None or high is None:
        raise ValueError("a passed row holds its time")
    return Interval(value=value, low=low, high=high)
