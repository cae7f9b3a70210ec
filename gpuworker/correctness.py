"""Smoke and correctness stages: every case, several secret seeds, all through the same pointers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch

from gpuworker.clock import checked_pass
from gpuworker.verdicts import RejectedError
from search.records import EvaluationStatus

if TYPE_CHECKING:
    from gpuworker.contender import Contender
    from gpuworker.entry import Entry
    from search.workload import Case, Workload

_BIT_TYPES = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
_INTERPRETED_ELEMENTS = 1 << 16
"""Beyond this an interpreted kernel is checked with one seed, since each program takes a millisecond."""


def by_size(workload: Workload, *, hidden: bool) -> list[Case]:
    """The hidden cases or the others, smallest first."""
    cases = [case for case in workload.cases if case.hidden is hidden]
    return sorted(cases, key=lambda case: _elements(workload, case))


def smoke(contender: Contender, entry: Entry) -> str:
    """One call of the smallest case that is not hidden; its name.

    Raises:
        RejectedError: it is wrong.
    """
    cases = by_size(entry.stick.workload, hidden=False)
    case = next((case for case in cases if _elements(entry.stick.workload, case)), cases[0])
    _call(contender, entry, case, 1)
    return case.name


def check(contender: Contender, entry: Entry, *, hidden: bool) -> int:
    """All specimens of the cases, one by one through the same slot; how many calls were checked.

    Raises:
        RejectedError: the first that is wrong.
    """
    calls = 0
    for case in by_size(entry.stick.workload, hidden=hidden):
        long = entry.interpreted and _elements(entry.stick.workload, case) > _INTERPRETED_ELEMENTS
        calls += _call(contender, entry, case, 1 if long else None)
        if entry.stick.workload.policy.deterministic and not long:
            _repeat(contender, entry, case)
            calls += 1
    return calls


def name_crash(error: RejectedError, entry: Entry) -> RejectedError:
    """A write to a read-only input looks like any bad access; run again with writable inputs to tell them apart."""
    if error.status is not EvaluationStatus.ILLEGAL_ACCESS:
        return error
    try:
        _run_unsealed(entry)
    except RejectedError as second:
        if second.status is EvaluationStatus.INPUT_MUTATED:
            return RejectedError(second.status, second.message, error.log)
    return error


def _run_unsealed(entry: Entry) -> None:
    for hidden in (False, True):
        cases = by_size(entry.stick.workload, hidden=hidden)
        if not cases:
            continue
        contender = entry.start(hidden=hidden, sealed=False)
        try:
            for case in cases:
                _call(contender, entry, case, 1)
        finally:
            contender.close()


def _call(contender: Contender, entry: Entry, case: Case, most: int | None) -> int:
    slot = contender.layout.of_case(case.name)[0]
    specimens = entry.stick.checks[case.name][:most]
    for specimen in specimens:
        checked_pass(contender, [slot], [specimen], entry.patience)
    return len(specimens)


def _repeat(contender: Contender, entry: Entry, case: Case) -> None:
    """The values of the last call once more, in another slot where there is one: the bits must be the same.

    Raises:
        RejectedError: NONDETERMINISTIC.
    """
    slots = contender.layout.of_case(case.name)
    before = [output.clone() for output in contender.arena.outputs(slots[0])]
    checked_pass(contender, [slots[-1]], entry.stick.checks[case.name][-1:], entry.patience)
    regions = contender.layout.slots[slots[0]].outputs
    for region, first, second in zip(regions, before, contender.arena.outputs(slots[-1]), strict=True):
        if differing := int((_bits(first) != _bits(second)).sum()):
            raise RejectedError(
                EvaluationStatus.NONDETERMINISTIC, _unequal(region.name, differing, case), contender.log()
            )


def _unequal(output: str, differing: int, case: Case) -> str:
    if case.hidden:
        return f"`{output}` differs between two calls on the same values in a hidden case"
    return (
        f"{differing} elements of `{output}` differ between two calls on the same values in case {case.name}"
    )


def _bits(value: torch.Tensor) -> torch.Tensor:
    return value.view(_BIT_TYPES[value.element_size()])


def _elements(workload: Workload, case: Case) -> int:
    return math.prod(workload.sizes(case).values())
