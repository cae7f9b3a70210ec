"""Rows of a search: `Search`, its tree (`Structure`, `Candidate`), its work (`Step`, `Evaluation`,
`ModelCall`), its reviewers' `GateDecision`s, its `Event` log."""

from __future__ import annotations

from kernelsite.searches.models.call import ModelCall
from kernelsite.searches.models.event import Event
from kernelsite.searches.models.gate import GateDecision
from kernelsite.searches.models.search import Search, TransitionError
from kernelsite.searches.models.tree import Candidate, SourceText, Structure
from kernelsite.searches.models.words import (
    OPEN_ATTEMPTS,
    AtCap,
    AttemptState,
    CallState,
    Choice,
    StepState,
    StructureStatus,
)
from kernelsite.searches.models.work import Evaluation, Step

__all__ = [
    "OPEN_ATTEMPTS",
    "AtCap",
    "AttemptState",
    "CallState",
    "Candidate",
    "Choice",
    "Evaluation",
    "Event",
    "GateDecision",
    "ModelCall",
    "Search",
    "SourceText",
    "Step",
    "StepState",
    "Structure",
    "StructureStatus",
    "TransitionError",
]
