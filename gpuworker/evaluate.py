"""One evaluation: the stages in order, cheapest and safest first, stopping at the first that fails."""

from __future__ import annotations

import dataclasses
import logging
import time
from functools import partial
from typing import TYPE_CHECKING, cast

import torch

from gpuworker import (
    conditions,
    correctness,
    inputs,
    intake,
    launched,
    layout,
    promotion,
    rehearsal,
    resources,
    tracing,
)
from gpuworker.built import Built
from gpuworker.contender import Contender, Patience, cell_order
from gpuworker.court import HOST_CODE_WEAR, REPLAY_WEAR
from gpuworker.devices.device import DeviceBusyError
from gpuworker.entry import SHOWN, Entry, python_program
from gpuworker.report import Report
from gpuworker.sandbox import Mode
from gpuworker.shop import BUILD_S
from gpuworker.timing import EFFORTS, Match
from gpuworker.verdicts import InfrastructureError, RejectedError, UnrehearsedError
from search.records import (
    ClauseVerdict,
    Evaluation,
    EvaluationRequest,
    EvaluationStage,
    EvaluationStatus,
    Language,
    Purpose,
    Tier,
    TimingMethod,
    Verdict,
    content_hash,
)
from search.workload import Workload

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pydantic import JsonValue

    from gpuworker.ahead import Key
    from gpuworker.court import Court
    from gpuworker.cuda.device_facts import GhostDevice
    from gpuworker.devices.device import DeviceBudget
    from search.records import Candidate
    from search.workload import Case

_LEASE_WAIT_S = 90.0
_BATCH_BUILD_S = 25.0
"""A member of a batch that takes longer to build ends as TIMEOUT; the others are judged meanwhile."""
_PASS_S = 10.0
_INTERPRETED_PASS_S = 60.0
_NOISE = {EvaluationStatus.UNSTABLE_TIMING, EvaluationStatus.TIMING_MISMATCH}
"""What a noisy machine can do to an honest candidate; a dishonest one meets it every time."""
_TRIES = 3
_NO_ROOM = "keeps so much memory of the device that nothing else fits beside it"
_log = logging.getLogger(__name__)


def evaluate(request: EvaluationRequest, court: Court) -> Evaluation:
    """Judge one candidate; always answers."""
    report = Report(request, court.device.facts)
    try:
        _demand_walls(request, court)
        _walk(request, court, report)
    except RejectedError as error:
        report.reject(error)
    except (InfrastructureError, DeviceBusyError) as error:
        _log.warning("infrastructure: %s", error)
        court.forget(report.workload_hash)
        report.reject(RejectedError(EvaluationStatus.INFRA_ERROR, str(error)))
    # The one place that must outlive every mistake of ours: a judge that dies takes the next candidates
    # with it, and a mistake of ours must never look like one of theirs.
    except Exception as error:  # noqa: BLE001
        _log.exception("the judge failed")
        court.forget(report.workload_hash)
        report.reject(
            RejectedError(EvaluationStatus.INFRA_ERROR, f"the judge failed: {type(error).__name__}: {error}")
        )
    return report.evaluation()


def _walk(request: EvaluationRequest, court: Court, report: Report) -> None:
    """Stages that need no device, then the rest on it."""
    deadline = time.monotonic() + request.deadline_s
    with report.stage(EvaluationStage.INTAKE):
        workload = _workload(request, court.device.budget)
        report.workload_hash = workload.hash
        candidate = intake.admit(request.candidate, workload, gpu=court.device.index >= 0)
    if court.device.index >= 0:
        # Its context takes a quarter of a second, which pass while it compiles.
        court.block.spare(cell_order(court.device, SHOWN, 0))
    with report.stage(EvaluationStage.STATIC):
        report.verdicts = court.ahead.take(
            _key("screen", request), lambda: _screened(request, candidate, court)
        )
        _keep_contract(report.verdicts)
    with report.stage(EvaluationStage.BUILD) as details:
        built = court.ahead.take(
            _key("build", request),
            lambda: _built(candidate, workload, court, min(deadline, time.monotonic() + BUILD_S)),
        )
        details.update(built.details)
        plan = built.plans.get(False)
        seen = launched.verdicts(report.verdicts, request.contract, plan, workload, candidate)
        report.verdicts = seen
        _keep_contract(seen)
    if built.plans:
        report.method = TimingMethod.TRUSTED_LAUNCH
    untimed = court.interpret or (candidate.language is Language.TRITON and court.device.index < 0)
    cases = [] if untimed else _timed_cases(workload, request.tier)
    started = time.monotonic()
    if request.purpose in (Purpose.PROMOTE, Purpose.REMEASURE):
        court.forget(workload.hash)  # nobody has met the values that it is promoted on
    wear = REPLAY_WEAR if built.plans else HOST_CODE_WEAR
    stick = court.yardstick(workload, [case.name for case in cases], wear=wear)
    # Making specimens is our work and not in the candidate's time.
    deadline += time.monotonic() - started
    most_s = _INTERPRETED_PASS_S if untimed else _PASS_S
    patience = Patience(deadline, min(most_s, request.deadline_s / 2))
    entry = Entry(candidate, built, stick, court, patience, tuple(case.name for case in cases))
    _on_device(entry, cases, request.tier, report)
    if request.purpose is Purpose.PROMOTE and entry.is_replayed:
        with report.stage(EvaluationStage.PROMOTION) as details:
            details.update(promotion.examine(entry, built.plans[False]))


