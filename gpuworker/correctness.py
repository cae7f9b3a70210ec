"""Smoke and correctness stages: every case, several secret seeds, all through the same pointers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypedDict

import torch

from gpuworker.clock import checked_pass
from gpuworker.comparators.close import Close
from gpuworker.dtypes import readable
from gpuworker.verdicts import RejectedError
from search.records import EvaluationStatus

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpuworker.contender import Contender
    from gpuworker.entry import Entry
    from gpuworker.specimen import Specimen
    from search.workload import Case, Workload

_BIT_TYPES = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
_INTERPRETED_ELEMENTS = 1 << 16
"""Beyond this an interpreted kernel is checked with one seed, since each program takes a millisecond."""
_PASS_SHARE = 0.25
"""Of the longest pass, which calls side by side may take."""


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


class ToldCase(TypedDict):
    """What is told of a case that passed."""

    case: str
    passed: bool
    calls: int
    outputs: dict[str, dict[str, float]]
    """Largest errors over the calls, see `Close.errors`; only on a CPU, and of outputs compared element by element."""


def check(contender: Contender, entry: Entry, *, hidden: bool, told: list[ToldCase] | None = None) -> int:
    """All specimens of the cases; how many calls were checked.

    Each case that passes joins `told`, unless it is hidden.

    Host code meets them one by one through the same pointers. A replay, which has none, gets them side by side.

    Raises:
        RejectedError: the first that is wrong.
    """
    calls = 0
    for case in by_size(entry.stick.workload, hidden=hidden):
        one: ToldCase = {"case": case.name, "passed": True, "calls": 0, "outputs": {}}
        one["calls"] = _checked(contender, entry, case, None if case.hidden else one["outputs"])
        calls += one["calls"]
        if told is not None and not case.hidden:
            told.append(one)
    return calls


def _checked(
    contender: Contender, entry: Entry, case: Case, errors: dict[str, dict[str, float]] | None
) -> int:
    if entry.is_replayed and len(contender.layout.of_case(case.name)) > 1:
        return _side_by_side(contender, entry, case)
    long = entry.interpreted and _elements(entry.stick.workload, case) > _INTERPRETED_ELEMENTS
    calls = _call(contender, entry, case, 1 if long else None, errors)
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


def _call(
    contender: Contender,
    entry: Entry,
    case: Case,
    most: int | None,
    errors: dict[str, dict[str, float]] | None = None,
) -> int:
    slot = contender.layout.of_case(case.name)[0]
    specimens = entry.stick.checks[case.name][:most]
    for specimen in specimens:
        checked_pass(contender, [slot], [specimen], entry.patience)
        if errors is not None and entry.court.device.index < 0:
            _note_errors(errors, entry.stick.workload, contender.arena.outputs(slot), specimen)
    return len(specimens)


def _note_errors(
    errors: dict[str, dict[str, float]],
    workload: Workload,
    outputs: Sequence[torch.Tensor],
    specimen: Specimen,
) -> None:
    for name, output, expected in zip(workload.outputs, outputs, specimen.expected, strict=True):
        if isinstance(expected, Close):
            known = errors.setdefault(name, {})
            for word, value in expected.errors(readable(output)).items():
                known[word] = max(known.get(word, 0.0), value)


def _side_by_side(contender: Contender, entry: Entry, case: Case) -> int:
    """The first specimen alone, which tells how long a call takes, then the others in as few passes as that allows.

    The last of them comes twice: the bits must be the same.

    Raises:
        RejectedError: the first that is wrong, or NONDETERMINISTIC.
    """
    slots, specimens = contender.layout.of_case(case.name), entry.stick.checks[case.name]
    checked_pass(contender, slots[:1], specimens[:1], entry.patience)
    twice = entry.stick.workload.policy.deterministic
    left = [*specimens[1:], *(specimens[-1:] if twice else [])]
    most = int(_PASS_SHARE * entry.patience.pass_s / contender.waited_s)
    most = max(2, min(len(slots), most))
    last = left[-most:]
    for start in range(0, len(left) - len(last), most):
        chunk = left[start : min(start + most, len(left) - len(last))]
        checked_pass(contender, slots[: len(chunk)], chunk, entry.patience)
    checked_pass(contender, slots[: len(last)], last, entry.patience)
    if twice:
        one, other = slots[len(last) - 2 : len(last)]
        _compare(contender, one, contender.arena.outputs(one), other, case)
    return 1 + len(left)


def _repeat(contender: Contender, entry: Entry, case: Case) -> None:
    """The values of the last call once more, in another slot where there is one: the bits must be the same.

    Raises:
        RejectedError: NONDETERMINISTIC.
    """
    slots = contender.layout.of_case(case.name)
    before = [output.clone() for output in contender.arena.outputs(slots[0])]
    checked_pass(contender, [slots[-1]], entry.stick.checks[case.name][-1:], entry.patience)
    _compare(contender, slots[0], before, slots[-1], case)


def _compare(contender: Contender, slot: int, before: Sequence[torch.Tensor], other: int, case: Case) -> None:
    """What one slot held beside what another holds, after calls on the same values.

    Raises:
        RejectedError: NONDETERMINISTIC.
    """
    regions = contender.layout.slots[slot].outputs
    for region, first, second in zip(regions, before, contender.arena.outputs(other), strict=True):
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
