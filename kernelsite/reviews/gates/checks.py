"""Gate: the workload's checks tell right from wrong, with no mutant left open, acknowledged or not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelsite.reviews.gates.gate import Gate

if TYPE_CHECKING:
    from kernelsite.reviews.subject import Subject


def checks(subject: Subject) -> Gate:
    """Shipped workloads are held against their mutants in the repository's tests."""
    workload = subject.candidate.search.workload
    if workload.team_id is None:
        return Gate(
            "green", "Shipped: its checks are held against mutants before each release of Kernelsite."
        )
    return Gate("red", "Its checks were never validated on a device worker.")
