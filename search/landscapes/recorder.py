"""Records a landscape with a device worker: in batches of one source, streamed to a file, repeated for noise."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from search.landscapes.design import Places, Plan, values_at
from search.landscapes.landscape import Landscape, Measurements, Moves
from search.landscapes.partial import PartialFile, Row, row_of
from search.records import EvaluationRequest, EvaluationStatus, Tier, TimingMethod
from search.tuning import draw_seed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from search.landscapes.design import Design
    from search.landscapes.landscape import RecordedStructure
    from search.library import ActionLibrary
    from search.records import Evaluation, Language
    from search.workload import Workload

BATCH = 16
ATTEMPTS = 3
"""Times that a point is sent when the device fails under it."""
LEAST_MEASURED = 0.9
"""Share of its grid that must have been measured for a structure to be kept."""


class Device(Protocol):
    """Judges a batch of variants of one source."""

    def evaluate_batch(self, requests: Sequence[EvaluationRequest]) -> Iterator[Evaluation]:
        """One evaluation per request, in order."""
        ...


@dataclass(frozen=True)
class Order:
    """What is to be recorded."""

    name: str
    workload: Workload
    case: str
    language: Language
    library: ActionLibrary
    design: Design
    deadline_s: float = 120.0

    @property
    def narrowed(self) -> Workload:
        """The workload with the one case that is measured."""
        cases = tuple(case for case in self.workload.cases if case.name == self.case)
        return self.workload.model_copy(update={"cases": cases})


@dataclass
class Recorder:
    """Goes through a plan; what the partial file holds already is not measured again."""

    order: Order
    plan: Plan
    partial: PartialFile
    device: Device
    device_class: str
    say: Callable[[str], None] = lambda text: None
    stop_at: float = float("inf")
    """`time.monotonic` after which no batch is begun."""

    def run(self) -> bool:
        """Measure what is missing; whether everything is measured.

        Raises:
            search.stdio.DeviceError: the worker is gone; what came before is in the partial file.
        """
        first = [(n, points) for n, points in enumerate(self.plan.points)]
        if not self._round(first, 0):
            return False
        again = self._chosen()
        rounds = range(1, self.order.design.repeats + 1)
        return all(self._round(again, number) for number in rounds)

    def _round(self, chosen: list[tuple[int, tuple[Places, ...]]], number: int) -> bool:
        for structure, points in chosen:
            title = self.plan.structures[structure].blueprint.title
            for attempt in range(ATTEMPTS):
                open_points = [one for one in points if (structure, one, number) not in self.partial.rows]
                for start in range(0, len(open_points), BATCH):
                    if time.monotonic() >= self.stop_at:
                        return False
                    self._measure(structure, open_points[start : start + BATCH], number)
                if open_points:
                    self.say(f"round {number}, structure {structure}: {title}, attempt {attempt + 1}")
        return True

    def _measure(self, structure: int, points: Sequence[Places], number: int) -> None:
        requests = [self._request(structure, places, number) for places in points]
        for places, evaluation in zip(points, self.device.evaluate_batch(requests), strict=True):
            # A device that failed has said nothing about the program: the point stays open.
            if evaluation.status is not EvaluationStatus.INFRA_ERROR:
                self.partial.add(row_of(structure, places, number, evaluation))

    def _request(self, structure: int, places: Places, number: int) -> EvaluationRequest:
        one = self.plan.structures[structure]
        return EvaluationRequest(
            id=f"{structure}:{'.'.join(map(str, places))}:{number}",
            token="record",
            workload=self.order.narrowed.dump(),
            candidate=one.candidate(self.order.language, values_at(one.blueprint.knobs, places)),
            contract=one.blueprint.contract,
            device_class=self.device_class,
            deadline_s=self.order.deadline_s,
        )

    def _chosen(self) -> list[tuple[int, tuple[Places, ...]]]:
        """Points for the further rounds: a drawn share, and those that were fastest."""
        design = self.order.design
        rows = [row for row in self.partial.rows.values() if row.round == 0]
        timed = sorted((row for row in rows if row.speedup), key=lambda row: (-(row.speedup or 0), row.key))
        keys = {(row.structure, row.knobs) for row in timed[: design.fastest]}
        everything = [(n, one) for n, points in enumerate(self.plan.points) for one in points]
        draw = random.Random(draw_seed(design.seed, "repeats"))
        keys |= set(draw.sample(everything, round(design.repeat_share * len(everything))))
        by_structure: dict[int, list[Places]] = {}
        for structure, places in sorted(keys):
            by_structure.setdefault(structure, []).append(places)
        return [(structure, tuple(points)) for structure, points in by_structure.items()]


def assembled(order: Order, plan: Plan, partial: PartialFile) -> Landscape:
    """The landscape of what was measured; a structure of which too little was measured is left out.

    Raises:
        ValueError: nothing was timed, or not even the direct implementation was measured.
    """
    rows = sorted(partial.rows.values(), key=lambda row: row.key)
    timed = next((row for row in rows if row.status is EvaluationStatus.PASSED), None)
    if timed is None:
        raise ValueError("nothing that was measured passed: there is no landscape to write")
    kept = [n for n in range(len(plan.structures)) if _is_measured(plan, n, partial)]
    if 0 not in kept:
        raise ValueError("the direct implementation was not measured")
    place = {old: new for new, old in enumerate(kept)}
    rows = [row for row in rows if row.structure in place]
    messages = tuple(dict.fromkeys(row.message for row in rows if row.message))
    left_out = len(plan.structures) - len(kept)
    return Landscape(
        name=order.name,
        workload=order.workload,
        workload_hash=order.workload.hash,
        case=order.case,
        language=order.language,
        library=order.library.name,
        library_hash=order.library.hash,
        environment=timed.environment,
        versions=partial.versions,
        date=partial.date,
        tier=Tier.FAST,
        method=timed.method or TimingMethod.SLOPE,
        baseline=timed.baseline,
        design=order.design.text + (f"; {left_out} left out unmeasured" if left_out else ""),
        seed=order.design.seed,
        structures=tuple(_with_resources(plan.structures[n], n, rows) for n in kept),
        moves=_kept_moves(plan.moves, place),
        measurements=_columns(rows, place, messages),
        messages=messages,
    )


def _is_measured(plan: Plan, structure: int, partial: PartialFile) -> bool:
    points = plan.points[structure]
    measured = [(structure, one, 0) in partial.rows for one in points]
    return measured[0] and sum(measured) >= LEAST_MEASURED * len(points)


def _with_resources(one: RecordedStructure, place: int, rows: Sequence[Row]) -> RecordedStructure:
    found = (row.resources for row in rows if row.structure == place and row.resources)
    return one.model_copy(update={"resources": next(found, {})})


def _kept_moves(moves: Moves, place: dict[int, int]) -> Moves:
    rows = [
        row for row in range(len(moves.parent)) if moves.parent[row] in place and moves.child[row] in place
    ]
    return Moves(
        parent=tuple(place[moves.parent[row]] for row in rows),
        child=tuple(place[moves.child[row]] for row in rows),
        action=tuple(moves.action[row] for row in rows),
        weight=tuple(moves.weight[row] for row in rows),
    )


def _columns(rows: Sequence[Row], place: dict[int, int], messages: tuple[str, ...]) -> Measurements:
    return Measurements(
        structure=tuple(place[row.structure] for row in rows),
        knobs=tuple(row.knobs for row in rows),
        status=tuple(row.status for row in rows),
        charged=tuple(row.charged for row in rows),
        device_seconds=tuple(row.device_seconds for row in rows),
        message=tuple(messages.index(row.message) if row.message else -1 for row in rows),
        median_us=tuple(row.median_us for row in rows),
        p10_us=tuple(row.p10_us for row in rows),
        p90_us=tuple(row.p90_us for row in rows),
        samples=tuple(row.samples for row in rows),
        baseline_us=tuple(row.baseline_us for row in rows),
        speedup=tuple(row.speedup for row in rows),
        low=tuple(row.low for row in rows),
        high=tuple(row.high for row in rows),
    )
