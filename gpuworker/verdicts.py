"""How an evaluation stops early, and how the end of an inmate is read."""

from __future__ import annotations

import signal
from enum import IntEnum

from search.records import EvaluationStatus


class RejectedError(Exception):
    """The candidate is at fault; carries the status and what a person or a model should read."""

    def __init__(
        self, status: EvaluationStatus, message: str, log: str = "", code: int | None = None
    ) -> None:
        """Say what happened.

        Args:
            status: of the evaluation.
            message: for a person or a model.
            log: what the candidate or the compiler printed.
            code: exit code of the cell, where that ended it.
        """
        super().__init__(message)
        self.status = status
        self.message = message
        self.log = log
        self.code = code


class UnrehearsedError(RejectedError):
    """Its host code would compile while it is judged: it launches by values, and its rehearsal met no such ones."""

    def __init__(self, log: str) -> None:
        """Only its log is its own."""
        message = "started a program: its host code may launch a kernel only for values that its rehearsal did not meet"
        super().__init__(EvaluationStatus.RUNTIME_ERROR, message, log)


class InfrastructureError(Exception):
    """This worker is at fault; the attempt is free and may be made again."""


class Exit(IntEnum):
    """Exit codes of our own code inside a cell. A candidate may forge them, but each only convicts."""

    OUT_OF_MEMORY = 97
    LOAD_FAILED = 98
    RAISED = 99
    NONZERO = 100
    WRONG_SHAPE = 101
    WRONG_DTYPE = 102
    COMPILE_FAILED = 103
    OURS = 104
    """Our own code failed before any strange code ran."""
    UNREPLAYABLE = 105
    """Host code that a launch plan cannot hold."""
    ILLEGAL_ADDRESS = 106
    DEVICE_ASSERT = 107
    DEVICE_FAULT = 108
    """Any other error of the device, after which its context is useless."""
    TORCH_COMPUTE = 109
    """Host code that lets torch compute."""


_EXITS: dict[int, tuple[EvaluationStatus, str]] = {
    Exit.OUT_OF_MEMORY: (EvaluationStatus.OOM, "asked for more memory than a candidate may have"),
    Exit.LOAD_FAILED: (EvaluationStatus.COMPILE_ERROR, "built, but could not be loaded"),
    Exit.RAISED: (EvaluationStatus.RUNTIME_ERROR, "raised an exception"),
    Exit.NONZERO: (EvaluationStatus.RUNTIME_ERROR, "`run` returned a non-zero error code"),
    Exit.WRONG_SHAPE: (EvaluationStatus.INCORRECT_SHAPE, "returned a tensor of another shape"),
    Exit.WRONG_DTYPE: (EvaluationStatus.INCORRECT_DTYPE, "returned a tensor of another type"),
    Exit.COMPILE_FAILED: (EvaluationStatus.COMPILE_ERROR, "does not compile"),
    Exit.ILLEGAL_ADDRESS: (
        EvaluationStatus.ILLEGAL_ACCESS,
        "a kernel touched device memory that is not its own, or wrote to an input",
    ),
    Exit.DEVICE_ASSERT: (EvaluationStatus.RUNTIME_ERROR, "an assertion in a kernel failed"),
    Exit.DEVICE_FAULT: (EvaluationStatus.RUNTIME_ERROR, "the device refused or aborted a kernel"),
}

_SIGNALS: dict[int, tuple[EvaluationStatus, str]] = {
    signal.SIGSEGV: (EvaluationStatus.ILLEGAL_ACCESS, "touched memory that is not its own (SIGSEGV)"),
    signal.SIGBUS: (EvaluationStatus.ILLEGAL_ACCESS, "touched memory that is not there (SIGBUS)"),
    signal.SIGSYS: (
        EvaluationStatus.REWARD_HACK,
        "made a forbidden system call (a new process, a trace, other cores)",
    ),
    signal.SIGXCPU: (EvaluationStatus.TIMEOUT, "used up its processor time"),
    signal.SIGKILL: (EvaluationStatus.CRASH, "was killed (SIGKILL): by itself, or for its memory"),
}


def read_exit(code: int) -> tuple[EvaluationStatus, str]:
    """Status and sentence for an inmate that ended by itself; negative codes are signals."""
    if code < 0:
        name = signal.Signals(-code).name if -code in set(signal.Signals) else str(-code)
        return _SIGNALS.get(-code, (EvaluationStatus.CRASH, f"died of signal {name}"))
    if code in _EXITS:
        return _EXITS[code]
    return EvaluationStatus.CRASH, f"left with exit code {code} before its work was done"
