"""Validates a workload: its reference on every case, the mutants, the named baselines. Asks the judge, part by part.

The judge keeps the deadlines of the reference; this process keeps those of the judge, and goes on after its death.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from gpuworker import layout
from search.records import TEXT_LIMIT, Environment, Tier
from search.validation import (
    BaselineFigure,
    BaselineTime,
    CaseRun,
    Ending,
    Part,
    SelfTest,
    Validation,
    ValidationRequest,
)
from search.workload import Workload, shipped_workloads

if TYPE_CHECKING:
    from collections.abc import Callable

    from gpuworker.runner import Runner

    Tell = Callable[[Validation], None]

_SELFTEST_S = 900.0
_BASELINE_S = 900.0
"""For one baseline on all timed cases."""
_SPARE_S = 60.0
_DIED = "the device side died or did not answer, and was started anew"


class _Lost(Exception):
    """The worker cannot go on with this validation."""


class Job:
    """One validation under way."""

    def __init__(self, runner: Runner, request: ValidationRequest, workload: Workload, tell: Tell) -> None:
        """Nothing runs yet.

        Args:
            runner: asks the judge.
            request: what is wanted.
            workload: of the request.
            tell: called with what is known so far, every few seconds and after each part.
        """
        self._runner = runner
        self._request = request
        self._workload = workload
        self._tell = tell
        self._began = time.monotonic()
        self.known = Validation(hash=workload.hash)

    def run(self) -> Validation:
        """All parts; a reference that fails ends it early."""
        try:
            if why := self._runner.shut_out:
                raise _Lost(f"the device is in quarantine until a doctor passes: {why}")
            if self._runner.options.unsandboxed and not _is_shipped(self._workload):
                raise _Lost("this worker has no sandbox, and an uploaded reference runs nowhere else")
            if self._cases():
                self._mutants()
                self._baselines()
                self._note(ending=Ending.PASSED)
        except _Lost as error:
            self._note(ending=Ending.INFRA, message=str(error)[:TEXT_LIMIT])
        return self.known

    def _note(self, **more: Any) -> None:
        seconds = time.monotonic() - self._began
        self.known = self.known.model_copy(update={"seconds": seconds, **more})

    def _ask(self, document: dict[str, Any], patience_s: float) -> dict[str, Any] | None:
        return self._runner.ask_again(document, patience_s, lambda: self._tell(self.known))

    def _cases(self) -> bool:
        """The reference on every case, smallest first; False when it failed on one."""
        sized = sorted(self._workload.cases, key=lambda case: layout.slot_bytes(self._workload, case))
        for case in sized:
            run = self._tried(case.name)
            self._note(cases=(*self.known.cases, run))
            self._tell(self.known)
            if not run.passed:
                where = "a hidden case" if case.hidden else f"case {case.name}"
                self._note(ending=Ending.FAILED, message=f"{where}: {run.message}"[:TEXT_LIMIT])
                return False
        return True

    def _tried(self, name: str) -> CaseRun:
        patience_s = self._request.reference_s
        document = {"trial": self._request.workload, "case": name, "patience_s": patience_s}
        answer = self._ask(document, 2 * patience_s + _SPARE_S)
        if answer is None or "run" not in answer:
            raise _Lost(answer["message"] if answer else _DIED)
        self._note(environment=Environment.load(answer["environment"]))
        return CaseRun.load(answer["run"])

    def _mutants(self) -> None:
        self._note(part=Part.MUTANTS)
        self._tell(self.known)
        smallest = min(layout.slot_bytes(self._workload, case) for case in self._workload.cases)
        document = {
            "workload": self._request.workload,
            "most_bytes": max(self._request.selftest_bytes, smallest),
        }
        answer = self._ask(document, _SELFTEST_S)
        if answer is not None and "result" in answer:
            self._note(selftest=SelfTest.load(answer["result"]))
        else:
            self._note(selftest_note=(answer["message"] if answer else _DIED)[:TEXT_LIMIT])

    def _baselines(self) -> None:
        self._note(part=Part.BASELINES)
        for name in self._request.baselines:
            self._tell(self.known)
            document = {"baselines": [name], "workload": self._request.workload, "tier": Tier.FULL}
            answer = self._ask(document, _BASELINE_S)
            found = answer["baselines"][name] if answer and "baselines" in answer else {}
            why = "" if found else (answer["message"] if answer else _DIED)
            self._note(baselines={**self.known.baselines, name: _figure(found, why)})


def _is_shipped(workload: Workload) -> bool:
    return workload.hash in {one.hash for one in shipped_workloads().values()}


def validate(runner: Runner, request: ValidationRequest, tell: Tell) -> Validation:
    """Validate a workload; `tell` hears what is known so far."""
    try:
        workload = Workload.load(request.workload)
    except ValidationError as error:
        message = f"this worker cannot read it: {error}"[:TEXT_LIMIT]
        return Validation(hash="", ending=Ending.FAILED, message=message)
    return Job(runner, request, workload, tell).run()


def _figure(found: dict[str, Any], why: str) -> BaselineFigure:
    cases = {name: _time(one) for name, one in found.get("cases", {}).items()}
    why = why or found.get("none") or found.get("error") or ""
    return BaselineFigure(title=found.get("title", ""), cases=cases, why=why[:TEXT_LIMIT])


def _time(case: dict[str, Any]) -> BaselineTime:
    return BaselineTime(**{name: case[name] for name in BaselineTime.model_fields})
