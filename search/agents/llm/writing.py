"""From a model's answer to a candidate: what is looked at before the judge sees it, and what is said back once.

Nothing here decides about a program. What is found only buys a second answer before an evaluation is spent; the
judge finds the same again, and more.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from search.agents.llm.duplicates import normalised
from search.agents.llm.failing import NO_FAILURE, Failure, failure_of
from search.agents.llm.fencing import fence, one_line
from search.agents.llm.outcomes import CallOutcome
from search.agents.llm.parsing import FENCE_WORD, read_program
from search.agents.llm.render_contract import verdicts_text
from search.agents.playbook.writers import PATHS
from search.contract import check, overall
from search.knobs import KnobError, read_knobs
from search.records import Candidate, Language, SourceFile, Verdict
from search.steps import DraftFailure

if TYPE_CHECKING:
    from search.agents.llm.outcomes import ModelReply
    from search.agents.llm.talk import Talk
    from search.blueprint import Blueprint
    from search.records import Knob, KnobValue

_PATHS = {**PATHS, Language.CUDA: "kernel.cu", Language.PYTORCH: "kernel.py"}
_FEEDBACK_CAP = 3000
_SHOWN = 300
_AGAIN = "Give the whole program again."


class Fault(StrEnum):
    """What a model is told once; it is not told the same kind twice about one draft."""

    FORM = "form"
    """No program in the answer, or knobs that cannot be used."""
    CONTRACT = "contract"
    """Another structure than was asked for."""


@dataclass(frozen=True)
class Written:
    """What came of a talk."""

    text: str = ""
    """The last answer."""
    candidate: Candidate | None = None
    failure: Failure = NO_FAILURE
    """Why there is no candidate."""


@dataclass(frozen=True)
class _Try:
    """One answer looked at."""

    candidate: Candidate | None
    """May be there although something is wrong with it: the judge says more than we do."""
    fault: Fault | None = None
    problem: Failure = NO_FAILURE
    """For people."""
    correction: str = ""
    """For the model."""


def written(talk: Talk, blueprint: Blueprint, language: Language, *, keeps_contract: bool) -> Written:
    """Ask until there is a program without a fault that can be seen, or every kind of fault was told once.

    Args:
        talk: a question for code.
        blueprint: structure that the program is to have.
        language: of the program.
        keeps_contract: whether it is held to the structure's contract.
    """
    reply: ModelReply | None = talk.ask()
    told: set[Fault] = set()
    best = Written(failure=Failure("the model gave no answer", DraftFailure.EMPTY))
    while reply is not None:
        found = _looked_at(reply, blueprint, language, keeps_contract=keeps_contract)
        if found.candidate is not None:
            best = Written(reply.text, found.candidate)
        elif best.candidate is None:
            best = Written(reply.text, failure=found.problem)
        if found.fault is None or found.fault in told:
            break
        told.add(found.fault)
        reply = talk.again(found.correction)
    return best


def _looked_at(reply: ModelReply, blueprint: Blueprint, language: Language, *, keeps_contract: bool) -> _Try:
    if reply.outcome is CallOutcome.TRUNCATED:
        said = "Your answer was cut off at the limit of its length. Give the whole program, shorter."
        return _Try(None, Fault.FORM, failure_of(reply), said)
    if not reply.is_ok:
        return _Try(None, None, failure_of(reply))
    program = read_program(reply.text, language)
    if not program.reading.is_program:
        return _malformed(f"({program.reading}): {program.problem}", language)
    try:
        candidate = candidate_of(program.source, blueprint, language)
    except KnobError as error:
        return _malformed(f"(knobs): {one_line(str(error), _SHOWN)}", language)
    return _held_against(candidate, blueprint, keeps_contract=keeps_contract)


def _malformed(problem: str, language: Language) -> _Try:
    told = Failure(f"{CallOutcome.MALFORMED} {problem}", DraftFailure.NO_PROGRAM)
    said = (
        f"{fence(told.text, 'what is wrong')}\nGive the whole program in one ```{FENCE_WORD[language]} block."
    )
    return _Try(None, Fault.FORM, told, said)


def candidate_of(source: str, blueprint: Blueprint, language: Language) -> Candidate:
    """The candidate of a source; its knobs have the values it holds, or the default where that is no choice.

    Raises:
        KnobError: the literal is broken, lacks a knob of the structure, or holds a value of another type.
    """
    held = read_knobs(language, source)
    knobs = {**held, **{knob.name: _value(knob, held) for knob in blueprint.knobs}}
    return Candidate(
        language=language,
        sources=(SourceFile(path=_PATHS[language], content=source),),
        knobs=knobs,
        structure=blueprint.fingerprint,
    )


def unused_knobs(candidate: Candidate, blueprint: Blueprint) -> list[str]:
    """Knobs of the structure that the program names nowhere but in its literal: tuning them would be in vain."""
    code = normalised(candidate.language, candidate.sources[0].content)
    return [knob.name for knob in blueprint.knobs if not re.search(rf"\b{knob.name}\b", code)]


def _value(knob: Knob, held: dict[str, KnobValue]) -> KnobValue:
    if knob.name not in held:
        raise KnobError(f"KNOBS lacks {knob.name}", 1)
    value = held[knob.name]
    if type(value) is not type(knob.default):
        kind = type(knob.default).__name__
        raise KnobError(f"knob {knob.name} takes a value of type {kind}, not {value!r}", 1)
    return value if value in knob.choices else knob.default


def _held_against(candidate: Candidate, blueprint: Blueprint, *, keeps_contract: bool) -> _Try:
    verdicts = check(blueprint.contract, candidate) if keeps_contract else ()
    if overall(verdicts) is Verdict.VIOLATED:
        seen = fence(verdicts_text(verdicts), "clauses of the contract", _FEEDBACK_CAP)
        problem = "The program is not the structure that was asked for"
        return _Try(candidate, Fault.CONTRACT, Failure(problem), f"{problem}.\n{seen}\n{_AGAIN}")
    if unused := unused_knobs(candidate, blueprint):
        problem = f"Nothing in the program uses {', '.join(unused)}"
        return _Try(candidate, Fault.FORM, Failure(problem), f"{problem}. Use every knob. {_AGAIN}")
    return _Try(candidate)
