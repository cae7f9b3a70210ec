"""One file per clause kind: what it sees in a program, and how its value is compared.

Every file has `observe(program, subject) -> Observation` and `agrees(wanted, seen) -> bool`. Some have
`breaks(wanted, seen) -> bool`: what was seen breaks the contract, whatever else the reader did not understand.
"""

from __future__ import annotations

from search.contract.clauses import (
    atomics,
    barriers,
    contraction,
    descriptors,
    fusion,
    grid,
    intermediates,
    kernels,
    no_torch_compute,
    numerics,
    reduction,
    warp_specialisation,
)
from search.contract.observation import ClauseReader
from search.records import ClauseKind

CLAUSES: dict[ClauseKind, ClauseReader] = {
    ClauseKind.KERNELS: ClauseReader(kernels.observe, kernels.agrees, kernels.breaks),
    ClauseKind.GRID: ClauseReader(grid.observe, grid.agrees),
    ClauseKind.REDUCTION: ClauseReader(reduction.observe, reduction.agrees),
    ClauseKind.CONTRACTION: ClauseReader(contraction.observe, contraction.agrees),
    ClauseKind.INTERMEDIATES: ClauseReader(intermediates.observe, intermediates.agrees, intermediates.breaks),
    ClauseKind.ATOMICS: ClauseReader(atomics.observe, atomics.agrees, atomics.breaks),
    ClauseKind.BARRIERS: ClauseReader(barriers.observe, barriers.agrees, barriers.breaks),
    ClauseKind.DESCRIPTORS: ClauseReader(descriptors.observe, descriptors.agrees, descriptors.breaks),
    ClauseKind.WARP_SPECIALISATION: ClauseReader(
        warp_specialisation.observe, warp_specialisation.agrees, warp_specialisation.breaks
    ),
    ClauseKind.NUMERICS: ClauseReader(numerics.observe, numerics.agrees, numerics.breaks),
    ClauseKind.FUSION: ClauseReader(fusion.observe, fusion.agrees),
    ClauseKind.NO_TORCH_COMPUTE: ClauseReader(
        no_torch_compute.observe, no_torch_compute.agrees, no_torch_compute.breaks
    ),
}
"""The clauses that can be checked on a source."""
