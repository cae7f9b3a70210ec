"""Strategies by name. A new one is a file here, one line in `STRATEGIES`, and passes the conformance suite.

`strategy.py` says what a strategy is made of, `moves.py` holds the moves they share, `ranking.py` judges
structures.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from search.strategies.local_only import LOCAL_ONLY
from search.strategies.mixed import MIXED
from search.strategies.structure_only import STRUCTURE_ONLY
from search.strategies.two_stage import TWO_STAGE

if TYPE_CHECKING:
    from search.strategies.strategy import Strategy

STRATEGIES: dict[str, Strategy] = {
    strategy.name: strategy for strategy in (TWO_STAGE, MIXED, STRUCTURE_ONLY, LOCAL_ONLY)
}
