"""Where every search spent its evaluations: a ribbon of structures in order, and tuning that was thrown away."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernelsite.compare.groups import Group
    from kernelsite.compare.runs import Run
    from kernelsite.searches.models import Search

HUES = 8


@dataclass(frozen=True)
class Piece:
    """Evaluations of one structure in a row."""

    structure: int
    left: float
    width: float
    """Both in percent of the budget."""
    count: int

    @property
    def hue(self) -> int:
        """Number of its colour."""
        return self.structure % HUES


@dataclass(frozen=True)
class Ribbon:
    """One search."""

    search: Search
    pieces: tuple[Piece, ...]
    tuning: int
    """Evaluations that changed knobs only."""
    discarded: int
    """Those of them spent on a structure that does not hold the final best."""

    @property
    def switches(self) -> int:
        """How often the next evaluation was of another structure."""
        return max(0, len(self.pieces) - 1)

    @property
    def share(self) -> float | None:
        """Discarded share of the tuning; None without tuning, and while the best may still change."""
        return self.discarded / self.tuning if self.tuning and self.search.is_final else None


@dataclass(frozen=True)
class RibbonGroup:
    """The ribbons of one group."""

    group: Group
    ribbons: tuple[Ribbon, ...]

    @property
    def share(self) -> float | None:
        """Discarded share over all ended searches of the group."""
        ended = [ribbon for ribbon in self.ribbons if ribbon.search.is_final]
        tuning = sum(ribbon.tuning for ribbon in ended)
        return sum(ribbon.discarded for ribbon in ended) / tuning if tuning else None


def ribbons(groups: Sequence[Group]) -> list[RibbonGroup]:
    """A ribbon per search, group by group."""
    return [
        RibbonGroup(group, tuple(_ribbon(s, r) for s, r in zip(group.searches, group.runs, strict=True)))
        for group in groups
    ]


def _ribbon(search: Search, run: Run) -> Ribbon:
    pieces, done = [], 0
    for structure, rows in groupby(run.charged, key=lambda each: each.structure):
        count = len(list(rows))
        scale = 100 / max(search.evaluations_cap, 1)
        pieces.append(Piece(structure, round(done * scale, 3), round(count * scale, 3), count))
        done += count
    best = search.best_structure.rpartition(".")[2]
    tuned = [each.structure for each in run.charged if each.is_tuning]
    discarded = sum(str(structure) != best for structure in tuned)
    return Ribbon(search, tuple(pieces), len(tuned), discarded)
