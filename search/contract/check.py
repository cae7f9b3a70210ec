"""Judges a candidate's source against a structural contract, clause by clause, without running it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from search.contract.clauses import CLAUSES
from search.contract.facts import Gap, Program, all_gaps
from search.contract.sources.cpp import read_cpp
from search.contract.sources.cuda import read_cuda
from search.contract.sources.triton import read_triton
from search.contract.sources.value import TooMuchError
from search.records import (
    Candidate,
    Clause,
    ClauseKind,
    ClauseVerdict,
    Contract,
    Language,
    Signature,
    Verdict,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pydantic import JsonValue

_READERS = {Language.CPP: read_cpp, Language.CUDA: read_cuda, Language.TRITON: read_triton}
_EVIDENCE_LIMIT = 600


def check(contract: Contract, candidate: Candidate) -> tuple[ClauseVerdict, ...]:
    """A verdict per clause, in the contract's order.

    What the reader does not understand makes a clause undecidable, never passed.
    """
    return judge(contract, read(candidate, contract.signature))


def judge(contract: Contract, program: Program) -> tuple[ClauseVerdict, ...]:
    """The verdicts on facts that were read before."""
    return tuple(_judge(clause, program) for clause in contract.clauses)


def overall(verdicts: Iterable[ClauseVerdict]) -> Verdict:
    """Verdict on the whole source: one broken clause breaks it, whatever is undecidable beside it."""
    found = {verdict.verdict for verdict in verdicts}
    if Verdict.VIOLATED in found:
        return Verdict.VIOLATED
    return Verdict.PASS if found <= {Verdict.PASS} else Verdict.UNDECIDABLE


def fingerprint(candidate: Candidate, signature: Signature | None = None) -> dict[str, JsonValue]:
    """The structural facts that clauses speak of, e.g. to see whether an edit changed the structure.

    Without a signature axes have no names, so grids, reductions and contractions tell little.
    """
    signature = signature or Signature()
    program = read(candidate, signature)
    per_kernel = (ClauseKind.GRID, ClauseKind.FUSION)
    per_axis = (ClauseKind.REDUCTION, ClauseKind.CONTRACTION)
    facts: dict[str, JsonValue] = {
        str(kind): clause.observe(program, "").value
        for kind, clause in CLAUSES.items()
        if kind not in per_kernel + per_axis
    }
    names = dict.fromkeys(kernel.name for kernel in program.kernels)
    for kind in per_kernel:
        facts[str(kind)] = {name: CLAUSES[kind].observe(program, name).value for name in names}
    for kind in per_axis:
        facts[str(kind)] = {axis: CLAUSES[kind].observe(program, axis).value for axis in signature.axes}
    facts["complete"] = not all_gaps(program)
    return facts


def read(candidate: Candidate, signature: Signature) -> Program:
    """Facts of a candidate's first file, the one with the entry point."""
    reader = _READERS.get(candidate.language)
    if reader is None:
        return Program(gaps=(Gap(f"{candidate.language} sources are not read", 1),))
    if len(candidate.sources) > 1:
        return Program(gaps=(Gap("more than one source file", 1),))
    try:
        program = reader(candidate.sources[0].content, candidate.entry_point, signature)
    except (TooMuchError, RecursionError):
        # Hostile or generated: so many calls or so deep a nesting that following it does not end in time.
        return Program(gaps=(Gap("too long or too deeply nested to follow", 1),))
    return replace(program, main_inputs=_main_inputs(signature))


def _main_inputs(signature: Signature) -> frozenset[str]:
    output = set(next(iter(signature.outputs.values()), ()))
    return frozenset(
        f"input:{name}" for name, axes in signature.inputs.items() if output and output <= set(axes)
    )


def _judge(clause: Clause, program: Program) -> ClauseVerdict:
    kind = CLAUSES.get(clause.kind)
    if kind is None:
        return ClauseVerdict(
            clause=clause, verdict=Verdict.UNDECIDABLE, evidence=f"{clause.kind} is not checked on sources"
        )
    seen = kind.observe(program, clause.subject)
    if seen.gaps and not kind.breaks(clause.value, seen.value):
        first = seen.gaps[0]
        evidence = f"{first.reason}; seen: {seen.evidence}"[:_EVIDENCE_LIMIT]
        return ClauseVerdict(clause=clause, verdict=Verdict.UNDECIDABLE, evidence=evidence, line=first.line)
    kept = not seen.gaps and kind.agrees(clause.value, seen.value)
    verdict = Verdict.PASS if kept else Verdict.VIOLATED
    return ClauseVerdict(
        clause=clause, verdict=verdict, evidence=seen.evidence[:_EVIDENCE_LIMIT], line=seen.line
    )
