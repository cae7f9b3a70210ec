"""A built candidate on its way to the device: starts it, for the cases that people see or for the hidden ones.

Hidden cases are checked in a cell of their own, and nothing that is printed there is shown: a candidate could tell
its author their shapes.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpuworker import layout, yardstick
from gpuworker.contender import Contender, Patience, Role
from gpuworker.program import Program
from gpuworker.sandbox import View
from gpuworker.verdicts import InfrastructureError, RejectedError
from search.records import Candidate, Language

if TYPE_CHECKING:
    from gpuworker.court import Court
    from gpuworker.yardstick import Yardstick

_SHOWN_UID_SLOT, _HIDDEN_UID_SLOT = 0, 5


@dataclass(frozen=True)
class Entry:
    """One candidate with what it is judged by."""

    candidate: Candidate
    library: bytes
    """Empty for Python."""
    stick: Yardstick
    court: Court
    patience: Patience

    @property
    def interpreted(self) -> bool:
        """Runs in Triton's interpreter, which gives no meaningful time."""
        return self.candidate.language is Language.TRITON

    def start(self, *, hidden: bool, sealed: bool = True) -> Contender:
        """A loaded contender with slots for the hidden cases, or for all others.

        Raises:
            RejectedError: it does not load.
        """
        court, workload = self.court, self.stick.workload
        plan = layout.plan(workload, yardstick.slot_counts(workload, hidden=hidden))
        role = Role(
            uid_slot=_HIDDEN_UID_SLOT if hidden else _SHOWN_UID_SLOT,
            view=View.LIBRARIES if self.library else View.PYTHON,
            sealed=sealed,
            silent=hidden,
        )
        contender = Contender(court.block, court.device, plan, role)
        files = [_file(code) for code in (self.library, court.shop.launcher)] if self.library else []
        try:
            contender.load(self._program(), files, self.patience)
        except (RejectedError, InfrastructureError):
            contender.close()
            raise
        finally:
            for fd in files:
                os.close(fd)
        return contender

    def _program(self) -> Program:
        workload = self.stick.workload
        return Program(
            adapter="native" if self.library else "python",
            entry_point=self.candidate.entry_point,
            sources=() if self.library else self.candidate.sources,
            interpret=self.interpreted,
            threads=len(self.court.device.contender_cores),
            input_count=len(workload.inputs),
            output_count=len(workload.outputs),
        )


def _file(content: bytes) -> int:
    fd = os.memfd_create("code", os.MFD_CLOEXEC)
    with os.fdopen(fd, "wb", closefd=False) as file:
        file.write(content)
    return fd