def _demand_walls(request: EvaluationRequest, court: Court) -> None:
    """Nothing that a stranger wrote is run, or compiled, by a worker without walls."""
    if request.needs_walls and court.block.mode is Mode.UNSANDBOXED:
        raise InfrastructureError(
            "this worker has no sandbox (--unsandboxed): it runs the playbook on shipped workloads only"
        )


def prepare(requests: Sequence[EvaluationRequest], court: Court) -> None:
    """Do all work of a batch that needs no device side by side; what fails is told when its turn comes."""
    jobs: list[tuple[Key, Callable[[], object]]] = []
    for request in requests:
        try:
            _demand_walls(request, court)
            workload = _workload(request, court.device.budget)
            candidate = intake.admit(request.candidate, workload, gpu=court.device.index >= 0)
        except (RejectedError, InfrastructureError):
            continue
        most_s = min(request.deadline_s, _BATCH_BUILD_S)
        jobs.append((_key("screen", request), partial(_screened, request, candidate, court)))
        jobs.append((_key("build", request), partial(_built_within, candidate, workload, court, most_s)))
    court.batch = tuple(_key("build", request) for request in requests)
    if court.device.index >= 0:
        court.block.spare(cell_order(court.device, SHOWN, 0))
    court.ahead.start(jobs)


def _key(kind: str, request: EvaluationRequest) -> Key:
    """Ids are the asker's, and may repeat."""
    return kind, f"{request.id} {request.candidate.hash} {content_hash(request.workload)}"


def _screened(request: EvaluationRequest, candidate: Candidate, court: Court) -> tuple[ClauseVerdict, ...]:
    return court.shop.screen(candidate, request.contract)


def _built_within(candidate: Candidate, workload: Workload, court: Court, most_s: float) -> Built:
    """Time counts from when it begins, not from when a batch was announced."""
    return _built(candidate, workload, court, time.monotonic() + most_s)


def _built(candidate: Candidate, workload: Workload, court: Court, deadline: float) -> Built:
    device = court.device
    if candidate.language is Language.CPP or candidate.language is Language.CUDA:
        library, cached = court.shop.build(candidate, deadline)
        return Built(library=library, details={"cached": cached})
    if candidate.language is Language.TRITON and device.ghost is not None:
        return _traced(candidate, workload, court, device.ghost, deadline)
    if candidate.language is Language.TRITON and court.interpret:
        return resources.report(court.shop, candidate, workload, deadline)
    return Built()


def _traced(
    candidate: Candidate, workload: Workload, court: Court, ghost: GhostDevice, deadline: float
) -> Built:
    """A launch plan, or what host code needs that no plan can hold."""
    try:
        return tracing.trace(court.shop, candidate, workload, ghost, deadline)
    except tracing.UnreplayableError as error:
        program = python_program(candidate, workload, court.device)
        caches = {
            hidden: rehearsal.rehearse(court, program, workload, deadline, hidden=hidden)
            for hidden in {case.hidden for case in workload.cases}
        }
        return Built(caches=caches, details={"host_code": str(error)})


def _workload(request: EvaluationRequest, budget: DeviceBudget) -> Workload:
    try:
        workload = Workload.load(request.workload)
        largest = max(layout.slot_bytes(workload, case) for case in workload.cases)
    except ValueError as error:
        message = f"the workload is not valid: {error}"
        raise RejectedError(EvaluationStatus.INVALID_REFERENCE, message) from error
    inputs.admit(workload)
    if largest > budget.case_bytes:
        raise RejectedError(EvaluationStatus.INVALID_REFERENCE, "a case is too large for this device")
    if all(case.hidden for case in workload.cases):
        raise RejectedError(EvaluationStatus.INVALID_REFERENCE, "every case is hidden")
    return workload


def _keep_contract(verdicts: tuple[ClauseVerdict, ...]) -> None:
    broken = [verdict for verdict in verdicts if verdict.verdict is Verdict.VIOLATED]
    if broken:
        text = "; ".join(f"{one.clause.text}: {one.evidence}" for one in broken)
        raise RejectedError(EvaluationStatus.CONTRACT_VIOLATION, text)


def _timed_cases(workload: Workload, tier: Tier) -> list[Case]:
    timed = [case for case in workload.cases if case.timed]
    return timed[:1] if tier is Tier.FAST else timed


