"""A built candidate on its way to the device: starts it, for the cases that people see or for the hidden ones.

Hidden cases are checked in a cell of their own, and nothing that is printed there is shown: a candidate could tell
its author their shapes.
"""

from __future__ import annotations

import dataclasses
import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpuworker import layout, yardstick
from gpuworker.contender import Contender, Patience, Role
from gpuworker.cuda.plan import merge
from gpuworker.program import Program
from gpuworker.replayer import Replayer
from gpuworker.sandbox import View
from gpuworker.tracing import plan_file
from gpuworker.verdicts import InfrastructureError, RejectedError
from search.records import Candidate, Language

if TYPE_CHECKING:
    from gpuworker.built import Built
    from gpuworker.court import Court
    from gpuworker.devices.device import Device
    from gpuworker.layout import Layout
    from gpuworker.program import Adapter
    from gpuworker.yardstick import Yardstick
    from search.workload import Workload

_MEMORY_BACK_S = 0.5
_CHECKED_SLOTS = 10
"""Every specimen of a case, and one of them again."""
SHOWN, HIDDEN = Role(0), Role(5, silent=True)


@dataclass(frozen=True)
class Entry:
    """One candidate with what it is judged by."""

    candidate: Candidate
    built: Built
    stick: Yardstick
    court: Court
    patience: Patience
    timed: tuple[str, ...] = ()
    """Cases that will be timed; they get many slots."""

    @property
    def interpreted(self) -> bool:
        """Runs in Triton's interpreter, which gives no meaningful time."""
        return self.candidate.language is Language.TRITON and self.court.device.index < 0

    @property
    def is_replayed(self) -> bool:
        """None of its host code runs on the device, so one process may see hidden cases and others."""
        return bool(self.built.plans)

    def start(self, *, hidden: bool, sealed: bool = True) -> Contender:
        """A loaded contender with slots for the hidden cases, or for all others; for all when it is replayed.

        Raises:
            RejectedError: it does not load.
        """
        court, workload = self.court, self.stick.workload
        which = None if self.is_replayed else hidden
        # Replayed calls of a case are checked side by side.
        checked = _CHECKED_SLOTS if self.is_replayed else 1
        counts = yardstick.slot_counts(
            workload, court.device.budget, self.timed, hidden=which, checked=checked
        )
        plan = layout.plan(workload, counts)
        role = dataclasses.replace(
            HIDDEN if hidden else SHOWN,
            view=View.LIBRARIES if self.built.library else View.PYTHON,
            sealed=sealed,
        )
        try:
            return self._started(plan, role, hidden=hidden)
        except InfrastructureError:
            # Memory that the last candidate held comes back a little after its end.
            court.block.await_ends()
            time.sleep(_MEMORY_BACK_S)
            return self._started(plan, role, hidden=hidden)

    def _started(self, plan: Layout, role: Role, *, hidden: bool) -> Contender:
        court = self.court
        kind = Replayer if self.is_replayed else Contender
        if not self.is_replayed:
            court.unpark()
            court.block.await_ends()
        arena = court.buffers(plan) if self.is_replayed and role.sealed else None
        contender = kind(court.block, court.device, plan, role, arena)
        files = [_file(code) for code in self._files(hidden=hidden)]
        try:
            contender.load(self._program(), files, self.patience)
        except (RejectedError, InfrastructureError):
            contender.close()
            raise
        finally:
            for fd in files:
                os.close(fd)
        return contender

    def _files(self, *, hidden: bool) -> list[bytes]:
        """What the program is made of besides sources."""
        if self.is_replayed:
            return [plan_file(merge(list(self.built.plans.values())))]
        if self.built.caches:
            return [self.built.caches[hidden]]
        return [self.built.library, self.court.shop.launcher] if self.built.library else []

    def _program(self) -> Program:
        adapter: Adapter = "native" if self.built.library else "replay" if self.built.plans else "python"
        program = python_program(self.candidate, self.stick.workload, self.court.device)
        kept = self.candidate.sources if adapter == "python" else ()
        changes = {"adapter": adapter, "sources": kept, "cached": bool(self.built.caches)}
        return program.model_copy(update={**changes, "interpret": self.interpreted})


def python_program(candidate: Candidate, workload: Workload, device: Device) -> Program:
    """A candidate whose host code is Python."""
    return Program(
        adapter="python",
        entry_point=candidate.entry_point,
        sources=candidate.sources,
        device=device.index,
        threads=len(device.contender_cores),
        input_count=len(workload.inputs),
        output_count=len(workload.outputs),
    )


def _file(content: bytes) -> int:
    fd = os.memfd_create("code", os.MFD_CLOEXEC)
    with os.fdopen(fd, "wb", closefd=False) as file:
        file.write(content)
    return fd
