"""The floor of a structure: how fast its plan could be on a device, with the parts that add up to it.

1. Knobs that the plan's expressions name are tried on a thin grid; the fastest setting counts.
2. A launch is priced by the bytes it moves from memory and from the shared cache, its operations, what too few
   programs leave idle, and what a program cannot overlap.
3. `prior` compares a structure with the direct one, as a first guess of its speed-up.

It is rough on purpose: rates are those of `search/devices.py`, nothing is simulated. Written after the roofline
model (Williams et al. 2009) with Little's law for loads in flight and whole rounds of programs.
"""

from __future__ import annotations

import itertools
import math
import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from search.blueprint import Move
from search.compose import compose
from search.devices import DeviceModel
from search.expressions import evaluate_expression
from search.library import shipped_library
from search.records import Language, Record
from search.workload import ITEM_BYTES, Case, DType, Workload

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from search.blueprint import Blueprint, KernelPlan

_CHOICES_PER_KNOB = 4
_MOST_SETTINGS = 256
_FLIGHT = "FLIGHT"
_OVERLAP = 4
"""How sharply moving and operations hide each other: the norm in which they add up (infinite: the larger counts)."""
_NAME = re.compile(r"[A-Za-z_]\w*")


class KernelCost(Record):
    """One launch and where its time goes; the larger of `moving_us` and `operations_us` hides most of the smaller."""

    name: str
    floor_us: float
    launch_us: float
    moving_us: float
    """Bytes at the rate that so many programs reach."""
    operations_us: float
    ragged_us: float
    """The last round of programs leaves part of the device idle."""
    exposed_us: float
    """What a program waits for with too little beside it to do."""
    memory_bytes: float
    cache_bytes: float
    """Met again in the shared cache."""
    spilled_bytes: float
    """Moved besides because a program keeps more than fits on chip; its time is `exposed_us`."""
    operations: dict[str, float]
    programs: int
    resident: int
    """Programs at work in one unit of the device."""
    rounds: float
    coarse: bool
    """The plan does not say what this kernel moves: every input once, every output once."""

    @property
    def bound(self) -> str:
        """What takes longest: `memory`, `operations` or `waiting`."""
        parts = {"memory": self.moving_us, "operations": self.operations_us}
        parts["waiting"] = self.launch_us + self.ragged_us + self.exposed_us
        return max(parts, key=lambda name: parts[name])


class StructureCost(Record):
    """A structure's floor on a device for one case."""

    structure: str
    device: str
    case: str
    floor_us: float
    knobs: dict[str, int]
    """Values at which the floor is reached; only knobs that the plan's expressions name."""
    kernels: tuple[KernelCost, ...]


def structure_cost(
    blueprint: Blueprint, workload: Workload, case: Case, device: DeviceModel
) -> StructureCost:
    """Price a structure at its best knobs.

    Raises:
        ValueError: an expression of the plan names something that is neither an axis nor a knob, or the
            structure leaves its kernels open.
    """
    if not blueprint.kernels:
        raise ValueError(f"{blueprint.title}: its kernels are not known")
    sizes = workload.sizes(case)
    best: tuple[float, tuple[KernelCost, ...], dict[str, int]] | None = None
    for knobs in settings(blueprint, names_of(blueprint), _CHOICES_PER_KNOB, _MOST_SETTINGS):
        kernels = priced(blueprint, workload, device, {**sizes, **knobs})
        floor = sum(kernel.floor_us for kernel in kernels)
        if best is None or floor < best[0]:
            best = floor, kernels, knobs
    if best is None:
        raise ValueError(f"{blueprint.title}: a knob has no choices")
    floor, kernels, knobs = best
    return StructureCost(
        structure=blueprint.fingerprint,
        device=device.name,
        case=case.name,
        floor_us=floor,
        knobs=knobs,
        kernels=kernels,
    )


def priced(
    blueprint: Blueprint, workload: Workload, device: DeviceModel, numbers: Mapping[str, int]
) -> tuple[KernelCost, ...]:
    """The launches at one setting.

    Args:
        blueprint: of a structure of the workload.
        workload: what is computed.
        device: on which.
        numbers: sizes of the axes and values of the knobs that the plan names.

    Raises:
        ValueError: the plan names something else.
    """
    setting = _Setting(blueprint, workload, device, numbers)
    return tuple(setting.kernel(plan) for plan in blueprint.kernels)


