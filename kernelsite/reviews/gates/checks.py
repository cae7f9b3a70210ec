"""Gate: the workload's checks tell right from wrong, with no mutant left open, acknowledged for a search or not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelsite.catalog.standing import open_mutants
from kernelsite.reviews.gates.gate import Gate

if TYPE_CHECKING:
    from kernelsite.reviews.subject import Subject

NAMED = 4


def checks(subject: Subject) -> Gate:
    """By the workload's last validation; what survives of a shipped one is explained in `docs/mutants.md`."""
    workload = subject.candidate.search.workload
    if workload.team_id is None:
        return Gate(
            "green", "A shipped workload: its checks were held against wrong programs when it was made."
        )
    found = open_mutants(workload)
    if found is None:
        return Gate("red", f"{workload.short} was never validated; its page offers it.")
    if found:
        rest = f" and {len(found) - NAMED} more" if len(found) > NAMED else ""
        return Gate("red", f"{workload.short} lets wrong programs pass: {', '.join(found[:NAMED])}{rest}.")
    return Gate("green", f"The validation of {workload.short} killed every wrong program.")
