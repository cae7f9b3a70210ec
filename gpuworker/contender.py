"""A program in a cell that answers `pass` with `done`: candidate, baseline and oracle alike.

Between passes every thread of it is frozen, so it can neither work ahead nor catch up while nobody looks: it
first sees new inputs inside the measured interval, and what it has not written when it answers, it never writes.
"""

from __future__ import annotations

import os
import secrets
import signal
import struct
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gpuworker import scheduling
from gpuworker.cells import Order
from gpuworker.inmate import PASS
from gpuworker.sandbox import Limits, View
from gpuworker.seccomp import Profile
from gpuworker.verdicts import InfrastructureError, RejectedError, UnrehearsedError, read_exit
from search.records import EvaluationStatus

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpuworker.cells import Cell, CellBlock
    from gpuworker.devices.device import Arena, Device
    from gpuworker.layout import Layout
    from gpuworker.program import Program

_MEMORY_BYTES = 2 << 30
_DEVICE_HOST_BYTES = 16 << 30
"""Host memory of a process with a GPU context, whose driver maps gigabytes that it hardly touches."""
_COMPILING = {
    "memory_bytes": 16 << 30,
    "processes": 512,
    "file_bytes": 64 << 20,
    "tmp_bytes": 1 << 30,
    "files": 1024,
}
"""More than others get: a baseline with a compiler in its process."""
_NONCE_BYTES = 8
_ATTACH_S = 20.0
_THREADS_PER_CORE = 4
_SPARE_THREADS = 8


@dataclass(frozen=True)
class Patience:
    """How long to wait for a contender."""

    deadline: float
    """Monotonic time at which the whole evaluation must be over."""
    pass_s: float
    """Longest that one pass may take."""


@dataclass(frozen=True)
class Role:
    """How a contender is kept."""

    uid_slot: int
    view: View = View.PYTHON
    sealed: bool = True
    """Its inputs are read-only; only a second look at a crash opens them."""
    silent: bool = False
    """What it prints is shown to nobody."""
    compiles: bool = False
    """It may start compilers: a baseline, never a candidate."""


BASELINE, ORACLE, CANARY = Role(1), Role(2), Role(3)


def cell_order(device: Device, role: Role, buffer_bytes: int) -> Order:
    """The cell of a contender; on a GPU all of one role are alike, since buffers take no host memory there."""
    if device.index < 0:
        limits, view = Limits(memory_bytes=_MEMORY_BYTES + buffer_bytes, cpu_s=600), role.view
    else:
        limits = Limits(memory_bytes=_DEVICE_HOST_BYTES, cpu_s=600, files=1024, device=True)
        view = View.DEVICE
    profile = Profile.CONTENDER
    if role.compiles:
        profile, limits = Profile.COMPARED, limits.model_copy(update=_COMPILING)
    return Order(profile, view, role.uid_slot, device.contender_cores, limits, device.bus)


