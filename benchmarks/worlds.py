"""Synthetic worlds to compare strategies in, modelled on what was measured on an H200 (`search.md`, "A first look").

A world is a set of structures, each with a knob grid and a time for every point, failures included. Four
families: `rows` (row reductions; which structure wins depends on the shape), `tiles` (matrix products; waves
and shared memory), `words` (many structures whose decisions add up) and `rugged` (every structure has an
optimum of its own, next to nothing is shared). All four were looked at while the method was tuned, so none of
them shows how it does elsewhere.
"""

from __future__ import annotations

import itertools
import math
import random
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from search.blueprint import Blueprint, KernelPlan
from search.records import DraftKind, EvaluationStatus, Interval, Knob, KnobValue
from search.steps import Draft, Item, Outcome, Variant
from search.usage import Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

NOISE = 0.01
"""Relative error of one measurement, one sigma."""
WARPS = Knob(name="WARPS", choices=(1, 2, 4, 8, 16, 32), default=4)
STAGES = Knob(name="STAGES", choices=(1, 2, 3, 4), default=2)
BLOCK = Knob(name="BLOCK", choices=(512, 1024, 2048, 4096, 8192), default=1024)
SPLITS = Knob(name="SPLITS", choices=(2, 4, 8, 16, 32), default=4)
ROWS = Knob(name="ROWS", choices=(1, 2, 4, 8), default=1)
PROGRAMS = Knob(name="PROGRAMS", choices=(1, 2, 4, 8), default=2)
TILE_M = Knob(name="TILE_M", choices=(16, 32, 64, 128), default=64)
TILE_N = Knob(name="TILE_N", choices=(32, 64, 128, 256), default=64)
TILE_K = Knob(name="TILE_K", choices=(32, 64, 128), default=32)

Knobs = dict[str, KnobValue]
Time = float | None
"""Microseconds; None: the program fails."""


@dataclass(frozen=True)
class Place:
    """One structure of a world."""

    blueprint: Blueprint
    times: Mapping[tuple[KnobValue, ...], Time]
    """By knob values in the blueprint's order."""

    def time(self, knobs: Mapping[str, KnobValue]) -> Time:
        """Of one program."""
        return self.times[tuple(knobs[knob.name] for knob in self.blueprint.knobs)]


@dataclass
class World:
    """Structures by fingerprint; the first is the direct implementation."""

    name: str
    places: dict[str, Place]
    clumsy: float = 0.15
    """Chance that a structure's first source does not compile."""
    seed: int = 0

    @cached_property
    def best_us(self) -> float:
        """Least true time."""
        return min(time for place in self.places.values() for time in place.times.values() if time)

    @property
    def points(self) -> int:
        """Programs in the world."""
        return sum(len(place.times) for place in self.places.values())


def place_of(choices: dict[str, str], knobs: tuple[Knob, ...], time: Callable[[Knobs], Time]) -> Place:
    """Tabulate one structure."""
    actions = tuple(f"{name}_{word}" for name, word in choices.items() if word != "plain")
    kernel = KernelPlan(name="k", computes="it", parallel=("M",))
    blueprint = Blueprint(workload="w", actions=actions, choices=choices, kernels=(kernel,), knobs=knobs)
    names = [knob.name for knob in knobs]
    grid = itertools.product(*(knob.choices for knob in knobs))
    return Place(blueprint, {point: time(dict(zip(names, point, strict=True))) for point in grid})


def world_of(name: str, places: list[Place], seed: int) -> World:
    """A world; the first place is the direct implementation."""
    return World(name, {place.blueprint.fingerprint: place for place in places}, seed=seed)


# Row reductions ----------------------------------------------------------------------------------

ROW_WORDS = ("resident", "multi_row", "online", "split", "persistent", "split_online")


def rows(rows_count: int, width: int, seed: int, *, extra: bool = True) -> World:
    """Row reductions over (rows_count, width) half-precision values."""
    places = []
    for staging in ("plain", "vector", "streaming") if extra else ("plain",):
        for word in ROW_WORDS:
            knobs = (WARPS, STAGES, BLOCK, *_row_knobs(word))
            choices = {"rows": "plain" if word == "resident" else word, "staging": staging}
            time = _row_time(rows_count, width, word, staging, seed)
            places.append(place_of(choices, knobs, time))
    return world_of(f"rows {rows_count}x{width}", places, seed)


