"""Times named baselines of a workload: each as a program of its own, checked, in turns with the running eager one.

A baseline that compiles may start compilers, which no candidate may; it is the workload's own text, and whoever made
it slow would only fool himself. What was measured is kept in the worker's folder by everything that it depends on.
"""

from __future__ import annotations

import json
import time
from importlib import metadata
from typing import TYPE_CHECKING

from gpuworker import environment, layout, yardstick
from gpuworker.baselines.registry import BASELINES
from gpuworker.clock import checked_pass
from gpuworker.contender import Contender, Patience, Role
from gpuworker.program import Program
from gpuworker.replayer import Replayer
from gpuworker.timing import EFFORTS, Match
from gpuworker.verdicts import RejectedError
from search.records import CaseTiming, SourceFile, Tier, content_hash

if TYPE_CHECKING:
    from pydantic import JsonValue

    from gpuworker.baselines.registry import Baseline
    from gpuworker.court import Court
    from gpuworker.yardstick import Yardstick
    from search.workload import Case, Workload

_LEASE_WAIT_S = 90.0
_COMPILE_S = 300.0
"""For all cases of a workload together."""
_ROLE, _COMPILING = Role(6), Role(6, compiles=True)


def measure(court: Court, workload: Workload, names: list[str], tier: Tier) -> dict[str, JsonValue]:
    """Figures of each, by name: `title`, and `cases` with times, or `error` or `none` with a sentence.

    Raises:
        RejectedError: INVALID_REFERENCE.
        InfrastructureError: this worker is at fault.
    """
    return {name: _known(court, workload, name, tier) for name in names}


def _known(court: Court, workload: Workload, name: str, tier: Tier) -> JsonValue:
    folder = court.state / "baselines"
    folder.mkdir(exist_ok=True)
    path = folder / f"{_key(court, workload, name, tier)}.json"
    try:
        found: dict[str, JsonValue] = json.loads(path.read_bytes())
    except (FileNotFoundError, json.JSONDecodeError):
        found = _measured(court, workload, BASELINES[name], tier)
        if "cases" in found:
            path.write_text(json.dumps(found))
        return {**found, "cached": False}
    return {**found, "cached": True}


def _key(court: Court, workload: Workload, name: str, tier: Tier) -> str:
    facts = court.device.facts
    found = environment.environment(facts, workload.hash)
    source = BASELINES[name].source(workload) or ""
    return content_hash([found.key, facts.name, name, source, tier, _triton()])


def _triton() -> str:
    try:
        return metadata.version("triton")
    except metadata.PackageNotFoundError:
        return ""


def _measured(court: Court, workload: Workload, baseline: Baseline, tier: Tier) -> dict[str, JsonValue]:
    title: JsonValue = f"{baseline.title}, torch {metadata.version('torch')}"
    source = baseline.source(workload)
    if source is None:
        return {"title": title, "none": "no call better than the reference is known for this operation"}
    timed = [case for case in workload.cases if case.timed]
    timed = timed[:1] if tier is Tier.FAST else timed
    court.unpark()
    began = time.monotonic()
    try:
        # One case at a time: a compiled program is specialised on it, and specimens are large.
        cases = {case.name: _case(court, workload, case, baseline, source, tier) for case in timed}
    except RejectedError as error:
        return {"title": title, "error": f"{error.status}: {error.message} {error.log[-1000:]}".strip()}
    seconds: JsonValue = round(time.monotonic() - began, 2)
    return {"title": title, "cases": {name: one.dump() for name, one in cases.items()}, "seconds": seconds}


def _case(
    court: Court, workload: Workload, case: Case, baseline: Baseline, source: str, tier: Tier
) -> CaseTiming:
    stick = court.yardstick(workload, [case.name], wear=0)
    patience = Patience(time.monotonic() + _COMPILE_S, _COMPILE_S)
    contender = _started(court, stick, case, baseline, source, patience)
    try:
        slot = contender.layout.of_case(case.name)[0]
        for specimen in stick.checks[case.name]:
            checked_pass(contender, [slot], [specimen], patience)
        effort = EFFORTS[court.device.index >= 0][tier]
        with court.device.lease(_LEASE_WAIT_S), court.block.hushed(patient=True):
            match = Match(contender, stick, case.name, effort, patience)
            return match.play(court.ceiling, court.lift).timing
    finally:
        contender.close()


def _started(
    court: Court, stick: Yardstick, case: Case, baseline: Baseline, source: str, patience: Patience
) -> Contender:
    device, workload = court.device, stick.workload
    counts = yardstick.slot_counts(workload, device.budget, [case.name])
    kind = Contender if device.index < 0 else Replayer
    plan = layout.plan(workload, {case.name: counts[case.name]})
    contender = kind(court.block, device, plan, _COMPILING if baseline.compiled else _ROLE)
    program = Program(
        adapter="reference",
        sources=(SourceFile(path="baseline.py", content=source),),
        compiled=baseline.compiled,
        threads=len(device.contender_cores),
        device=device.index,
        clocked=device.index >= 0,
        input_count=len(workload.inputs),
        output_count=len(workload.outputs),
    )
    try:
        contender.load(program, (), patience)
    except BaseException:
        contender.close()
        raise
    return contender