class Contender:
    """The judge's end of one running program."""

    is_trusted = False
    """Its process runs no strange code that could leave work behind."""
    _answer_bytes = 0
    """How much follows the nonce in an answer to a pass."""

    def __init__(
        self, block: CellBlock, device: Device, layout: Layout, role: Role, arena: Arena | None = None
    ) -> None:
        """Start an empty cell with buffers; `load` gives it a program.

        Args:
            block: starts the cell.
            device: where it runs.
            layout: of the buffers.
            role: how it is kept.
            arena: buffers of this layout that nobody else uses; new ones are made where none are given.

        Raises:
            InfrastructureError: no cell can be had.
        """
        self.layout = layout
        self.waited_s = 0.0
        """What the last pass took by the judge's clock."""
        self._may_compile = False
        self._device = device
        self._cores = device.contender_cores
        self._role = role
        self._is_silent = role.silent
        self.arena: Arena = arena or device.arena(layout, sealed=role.sealed)
        buffers = layout.input_bytes + layout.output_bytes
        try:
            self._cell: Cell = block.start(cell_order(device, role, buffers))
        except InfrastructureError:
            self.arena.close()
            raise

    def load(self, program: Program, code: Sequence[int], patience: Patience) -> None:
        """Hand over program and buffers and wait until it is loaded; it stays frozen afterwards.

        Raises:
            RejectedError: it does not load.
            InfrastructureError: our own part of the cell failed.
        """
        self._may_compile = program.cached
        attached, ready = secrets.token_bytes(_NONCE_BYTES), secrets.token_bytes(_NONCE_BYTES)
        document = {
            "program": program.dump(),
            "layout": self.layout.dump(),
            "sealed": self._role.sealed,
            "device": self._device.bus,
            "attached": attached.hex(),
            "ready": ready.hex(),
        }
        self._cell.send(document, [*self.arena.files(), *code])
        # Until this word no strange code has run, so a failure is ours.
        if not self._cell.wait(time.monotonic() + _ATTACH_S) or self._read(_NONCE_BYTES) != attached:
            raise InfrastructureError(f"a cell did not attach: {self.log()[-500:]}")
        start = time.monotonic()
        self._await_answer(ready, start, patience)
        self._cell.freeze()

    def run(self, order: Sequence[int], patience: Patience) -> float:
        """One pass over these slots, back to back; seconds from sending `pass` to receiving `done`.

        Raises:
            RejectedError: it died, hung, or spoke out of turn.
        """
        if self._read(1):
            raise RejectedError(EvaluationStatus.REWARD_HACK, "answered a pass before it was asked")
        nonce = secrets.token_bytes(_NONCE_BYTES)
        message = PASS.pack(nonce, len(order)) + struct.pack(f"={len(order)}I", *order)
        self._device.clear_caches()
        began = time.monotonic()
        with scheduling.prompt():
            start = time.perf_counter()
            self._send(message)
            self._cell.thaw()
            self._cell.wait(min(patience.deadline, began + patience.pass_s))
            stop = time.perf_counter()
            # What it began on a GPU and did not wait for belongs to its time, or is missed by the checks.
            late_s = self._device.settle(trusted=self.is_trusted)
            self._cell.freeze()
        self.waited_s = stop - start + late_s
        answer = self._await_answer(nonce, began, patience, self._answer_bytes)
        self._await_stop()
        return self._seconds(answer)

    def _seconds(self, answer: bytes) -> float:
        """Time of a pass: the judge's own."""
        return self.waited_s

    def _send(self, message: bytes) -> None:
        try:
            self._cell.control.sendall(message)
        except (BrokenPipeError, ConnectionResetError):
            pass  # it is dead; `_await_answer` says of what

    def _await_answer(self, expected: bytes, began: float, patience: Patience, extra: int = 0) -> bytes:
        """What follows the nonce."""
        limit = min(patience.deadline, began + patience.pass_s)
        answered = self._cell.wait(limit)
        answer = self._read(2 * _NONCE_BYTES + extra)
        if answer and answer[:_NONCE_BYTES] == expected and len(answer) == _NONCE_BYTES + extra:
            return answer[_NONCE_BYTES:]
        if answer:
            raise RejectedError(
                EvaluationStatus.REWARD_HACK, "wrote something else than `done` on the judge's socket"
            )
        if answered and (code := self._cell.join(time.monotonic() + 1.0)) is not None:
            if code == -signal.SIGSYS and self._may_compile:
                raise UnrehearsedError(self.log())
            raise RejectedError(*read_exit(code), self.log())
        if answer == b"":
            raise RejectedError(
                EvaluationStatus.REWARD_HACK, "closed the judge's socket and went on", self.log()
            )
        raise _too_slow(time.monotonic() - began, patience, self.log())

    def _await_stop(self) -> None:
        """SIGSTOP reaches a thread on another core a little later; outputs are read only after."""
        stat = Path(f"/proc/{self._cell.inmate_pid}/stat")
        for _ in range(200):
            try:
                state = stat.read_text().rpartition(")")[2].split()[0]
            except (FileNotFoundError, ProcessLookupError):
                return
            if state in "TZX":
                return
            time.sleep(0.0001)

    def _read(self, size: int) -> bytes | None:
        """What it has written so far; None for nothing, empty when it closed its end."""
        self._cell.control.setblocking(False)
        try:
            return self._cell.control.recv(size)
        except BlockingIOError:
            return None
        except ConnectionResetError:
            return b""
        finally:
            self._cell.control.setblocking(True)

    def census(self) -> int:
        """Count its threads and look where they may run, while it is frozen.

        Raises:
            RejectedError: far more threads than cores, or a thread outside the contenders' cores.
        """
        tasks = Path(f"/proc/{self._cell.inmate_pid}/task")
        threads = [int(entry.name) for entry in tasks.iterdir()] if tasks.exists() else []
        most = _THREADS_PER_CORE * len(self._cores) + _SPARE_THREADS
        if len(threads) > most:
            raise RejectedError(
                EvaluationStatus.REWARD_HACK, f"keeps {len(threads)} threads; {most} are allowed"
            )
        for thread in threads:
            if not os.sched_getaffinity(thread) <= set(self._cores):
                raise RejectedError(EvaluationStatus.REWARD_HACK, "a thread left the cores it was given")
        return len(threads)

    @property
    def may_write_inputs(self) -> bool:
        """Its mapping of the inputs is writable, or strange host code could make it so."""
        return not (self.is_trusted and self._role.sealed)

    def silence(self) -> None:
        """From now on nothing that it prints is shown: hidden cases follow."""
        self._is_silent = True

    def log(self) -> str:
        """What it printed, trimmed and cleaned."""
        return "" if self._is_silent else self._cell.log()

    def retire(self, block: CellBlock) -> Arena:
        """End a trusted one, which waits for its next pass, in the background; its buffers, which nobody writes any more."""
        block.end(self._cell)
        return self.arena

    def close(self) -> None:
        """End it and free its buffers."""
        self._cell.close()
        self.arena.close()


def _too_slow(waited_s: float, patience: Patience, log: str) -> RejectedError:
    if waited_s >= 0.99 * patience.pass_s:
        message = f"did not answer within {patience.pass_s:.1f} s"
        return RejectedError(EvaluationStatus.HANG, message, log)
    return RejectedError(EvaluationStatus.TIMEOUT, "the evaluation's deadline passed", log)
