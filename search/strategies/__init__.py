"""Strategies by name. A new one is a file here, one line in `STRATEGIES`, and passes the conformance suite.

`strategy.py` says what a strategy is made of, `moves.py` holds the moves they share, `ranking.py` judges
structures, `policies.py` divides stage 2 among the kept ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from search.strategies.best_of_n import BEST_OF_N
from search.strategies.islands import ISLANDS_STRATEGY
from search.strategies.local_only import LOCAL_ONLY
from search.strategies.map_elites import MAP_ELITES
from search.strategies.mixed import MIXED
from search.strategies.refine_best import REFINE_BEST
from search.strategies.structure_only import STRUCTURE_ONLY
from search.strategies.two_stage import TWO_STAGE
from search.strategies.world_model import WORLD_MODEL

if TYPE_CHECKING:
    from search.strategies.strategy import Strategy

STRATEGIES: dict[str, Strategy] = {
    "two_stage": TWO_STAGE,
    "mixed": MIXED,
    "structure_only": STRUCTURE_ONLY,
    "local_only": LOCAL_ONLY,
    "best_of_n": BEST_OF_N,
    "refine_best": REFINE_BEST,
    "world_model": WORLD_MODEL,
    "map_elites": MAP_ELITES,
    "islands": ISLANDS_STRATEGY,
}
