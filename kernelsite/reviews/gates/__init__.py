"""Automated gates of a review: what must be green before anybody can approve. One file each, listed here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelsite.reviews.gates.checks import checks
from kernelsite.reviews.gates.contract import contract
from kernelsite.reviews.gates.independent import independent
from kernelsite.reviews.gates.promotion import promotion

if TYPE_CHECKING:
    from collections.abc import Callable

    from kernelsite.reviews.gates.gate import Gate
    from kernelsite.reviews.subject import Subject

__all__ = ["GATES", "gates"]

GATES: dict[str, Callable[[Subject], Gate]] = {
    "Promotion tier": promotion,
    "Measured again": independent,
    "Contract": contract,
    "Checks of the workload": checks,
}


def gates(subject: Subject) -> list[tuple[str, Gate]]:
    """All of them with their names, in order."""
    return [(name, look(subject)) for name, look in GATES.items()]
