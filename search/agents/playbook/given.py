"""Programs that somebody had before the search, as structures of their own: tuned by the knobs they name.

Nobody says what structure such a program has, so its contract holds no clause; what makes it this structure and no
other is the source itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from search.blueprint import GIVEN, Blueprint
from search.compose import signature_of
from search.knobs import KnobError, read_knobs
from search.records import Knob
from search.steps import DraftFailure, Proposal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from search.agents.agent import Scene
    from search.records import Candidate, KnobValue, Language

STEPS = ((1, 4), (1, 2), (1, 1), (2, 1), (4, 1))
"""A program names values, not choices: whole numbers are tried at these multiples, as fractions."""
MOST = 2**31
"""Knobs of a program are whole numbers below this; a stranger may write any."""


def given(scene: Scene) -> Iterator[Proposal]:
    """A proposal for each starting candidate, in the order they were chosen."""
    for candidate in scene.starting:
        yield _proposal(candidate, scene)


def choices(value: KnobValue) -> tuple[KnobValue, ...]:
    """Values that a knob of a given program may take: both of a switch, multiples of a number, a word alone."""
    if isinstance(value, bool):
        return (False, True)
    if isinstance(value, int):
        return tuple(sorted({value * up // down for up, down in STEPS if value * up % down == 0}))
    return (value,)


def source_problem(candidate: Candidate, language: Language) -> str:
    """Why a program cannot be given to a search in this language; empty if it can."""
    if candidate.language is not language:
        return f"it is written in {candidate.language}, and this device class takes {language}"
    try:
        held = read_knobs(candidate.language, candidate.sources[0].content) | candidate.knobs
    except KnobError as error:
        return f"its knobs cannot be read: {error}"
    large = [name for name, value in held.items() if isinstance(value, int) and abs(value) >= MOST]
    return f"{large[0]} is {MOST} or more" if large else ""


def _proposal(candidate: Candidate, scene: Scene) -> Proposal:
    if problem := source_problem(candidate, scene.language):
        return Proposal(failure=f"the starting candidate is no use: {problem}", cause=DraftFailure.IMPOSSIBLE)
    held = read_knobs(candidate.language, candidate.sources[0].content) | candidate.knobs
    blueprint = Blueprint(
        workload=scene.workload.name,
        actions=(),
        choices={GIVEN: candidate.source_hash[:16]},
        kernels=(),
        knobs=tuple(
            Knob(name=name, choices=choices(value), default=value, note="as the program came")
            for name, value in held.items()
        ),
        signature=signature_of(scene.workload),
    )
    update = {"knobs": held, "structure": blueprint.fingerprint, "parent": ""}
    program = candidate.model_copy(update=update)
    return Proposal(blueprint=blueprint, candidate=program, note="a program that was there before the search")