def _row_knobs(word: str) -> tuple[Knob, ...]:
    return {
        "multi_row": (ROWS,),
        "split": (SPLITS,),
        "split_online": (SPLITS,),
        "persistent": (PROGRAMS,),
    }.get(word, ())


def _row_time(m: int, n: int, word: str, staging: str, seed: int) -> Callable[[Knobs], Time]:
    draw = random.Random(repr((seed, m, n, word, staging)))
    skew = math.exp(draw.gauss(0, 0.05))
    per_thread_best = 2 ** draw.uniform(3.0, 4.6) / (1.6 if staging == "vector" else 1.0)
    stages_best = draw.choice((1, 2, 3)) + (word in ("online", "split_online", "persistent"))

    def time(knobs: Knobs) -> Time:
        warps, stages, block = (int(knobs[name]) for name in ("WARPS", "STAGES", "BLOCK"))
        splits, tall = int(knobs.get("SPLITS", 1)), int(knobs.get("ROWS", 1))
        part = math.ceil(n / splits)
        online = word in ("online", "split_online")
        chunk = min(block, part) if online else part
        held = chunk * tall / (32 * warps)
        if held > 512 or (not online and part > 65536) or stages * block * tall * 4 > 220_000:
            return None
        programs = int(knobs["PROGRAMS"]) * 132 if word == "persistent" else m * splits / tall
        threads = min(64 / warps, max(1, 128 / held * 8 / warps)) * warps / 64
        waves = programs / (132 * max(1, min(16, 64 // warps)))
        fill = min(1.0, waves) * (1.0 if waves < 1 or word == "persistent" else waves / math.ceil(waves))
        moved = m * n * 2 * (2 + (online and chunk < part)) + m * splits * 16
        reach = 0.93 * fill**0.6 * min(1.0, 0.55 + 0.45 * threads) * skew
        reach *= math.exp(-0.06 * math.log2(held / per_thread_best) ** 2)
        reach *= math.exp(-0.05 * abs(stages - stages_best) * (1 if word != "resident" else 0.3))
        if not online:
            reach *= math.exp(-0.02 * abs(math.log2(block / 2048)))
        launch = 2.5 * (2 if splits > 1 else 1) + (0.0 if word == "persistent" else m / tall * 0.0012)
        return moved / (4.8e6 * max(reach, 0.02)) + launch

    return time


# Matrix products ---------------------------------------------------------------------------------

TILE_WORDS = ("tiled", "grouped", "split_k", "persistent", "stream_k", "swapped")


def tiles(m: int, n: int, k: int, seed: int) -> World:
    """Half-precision products (m, k) by (k, n)."""
    places = []
    for word, load in itertools.product(TILE_WORDS, ("plain", "descriptor")):
        knobs = (TILE_M, TILE_N, TILE_K, WARPS, STAGES, *((SPLITS,) if word == "split_k" else ()))
        choices = {"order": "plain" if word == "tiled" else word, "load": load}
        places.append(place_of(choices, knobs, _tile_time(m, n, k, word, load, seed)))
    return world_of(f"tiles {m}x{n}x{k}", places, seed)


def _tile_time(m: int, n: int, k: int, word: str, load: str, seed: int) -> Callable[[Knobs], Time]:
    draw = random.Random(repr((seed, m, n, k, word, load)))
    skew, warp_shift = math.exp(draw.gauss(0, 0.06)), draw.gauss(0, 0.5)
    if word == "swapped":
        m, n = n, m

    def time(knobs: Knobs) -> Time:
        tm, tn, tk = (int(knobs[name]) for name in ("TILE_M", "TILE_N", "TILE_K"))
        warps, stages, splits = int(knobs["WARPS"]), int(knobs["STAGES"]), int(knobs.get("SPLITS", 1))
        if (tm + tn) * tk * 2 * stages > 227_000 or tm * tn / (32 * warps) > 512 or (warps > 8 and tm < 32):
            return None
        count = math.ceil(m / tm) * math.ceil(n / tn) * splits
        resident = max(1, min(4, 227_000 // ((tm + tn) * tk * 2 * stages + 1), 32 // warps))
        waves = count / (132 * resident)
        smooth = word in ("stream_k", "persistent")
        fill = min(1.0, waves) if waves < 1 else (0.97 if smooth else waves / math.ceil(waves))
        dense = min(1.0, tm * tn / (128 * 128)) ** 0.35
        hide = 1 - 0.5 / (stages + resident + (load == "descriptor"))
        fit = math.exp(-0.07 * (math.log2(tm * tn / (32 * warps)) - 6 + warp_shift) ** 2)
        work = (
            2
            * math.ceil(m / tm)
            * tm
            * math.ceil(n / tn)
            * tn
            * k
            / (8.5e8 * dense * hide * fit * skew * fill)
        )
        reuse = 1.25 if word in ("grouped", "persistent") else 1.0
        moved = (m * k * n / tn + k * n * m / tm) * 2 / (1.1e7 * reuse) + m * n * 2 * (
            1 + 4 * (splits > 1)
        ) / 4.2e6
        return max(work, moved) + 0.3 * min(work, moved) + 3.0 * (1 + (splits > 1))

    return time


# Many structures ---------------------------------------------------------------------------------


def words(counts: tuple[int, ...], seed: int, *, shared: float = 0.7) -> World:
    """One word per decision; effects of words, pairs of words and knobs; `shared` of the knob optimum is common."""
    places = []
    names = [f"d{place}" for place in range(len(counts))]
    for choice in itertools.product(*(range(count) for count in counts)):
        choices = {name: f"w{word}" if word else "plain" for name, word in zip(names, choice, strict=True)}
        knobs = (WARPS, STAGES, BLOCK, *((ROWS,) if choice[0] % 2 else ()))
        places.append(place_of(choices, knobs, _word_time(choice, knobs, seed, shared)))
    return world_of(f"words {'x'.join(map(str, counts))}", places, seed)


def _word_time(
    choice: tuple[int, ...], knobs: tuple[Knob, ...], seed: int, shared: float
) -> Callable[[Knobs], Time]:
    def draw(*what: object) -> random.Random:
        return random.Random(repr((seed, *what)))

    level = sum(draw("word", at, word).gauss(0, 0.22) for at, word in enumerate(choice))
    for pair in itertools.combinations(enumerate(choice), 2):
        level += draw("pair", pair).gauss(0, 0.1)
    optimum = {
        knob.name: shared * draw("common", knob.name).random()
        + (1 - shared) * draw("own", choice, knob.name).random()
        for knob in knobs
    }
    weight = {knob.name: draw("weight", knob.name).uniform(0.2, 1.2) for knob in knobs}
    bend = draw("bend", choice[0]).uniform(-0.8, 0.8)

    def time(values: Knobs) -> Time:
        away = [
            knob.choices.index(values[knob.name]) / (len(knob.choices) - 1) - optimum[knob.name]
            for knob in knobs
        ]
        moved = any(values[knob.name] != knob.default for knob in knobs)
        if moved and (draw("fails", choice, tuple(values.items())).random() < 0.04 or sum(away) > 1.3):
            return None
        cost = sum(weight[knob.name] * gap**2 for knob, gap in zip(knobs, away, strict=True))
        return 100 * math.exp(-level + cost + bend * away[0] * away[2])

    return time


# Nothing shared ----------------------------------------------------------------------------------


def rugged(count: int, seed: int) -> World:
    """Every structure has its own optimum, its own weights, and steps that no smooth model expects."""
    places = []
    for number in range(count):
        words = (number // 3, number % 3)
        choices = {name: f"w{word}" if word else "plain" for name, word in zip("ab", words, strict=True)}
        places.append(place_of(choices, (WARPS, STAGES, BLOCK, PROGRAMS), _rugged_time(number, seed)))
    return world_of(f"rugged {count}", places, seed)


def _rugged_time(number: int, seed: int) -> Callable[[Knobs], Time]:
    draw = random.Random(repr((seed, number)))
    level = draw.gauss(0, 0.25)
    knobs = (WARPS, STAGES, BLOCK, PROGRAMS)
    steps = [[draw.gauss(0, 0.2) for _ in knob.choices] for knob in knobs]
    pairs = {
        (one, other): [[draw.gauss(0, 0.1) for _ in knobs[other].choices] for _ in knobs[one].choices]
        for one, other in ((0, 2), (1, 2), (0, 3))
    }

    def time(values: Knobs) -> Time:
        at = [knob.choices.index(values[knob.name]) for knob in knobs]
        if random.Random(repr((seed, number, at))).random() < 0.08:
            return None if any(values[knob.name] != knob.default for knob in knobs) else 100 * math.exp(level)
        cost = sum(step[here] for step, here in zip(steps, at, strict=True))
        cost += sum(table[at[one]][at[other]] for (one, other), table in pairs.items())
        return 100 * math.exp(level + cost)

    return time


FAMILIES: dict[str, Callable[[], list[World]]] = {
    "rows": lambda: [
        rows(2048, 32000, 1),
        rows(128, 262144, 2),
        rows(8192, 8192, 3, extra=False),
        rows(65536, 512, 4),
    ],
    "words": lambda: [
        words((5,), 5),
        words((3, 2, 2), 6),
        words((4, 5, 3), 7),
        words((3, 3, 2), 8, shared=0.4),
    ],
    "tiles": lambda: [tiles(4096, 4096, 4096, 9), tiles(16, 8192, 8192, 10), tiles(1024, 1536, 2048, 11)],
    "rugged": lambda: [rugged(6, 12), rugged(20, 13)],
}


# Playing -----------------------------------------------------------------------------------------


@dataclass
class Player:
    """Answers the steps of one search in a world, as agent and device together."""

    world: World
    seed: int
    outcomes: dict[int, Outcome] = field(default_factory=dict)
    times: list[tuple[float, float, str]] = field(default_factory=list)
    """Per evaluation: measured and true time (infinite for a failure) and structure."""

    def answer(self, item: Item) -> Outcome:
        """Carry out one step."""
        if isinstance(item, Variant):
            return self._measured(item.structure, dict(item.knobs))
        usage = Usage(calls=1, prompt_tokens=4000, completion_tokens=1500)
        fingerprint = self._chosen(item)
        if fingerprint is None:
            return Outcome(failure="nothing new from here", usage=usage)
        blueprint = self.world.places[fingerprint].blueprint
        first = item.kind is not DraftKind.REPAIR
        fails = first and bool(item.structure) and self._draw("clumsy", fingerprint) < self.world.clumsy
        hinted = {} if item.kind is DraftKind.REPAIR else getattr(item, "hints", {})
        knobs = {knob.name: _snap(knob, hinted.get(knob.name)) for knob in blueprint.knobs}
        outcome = self._measured(fingerprint, knobs, fails=fails)
        return outcome.model_copy(update={"blueprint": blueprint, "usage": usage})

    def _chosen(self, draft: Draft) -> str | None:
        if draft.kind is not DraftKind.EXPLORE:
            return draft.structure or next(iter(self.world.places))
        parent = self.world.places[draft.structure].blueprint.choices
        known = set(draft.exclude)
        new = [
            fingerprint
            for fingerprint, place in self.world.places.items()
            if fingerprint not in known
            and sum(place.blueprint.choices[name] != word for name, word in parent.items()) == 1
        ]
        return random.Random(draft.seed).choice(new) if new else None

    def _draw(self, *what: object) -> float:
        return random.Random(repr((self.seed, *what))).random()

    def _measured(self, fingerprint: str, knobs: Knobs, *, fails: bool = False) -> Outcome:
        true = None if fails else self.world.places[fingerprint].time(knobs)
        told = {
            "structure": fingerprint,
            "source_hash": fingerprint,
            "candidate": f"{fingerprint}{sorted(knobs.items())}",
            "knobs": knobs,
            "charged": True,
            "device_seconds": 1.0,
        }
        if true is None:
            self.times.append((math.inf, math.inf, fingerprint))
            return Outcome(status=EvaluationStatus.RUNTIME_ERROR, **told)
        seen = true * math.exp(random.Random(repr((self.seed, len(self.times)))).gauss(0, NOISE))
        self.times.append((seen, true, fingerprint))
        value = 2 * self.world.best_us / seen
        interval = Interval(value=value, low=value * (1 - 2 * NOISE), high=value * (1 + 2 * NOISE))
        return Outcome(status=EvaluationStatus.PASSED, speedup=interval, median_us=seen, **told)


def _snap(knob: Knob, hinted: KnobValue | None) -> KnobValue:
    return hinted if hinted is not None and hinted in knob.choices else knob.default


def regrets(player: Player, checkpoints: tuple[int, ...]) -> list[float]:
    """Excess time of the fastest program so far (as measured), true, over the world's best; at most 3."""
    found, best, place = [], (math.inf, math.inf), 0
    for checkpoint in checkpoints:
        for seen, true, _ in player.times[place:checkpoint]:
            best = min(best, (seen, true))
        place = max(place, min(checkpoint, len(player.times)))
        found.append(min(3.0, best[1] / player.world.best_us - 1))
    return found
