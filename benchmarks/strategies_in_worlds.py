"""Mean regret of strategies in synthetic worlds (`worlds.py`), against mixed and flat Optuna, paired by seed.

    python benchmarks/strategies_in_worlds.py --seeds 20 --families rows words --strategies two_stage mixed flat

Regret is the excess true time of the program that was measured fastest so far, over the best of the world, at
25, 50 and 100 % of 160 evaluations. `flat` is Optuna's TPE (multivariate, grouped) over structure and knobs as
one conditional space, with every structure written and working from the start.
"""

from __future__ import annotations

import argparse
import math
import statistics
import time
from concurrent.futures import ProcessPoolExecutor
from typing import TYPE_CHECKING

from worlds import FAMILIES, Player, World, regrets

from search.engine import Search
from search.records import Language, Stage
from search.settings import Budget, SearchSettings, StageSettings
from search.steps import Variant

if TYPE_CHECKING:
    from collections.abc import Sequence

CHECKPOINTS = (40, 80, 160)
FLOOR = 0.002
"""Regrets below this are equal: a fifth of the noise."""


def played(strategy: str, world: World, seed: int, stages: dict[str, object]) -> Player:
    """One search to its end."""
    settings = SearchSettings(
        workload="w",
        workload_hash="0" * 64,
        library="l",
        library_hash="1" * 64,
        strategy=strategy,
        language=Language.TRITON,
        device_class="h200",
        seed=seed,
        budget=Budget(evaluations=CHECKPOINTS[-1]),
        stages=StageSettings.model_validate(stages),
    )
    search, player = Search(settings), Player(world, seed)
    while asked := search.ask(1):
        search.tell(asked[0].number, player.answer(asked[0]))
    return player


def flat(world: World, seed: int) -> Player:
    """Optuna's TPE over the flattened space."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    sampler = optuna.samplers.TPESampler(
        seed=seed, multivariate=True, group=True, warn_independent_sampling=False
    )
    study, player = optuna.create_study(sampler=sampler), Player(world, seed)
    names = list(world.places)
    for number in range(CHECKPOINTS[-1]):
        trial = study.ask()
        place = world.places[names[trial.suggest_categorical("structure", range(len(names)))]]
        knobs = {}
        for knob in place.blueprint.knobs:
            name = f"{names.index(place.blueprint.fingerprint)}_{knob.name}"
            knobs[knob.name] = knob.choices[trial.suggest_int(name, 0, len(knob.choices) - 1)]
        item = Variant(
            number=number + 1, stage=Stage.TUNE, structure=place.blueprint.fingerprint, base=1, knobs=knobs
        )
        outcome = player.answer(item)
        if outcome.median_us is None:
            study.tell(trial, state=optuna.trial.TrialState.PRUNED)
        else:
            study.tell(trial, math.log(outcome.median_us))
    return player


def job(strategy: str, family: str, index: int, seed: int, stages: dict[str, object]) -> list[float]:
    """Regrets of one run; the last number is the seconds it took."""
    world, begun = FAMILIES[family]()[index], time.perf_counter()
    player = flat(world, seed) if strategy == "flat" else played(strategy, world, seed, stages)
    return [*regrets(player, CHECKPOINTS), time.perf_counter() - begun]


def geometric(values: Sequence[float]) -> float:
    """Geometric mean."""
    return math.exp(statistics.fmean(map(math.log, values)))


def main() -> None:
    """Print one line per world and strategy, then ratios of the first strategy to the others."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--families", nargs="+", default=list(FAMILIES), choices=list(FAMILIES))
    parser.add_argument("--strategies", nargs="+", default=["two_stage", "mixed", "flat"])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--stages", type=StageSettings.model_validate_json, default=StageSettings())
    options = parser.parse_args()
    stages = options.stages.model_dump()
    worlds = [
        (family, at, world.name) for family in options.families for at, world in enumerate(FAMILIES[family]())
    ]
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    ratios: dict[str, list[float]] = {}
    with ProcessPoolExecutor(options.jobs) as pool:
        asked = {
            (at, name): [pool.submit(job, name, *world[:2], seed, stages) for seed in seeds]
            for at, world in enumerate(worlds)
            for name in options.strategies
        }
        for at, world in enumerate(worlds):
            means = {}
            for name in options.strategies:
                runs = [future.result() for future in asked[at, name]]
                means[name] = [statistics.fmean(run[place] for run in runs) for place in range(3)]
                told = " ".join(f"{100 * mean:7.2f}%" for mean in means[name])
                within = statistics.fmean(run[2] <= 0.05 for run in runs)
                seconds = statistics.fmean(run[-1] for run in runs)
                print(
                    f"{world[2]:24} {name:12} {told}  within 5 % {within:4.2f}  {seconds:5.2f} s", flush=True
                )
            first = means[options.strategies[0]]
            for name in options.strategies[1:]:
                parts = [
                    max(FLOOR, one) / max(FLOOR, other) for one, other in zip(first, means[name], strict=True)
                ]
                ratios.setdefault(name, []).append(geometric(parts))
    for name, found in ratios.items():
        told = " ".join(f"{ratio:.2f}" for ratio in found)
        print(f"{options.strategies[0]} / {name}: geometric mean {geometric(found):.3f}  by world {told}")


if __name__ == "__main__":
    main()
