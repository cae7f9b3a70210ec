"""Records a landscape with a device worker: in batches, streamed to a file, repeated for noise."""

from __future__ import annotations

import random
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from search.first_knobs import thread_bytes
from search.landscapes.design import MOST_THREAD_BYTES, Places, Plan, values_at
from search.landscapes.landscape import Landscape, Measurements, Moves
from search.landscapes.partial import NOT_BUILT, Key, PartialFile, Row, row_not_built, row_of
from search.records import Environment, EvaluationRequest, EvaluationStatus, Tier, TimingMethod
from search.tuning import draw_seed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from search.landscapes.design import Design
    from search.landscapes.landscape import RecordedStructure
    from search.library import ActionLibrary
    from search.records import Evaluation, Language
    from search.workload import Workload

Spot = tuple[int, Places]
"""Structure and point."""
BATCH = 64
"""Requests that are sent at once; those of one source are neighbours."""
LEAST_BATCH = 8
GUESS_S = 0.6
"""Taken for the seconds of an evaluation until some were made."""
ATTEMPTS = 3
"""Times that a point is sent when the device fails under it."""
MOST_DEATHS = 2
"""A point under which the worker died so often is not sent again."""
LEAST_MEASURED = 0.9
"""Share of its grid that must have been measured for a structure to be kept."""


class FruitlessError(Exception):
    """The device judged nothing of a whole batch; the message is its own."""


class Device(Protocol):
    """Judges a batch of variants, those of one source next to each other."""

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
    """`time.monotonic` after which nothing is measured."""
    repeat_at: float = float("inf")
    """`time.monotonic` after which no point is measured for the first time."""
    batch: int = BATCH
    deaths: Counter[Key] = field(default_factory=Counter)
    """Points that the worker was at when it died."""
    spent_s: float = 0.0
    answered: int = 0

    def run(self) -> bool:
        """Measure what is missing, then the repeats; whether everything is measured.

        Raises:
            search.stdio.DeviceError: the worker is gone; what came before is in the partial file.
            FruitlessError: the device judged nothing of a whole batch.
        """
        self._leave_out()
        first = [(n, one) for n, points in enumerate(self.plan.points) for one in points]
        is_whole = self._round(first, 0, min(self.repeat_at, self.stop_at))
        again = self._chosen()
        rounds = range(1, self.order.design.repeats + 1)
        return all(self._round(again, number, self.stop_at) for number in rounds) and is_whole

    def _leave_out(self) -> None:
        """Note the points that are not built."""
        workload = self.order.narrowed
        sizes = workload.sizes(workload.cases[0])
        nowhere = Environment(device_class=self.device_class, device="not run", workload=workload.hash)
        for structure, one in enumerate(self.plan.structures):
            for places in self.plan.points[structure]:
                kept = thread_bytes(one.blueprint, sizes, values_at(one.blueprint.knobs, places))
                if kept > MOST_THREAD_BYTES and self._is_open((structure, places, 0)):
                    self.partial.add(row_not_built(structure, places, kept, nowhere))

    def _round(self, chosen: Sequence[Spot], number: int, until: float) -> bool:
        """Measure the points that are open; False when time was up first."""
        for _ in range(ATTEMPTS):
            waiting = [spot for spot in chosen if self._is_open((*spot, number))]
            while waiting:
                size = self._batch_size(until - time.monotonic())
                if not size:
                    return False
                self._measure(waiting[:size], number)
                waiting = waiting[size:]
                self.say(f"round {number}: {len(waiting)} points wait, {self.each_s:.2f} s each")
        return True

    def _is_open(self, key: Key) -> bool:
        return key not in self.partial.rows and self.deaths[key] < MOST_DEATHS

    @property
    def each_s(self) -> float:
        """Seconds of an evaluation so far, all in."""
        return max(self.spent_s / self.answered, 1e-3) if self.answered else GUESS_S

    def _batch_size(self, left_s: float) -> int:
        """As many as should end in time; 0 when it is up."""
        if left_s <= 0:
            return 0
        return min(self.batch, max(LEAST_BATCH, int(min(left_s, 1e6) / self.each_s)))

    def _measure(self, spots: Sequence[Spot], number: int) -> None:
        requests = [self._request(*spot, number) for spot in spots]
        answers, failures, began = self.device.evaluate_batch(requests), [], time.monotonic()
        for spot in spots:
            if time.monotonic() >= self.stop_at:
                return  # whoever closes the device ends what it still works on
            self.deaths[*spot, number] += 1
            evaluation = next(answers)
            del self.deaths[*spot, number]
            self.answered += 1
            # A device that failed has said nothing about the program: the point stays open.
            if evaluation.status is EvaluationStatus.INFRA_ERROR:
                failures.append(evaluation.message)
            else:
                self.partial.add(row_of(*spot, number, evaluation))
        self.spent_s += time.monotonic() - began
        if len(failures) == len(spots) >= LEAST_BATCH:
            raise FruitlessError(failures[-1])

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
            needs_walls=False,
        )

    def _chosen(self) -> list[Spot]:
        """Points for the further rounds: a drawn share of those that were measured, and the fastest."""
        design = self.order.design
        rows = [row for row in self.partial.rows.values() if row.round == 0]
        timed = sorted((row for row in rows if row.speedup), key=lambda row: (-(row.speedup or 0), row.key))
        spots = {(row.structure, row.knobs) for row in timed[: design.fastest]}
        built = [row for row in rows if not row.message.startswith(NOT_BUILT)]
        measured = sorted((row.structure, row.knobs) for row in built)
        draw = random.Random(draw_seed(design.seed, "repeats"))
        return sorted(spots | set(draw.sample(measured, round(design.repeat_share * len(measured)))))


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
