"""Rows of a search: `Search`, its tree (`Structure`, `Candidate`), its work (`Step`, `Evaluation`), its `Event` log."""

from __future__ import annotations

from kernelsite.searches.models.event import Event
from kernelsite.searches.models.search import Search, TransitionError
from kernelsite.searches.models.tree import Candidate, SourceText, Structure
from kernelsite.searches.models.words import OPEN_ATTEMPTS, AttemptState, StepState, StructureStatus
from kernelsite.searches.models.work import Evaluation, Step

__all__ = [
    "OPEN_ATTEMPTS",
    "AttemptState",
    "Candidate",
    "Evaluation",
    "Event",
    "Search",
    "SourceText",
    "Step",
    "StepState",
    "Structure",
    "StructureStatus",
    "TransitionError",
]