def prior(blueprint: Blueprint, workload: Workload, case: Case, device: DeviceModel) -> float:
    """Predicted log of the speed-up over the direct structure: 0 for itself, positive where this one is faster."""
    floor = structure_cost(blueprint, workload, case, device).floor_us
    words = (workload.model_dump_json(), case.model_dump_json(), device.model_dump_json())
    return math.log(_direct_floor(*words, _language(blueprint)) / floor)


def _language(blueprint: Blueprint) -> Language:
    """Only C++ decides on lanes and loop orders."""
    return Language.CPP if {"lanes", "loop_order"} & blueprint.choices.keys() else Language.TRITON


@lru_cache(maxsize=64)
def _direct_floor(workload_json: str, case_json: str, device_json: str, language: Language) -> float:
    """Floor of the direct structure; kept, because every structure of a search is held against it."""
    workload = Workload.model_validate_json(workload_json)
    direct = compose(workload, shipped_library(), (), language)
    case, device = Case.model_validate_json(case_json), DeviceModel.model_validate_json(device_json)
    return structure_cost(direct, workload, case, device).floor_us


# Knobs ---------------------------------------------------------------------------------------------


def settings(blueprint: Blueprint, named: set[str], kept: int, most: int) -> Iterator[dict[str, int]]:
    """A grid over the numbers among the named knobs.

    Args:
        blueprint: of the structure.
        named: names of knobs; others among them do not matter.
        kept: choices of each knob, evenly spread; fewer, down to 2, where the grid is too large.
        most: settings.
    """
    choices = {
        knob.name: [value for value in knob.choices if type(value) is int]
        for knob in blueprint.knobs
        if knob.name in named
    }
    while kept > 2 and math.prod(min(kept, len(values)) for values in choices.values()) > most:
        kept -= 1
    grids = [_thinned(values, kept) for values in choices.values()]
    for values in itertools.product(*grids):
        yield dict(zip(choices, values, strict=True))


def names_of(blueprint: Blueprint) -> set[str]:
    """Axes and knobs that the plan's expressions name."""
    named = {name for kernel in blueprint.kernels for text in _texts(kernel) for name in _NAME.findall(text)}
    return named | {size for tensor in blueprint.intermediates for size in tensor.shape}


def _thinned(values: list[int], kept: int) -> list[int]:
    """Evenly spread over the choices, both ends included."""
    if len(values) <= kept:
        return values
    return [values[round(place * (len(values) - 1) / (kept - 1))] for place in range(kept)]


def _texts(kernel: KernelPlan) -> Iterator[str]:
    for move in (*kernel.reads, *kernel.writes):
        yield from (move.times, move.between)
    yield from (kernel.programs, kernel.workers, kernel.chip_bytes, kernel.flight_bytes)
    yield from kernel.operations.values()


@lru_cache(maxsize=2_000)
def _names(text: str) -> tuple[str, ...]:
    return tuple(sorted(set(_NAME.findall(text))))


@lru_cache(maxsize=50_000)
def _number(text: str, values: tuple[tuple[str, int], ...]) -> int:
    return evaluate_expression(text, dict(values))


# Kernels -------------------------------------------------------------------------------------------


@dataclass
class _Traffic:
    """Bytes of one launch."""

    memory: float = 0.0
    cache: float = 0.0

    @property
    def all(self) -> float:
        return self.memory + self.cache


