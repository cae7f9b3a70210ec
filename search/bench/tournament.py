"""Every strategy on every landscape for every seed, over the cores of the machine."""

from __future__ import annotations

import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from search.bench.episode import play
from search.bench.flat import FLAT, play_flat
from search.strategies import STRATEGIES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from search.bench.trace import Trace
    from search.landscapes.landscape import Landscape

HEADLINE = ("two_stage", "mixed", "structure_only", "local_only", "random", "optuna_tpe_flat")
"""What is compared where nothing else is asked for."""
KNOWN = (*STRATEGIES, *FLAT)
THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True)
class Rules:
    """What all searches of a tournament share."""

    strategies: tuple[str, ...]
    seeds: int
    budget: int
    failure: float


Job = tuple[int, str, int]
"""Landscape by position, strategy, seed."""

_landscapes: tuple[Landscape, ...] = ()
_rules = Rules((), 0, 4, 0.0)
"""Both of a worker process, set once when it starts."""


def tournament(
    landscapes: Iterable[Landscape],
    rules: Rules,
    processes: int | None = None,
    say: Callable[[int, int], None] = lambda done, total: None,
) -> list[Trace]:
    """Play everything; traces in the order of landscapes, strategies and seeds.

    Args:
        landscapes: to play on.
        rules: strategies, seeds and budget.
        processes: at most so many, none beside this one for 1; otherwise one per core.
        say: called with searches done and searches in all.
    """
    played = tuple(landscapes)
    jobs = [
        (place, strategy, seed)
        for place in range(len(played))
        for strategy in rules.strategies
        for seed in range(rules.seeds)
    ]
    workers = processes or len(os.sched_getaffinity(0))
    if workers == 1:
        return [play_one(played[place], strategy, seed, rules) for place, strategy, seed in jobs]
    spawn = multiprocessing.get_context("spawn")
    with (
        _one_thread_each(),
        ProcessPoolExecutor(workers, spawn, initializer=_begin, initargs=(played, rules)) as pool,
    ):
        traces = []
        for trace in pool.map(_play, jobs, chunksize=1):
            traces.append(trace)
            say(len(traces), len(jobs))
    return traces


def play_one(landscape: Landscape, strategy: str, seed: int, rules: Rules) -> Trace:
    """One search by the strategy's name."""
    player = play_flat if strategy in FLAT else play
    return player(landscape, strategy, seed, rules.budget, rules.failure)


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """What processes started meanwhile inherit: matrices are small, and threads over them cost four times the time."""
    before = {name: os.environ.get(name) for name in THREADS}
    os.environ.update(dict.fromkeys(THREADS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _begin(landscapes: tuple[Landscape, ...], rules: Rules) -> None:
    global _landscapes, _rules
    _landscapes, _rules = landscapes, rules


def _play(job: Job) -> Trace:
    place, strategy, seed = job
    return play_one(_landscapes[place], strategy, seed, _rules)
