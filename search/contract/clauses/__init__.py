"""One file per clause kind: what it sees in a program, and how its value is compared.

Every file has `observe(program, subject) -> Observation` and `agrees(wanted, seen) -> bool`.
"""

from __future__ import annotations

from search.contract.clauses import contraction, grid, intermediates, kernels, numerics, reduction
from search.contract.observation import ClauseReader
from search.records import ClauseKind

CLAUSES: dict[ClauseKind, ClauseReader] = {
    ClauseKind.KERNELS: ClauseReader(kernels.observe, kernels.agrees),
    ClauseKind.GRID: ClauseReader(grid.observe, grid.agrees),
    ClauseKind.REDUCTION: ClauseReader(reduction.observe, reduction.agrees),
    ClauseKind.CONTRACTION: ClauseReader(contraction.observe, contraction.agrees),
    ClauseKind.INTERMEDIATES: ClauseReader(intermediates.observe, intermediates.agrees),
    ClauseKind.NUMERICS: ClauseReader(numerics.observe, numerics.agrees),
}
"""The clauses that can be checked on a source."""