def _on_device(entry: Entry, cases: list[Case], tier: Tier, report: Report) -> None:
    """Check and time it; blocks that the machine's noise spoiled are discarded twice at most.

    Each time with a fresh process: one that has met the values of a spoiled block could answer from memory.
    """
    for left in reversed(range(_TRIES)):
        try:
            _check_and_time(entry, cases, tier, report)
            return
        except UnrehearsedError as error:
            if not left:
                raise
            report.discard(error)
            entry = _rehearsed_again(entry)
        except RejectedError as error:
            if error.status not in _NOISE or not left:
                raise
            report.discard(error)


def _rehearsed_again(entry: Entry) -> Entry:
    """The entry after its host code has met all values that it was checked with; it is judged on new ones.

    It launches by values, of which its rehearsal draws a few. What it may have kept of these helps it no more.
    """
    court, workload, began = entry.court, entry.stick.workload, time.monotonic()
    court.forget(workload.hash)
    known = {name: [one.inputs for one in checks] for name, checks in entry.stick.checks.items()}
    program = python_program(entry.candidate, workload, court.device)
    caches = {
        hidden: rehearsal.rehearse(court, program, workload, began + BUILD_S, hidden=hidden, known=known)
        for hidden in entry.built.caches
    }
    stick = court.yardstick(workload, list(entry.timed))
    late = entry.patience.deadline + time.monotonic() - began
    return dataclasses.replace(
        entry,
        built=dataclasses.replace(entry.built, caches=caches),
        stick=stick,
        patience=dataclasses.replace(entry.patience, deadline=late),
    )


def _check_and_time(entry: Entry, cases: list[Case], tier: Tier, report: Report) -> None:
    began = time.monotonic()
    running: dict[bool, Contender] = {}
    try:
        _examine(entry, report, running)
        for case in cases:
            with report.stage(EvaluationStage.TIMING) as details:
                details["case"] = case.name
                if report.discarded:
                    details["discarded"] = list(report.discarded)
                with conditions.noted(entry.court.device, details):
                    passes_us = _time(running[case.hidden], case, entry, tier, report)
                details["passes_us"] = [list(pair) for pair in passes_us]
        _park(running, entry.court)
    except torch.OutOfMemoryError as error:
        if entry.is_replayed:
            raise
        raise RejectedError(EvaluationStatus.OOM, _NO_ROOM) from error
    except RejectedError as error:
        _close(running)
        raise correctness.name_crash(error, entry) from error
    finally:
        _close(running)
        report.device_seconds += time.monotonic() - began


def _examine(entry: Entry, report: Report, running: dict[bool, Contender]) -> None:
    """Smoke, correctness and integrity; the contenders that passed stay, by whether they run hidden cases."""
    with report.stage(EvaluationStage.SMOKE) as details:
        began = time.monotonic()
        running[False] = entry.start(hidden=False)
        details["start_seconds"] = round(time.monotonic() - began, 4)
        details["case"] = correctness.smoke(running[False], entry)
    with report.stage(EvaluationStage.CORRECTNESS) as details:
        told: list[correctness.ToldCase] = []
        details["cases"] = cast(
            "JsonValue", told
        )  # those that passed stand there even if a later one does not
        details["calls"] = correctness.check(running[False], entry, hidden=False, told=told)
        if any(case.hidden for case in entry.stick.workload.cases):
            running[True] = running[False] if entry.is_replayed else _start_beside(entry, running)
            running[True].silence()
            details["hidden_calls"] = correctness.check(running[True], entry, hidden=True)
    with report.stage(EvaluationStage.INTEGRITY) as details:
        details["threads"] = max(contender.census() for contender in running.values())


def _start_beside(entry: Entry, running: dict[bool, Contender]) -> Contender:
    """A second process of the candidate, for the hidden cases; one that leaves no room for it is at fault."""
    try:
        return entry.start(hidden=True)
    except InfrastructureError:
        _close(running)
        entry.start(hidden=True).close()  # what fails again is our fault
        raise RejectedError(EvaluationStatus.OOM, _NO_ROOM) from None


def _park(running: dict[bool, Contender], court: Court) -> None:
    """A replay that passed leaves nothing behind but its buffers."""
    contenders = set(running.values())
    if all(contender.is_trusted for contender in contenders):
        running.clear()
        for contender in contenders:
            court.park(contender)


def _close(running: dict[bool, Contender]) -> None:
    for contender in set(running.values()):
        contender.close()
    running.clear()


def _time(
    contender: Contender, case: Case, entry: Entry, tier: Tier, report: Report
) -> tuple[tuple[float, float], ...]:
    """Time one case; its passes, for the evidence."""
    match = Match(
        contender, entry.stick, case.name, EFFORTS[entry.court.device.index >= 0][tier], entry.patience
    )
    with entry.court.device.lease(_LEASE_WAIT_S), entry.court.block.hushed(patient=tier is Tier.FULL):
        result = match.play(entry.court.ceiling, entry.court.lift)
    contender.census()
    report.timed(result, entry.stick.workload)
    return result.passes_us