@dataclass
class _Setting:
    """A plan at one setting of its knobs; kernels are priced in launch order, because data stays in the cache."""

    blueprint: Blueprint
    workload: Workload
    device: DeviceModel
    sizes: Mapping[str, int]
    touched: set[str] = field(default_factory=set)
    measured: dict[str, tuple[int, float]] = field(default_factory=dict)

    def kernel(self, plan: KernelPlan) -> KernelCost:
        """The fastest number of programs beside each other."""
        chip = self._if_told(plan.chip_bytes, 1) or 1
        most = max(1, min(self.device.programs_per_unit, int(self.device.chip_size_bytes // chip)))
        tried = [self._beside(plan, chip, count) for count in _powers_up_to(most)]
        self.touched |= {move.tensor for move in (*self._reads(plan), *self._writes(plan))}
        return min(tried, key=lambda cost: cost.floor_us)

    def _beside(self, plan: KernelPlan, chip: float, resident: int) -> KernelCost:
        device = self.device
        programs = max(1, self._programs(plan))
        workers = self._if_told(plan.workers, 1)
        slots = min(device.units * resident, workers or programs)
        flight = min(programs, slots)
        traffic = self._traffic(plan, flight)
        spilled = 2.0 * max(0.0, chip - device.chip_size_bytes) * programs
        units = min(device.units, flight)
        rounds, whole = _rounds(programs, slots, workers)
        moving = max(
            traffic.memory / device.memory_bytes_per_us,
            traffic.all / device.cache_bytes_per_us,
            traffic.all / self._reach(plan, flight, units),
        )
        counts = {kind: float(self._value(text, flight)) for kind, text in plan.operations.items()}
        working = sum(count / self._rate(kind) for kind, count in counts.items()) * device.units / units
        streamed = float((moving**_OVERLAP + working**_OVERLAP) ** (1.0 / _OVERLAP))
        ragged = streamed * (whole / rounds - 1.0) if rounds > 1 else 0.0
        exposed = self._exposed(plan, moving, working, programs, flight)
        exposed += self._moving_us(spilled, self._hit(spilled / programs * flight))
        return KernelCost(
            name=plan.name,
            floor_us=device.launch_us + streamed + ragged + exposed,
            launch_us=device.launch_us,
            moving_us=moving,
            operations_us=working,
            ragged_us=ragged,
            exposed_us=exposed,
            memory_bytes=traffic.memory,
            cache_bytes=traffic.cache,
            spilled_bytes=spilled,
            operations=counts,
            programs=programs,
            resident=resident,
            rounds=rounds,
            coarse=not (plan.reads or plan.writes),
        )

    def _moving_us(self, size: float, hit: float) -> float:
        """Time of bytes of which a share is met in the cache."""
        return size * (hit / self.device.cache_bytes_per_us + (1.0 - hit) / self.device.memory_bytes_per_us)

    def _reach(self, plan: KernelPlan, flight: int, units: int) -> float:
        """Bytes per us that the loads in flight sustain (Little's law)."""
        asked = self._if_told(plan.flight_bytes, flight)
        if not asked or not self.device.latency_us:
            return self.device.cache_bytes_per_us * units / self.device.units
        return flight * asked / self.device.latency_us

    def _exposed(self, plan: KernelPlan, moving: float, working: float, programs: int, flight: int) -> float:
        """A program alone in its unit loads, works and stores in turn; others beside it fill the gaps."""
        units = min(self.device.units, flight)
        per_unit = programs / units
        beside = max(1.0, flight / units) * (2.0 if plan.overlapped else 1.0)
        in_turn = min(moving, working) + self.device.latency_us * per_unit
        return in_turn / beside**2

    def _programs(self, plan: KernelPlan) -> int:
        if plan.programs:
            return self._value(plan.programs, 1)
        return math.prod(self.sizes.get(axis, 1) for axis in plan.parallel)

    def _rate(self, kind: str) -> float:
        rates = self.device.operations_per_us
        if kind != "matrix":
            return rates[kind]
        dtype = next(iter(self.workload.inputs.values())).dtype
        if dtype is DType.FLOAT32 and not self.workload.policy.tf32:
            return rates["vector"]  # matrix units would round the operands
        return rates["matrix32" if dtype is DType.FLOAT32 else "matrix16"]

    def _traffic(self, plan: KernelPlan, flight: int) -> _Traffic:
        traffic = _Traffic()
        fresh = set(self.touched)
        for move in self._reads(plan):
            size = self._bytes(move.tensor)
            times = float(self._value(move.times, flight))
            first = min(times, 1.0) * size
            known = move.tensor in fresh
            hit = self._hit(self._footprint()) if known else 0.0
            traffic.memory += first * (1.0 - hit)
            traffic.cache += first * hit
            self._again(traffic, move, size * max(0.0, times - 1.0), flight)
            fresh.add(move.tensor)
        for move in self._writes(plan):
            size = self._bytes(move.tensor)
            times = float(self._value(move.times, flight))
            traffic.memory += size
            self._again(traffic, move, size * max(0.0, times - 1.0), flight)
        return traffic

    def _again(self, traffic: _Traffic, move: Move, size: float, flight: int) -> None:
        """Moves after the first are met in the cache as far as what lies between them fits."""
        item = self._item(move.tensor)
        between = item * self._value(move.between, flight) if move.between else self._bytes(move.tensor)
        hit = self._hit(min(between, self._bytes(move.tensor)))
        traffic.cache += size * hit
        traffic.memory += size * (1.0 - hit)

    def _hit(self, between_bytes: float) -> float:
        """Share that is still cached; least-recently-used caches lose everything soon after it stops fitting."""
        return min(1.0, max(0.0, 2.0 - between_bytes / self.device.cache_size_bytes))

    def _footprint(self) -> float:
        """Bytes of everything that earlier kernels touched."""
        return sum(self._bytes(name) for name in self.touched)

    def _reads(self, plan: KernelPlan) -> tuple[Move, ...]:
        if plan.reads or plan.writes:
            return plan.reads
        kept = [tensor.name for tensor in self.blueprint.intermediates if tensor.read_by == plan.name]
        return tuple(Move(tensor=name) for name in (*self.workload.inputs, *kept))

    def _writes(self, plan: KernelPlan) -> tuple[Move, ...]:
        if plan.reads or plan.writes:
            return plan.writes
        kept = [tensor.name for tensor in self.blueprint.intermediates if tensor.written_by == plan.name]
        return tuple(Move(tensor=name) for name in (kept or self.workload.outputs))

    def _bytes(self, name: str) -> float:
        return self._measured(name)[1]

    def _item(self, name: str) -> int:
        return self._measured(name)[0]

    def _measured(self, name: str) -> tuple[int, float]:
        """Bytes of an element and of the whole tensor."""
        if name not in self.measured:
            dtype, shape = self._tensor(name)
            item = ITEM_BYTES[dtype]
            self.measured[name] = item, float(item * math.prod(self.sizes.get(size, 1) for size in shape))
        return self.measured[name]

    def _tensor(self, name: str) -> tuple[DType, tuple[str, ...]]:
        own = {**self.workload.inputs, **self.workload.outputs}.get(name)
        if own is not None:
            return own.dtype, own.shape or ()
        kept = next((tensor for tensor in self.blueprint.intermediates if tensor.name == name), None)
        if kept is None:
            raise ValueError(f"the plan moves {name}, which is no tensor of it")
        return DType(kept.dtype), kept.shape

    def _value(self, text: str, flight: int) -> int:
        """Value of an expression of the plan; 0 for none."""
        if text.isdigit() or not text:
            return int(text or 0)
        sizes = self.sizes
        used = tuple(
            (name, flight if name == _FLIGHT else sizes[name])
            for name in _names(text)
            if name == _FLIGHT or name in sizes
        )
        return _number(text, used)

    def _if_told(self, text: str, flight: int) -> int:
        """The same; 0 also where it names a knob that the structure lacks, as block sizes in C++ and CUDA."""
        told = all(name == _FLIGHT or name in self.sizes for name in _names(text))
        return self._value(text, flight) if told else 0


def _powers_up_to(most: int) -> list[int]:
    return sorted({most, *(1 << place for place in range(most.bit_length()) if 1 << place <= most)})


def _rounds(programs: int, slots: int, workers: int) -> tuple[float, int]:
    """How often all slots are filled, and how often whole: what shares work in equal parts ends together.

    More workers than slots come in rounds themselves, each with its whole share.
    """
    rounds = programs / slots
    if workers:
        return rounds, math.ceil(programs / workers) * math.ceil(workers / slots)
    return rounds, math.ceil(rounds)
