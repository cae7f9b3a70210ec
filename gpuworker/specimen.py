"""A specimen: inputs with the golden outputs that belong to them. Made by an oracle cell, kept by the judge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpuworker import layout
from gpuworker.compare import Expected, expect_all
from gpuworker.contender import ORACLE, Contender, Patience
from gpuworker.custom import CustomInputs
from gpuworker.inputs import Flavour, draw, secret_generator
from gpuworker.program import Program
from gpuworker.verdicts import RejectedError
from search.records import EvaluationStatus, SourceFile

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import TracebackType

    import torch

    from gpuworker.cells import CellBlock
    from gpuworker.devices.device import Device
    from search.workload import Case, Workload

_MOST_SLOTS = 32


@dataclass(frozen=True)
class Specimen:
    """Values that only the judge knows until a pass begins."""

    case: str
    hidden: bool
    flavour: Flavour
    inputs: list[torch.Tensor]
    expected: list[Expected]

    @property
    def kept_bytes(self) -> int:
        """Memory of the device that it takes."""
        return sum(one.nbytes for one in [*self.inputs, *(known.value for known in self.expected)])


def reference_program(workload: Workload, *, golden: bool, threads: int, device: int = -1) -> Program:
    """The workload's reference as a contender."""
    return Program(
        adapter="reference",
        sources=(SourceFile(path="reference.py", content=workload.reference),),
        golden=golden,
        threads=threads,
        device=device,
        clocked=device >= 0 and not golden,
        input_count=len(workload.inputs),
        output_count=len(workload.outputs),
    )


class Oracle:
    """Runs the reference in float64 in a cell of its own; it must be closed before a candidate starts."""

    def __init__(
        self,
        workload: Workload,
        block: CellBlock,
        device: Device,
        patience: Patience,
        cases: Sequence[Case],
    ) -> None:
        """Load the reference, with room for these cases.

        Raises:
            RejectedError: INVALID_REFERENCE, it cannot be loaded.
        """
        self._workload = workload
        self._patience = patience
        self._generator = secret_generator(device.tensors)
        each = device.budget.oracle_bytes // len(cases)
        counts = {
            case.name: max(
                1, min(_MOST_SLOTS, each // max(layout.slot_bytes(workload, case, golden=True), 1))
            )
            for case in cases
        }
        plan = layout.plan(workload, counts, golden=True)
        self._contender = Contender(block, device, plan, ORACLE)
        program = reference_program(
            workload, golden=True, threads=len(device.contender_cores), device=device.index
        )
        self._custom = CustomInputs(workload, block, device)
        try:
            with blaming_reference():
                self._contender.load(program, (), patience)
                self._custom.load(patience)
        except RejectedError:
            self.close()
            raise

    def __enter__(self) -> Oracle:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End its cells."""
        self._contender.close()
        self._custom.close()

    def make(self, case: Case, flavours: Sequence[Flavour]) -> Iterator[Specimen]:
        """One fresh specimen for each flavour asked for.

        Raises:
            RejectedError: INVALID_REFERENCE, it fails on this case.
        """
        slots = self._contender.layout.of_case(case.name)
        for start in range(0, len(flavours), len(slots)):
            chunk = flavours[start : start + len(slots)]
            drawn = [self._draw(case, flavour) for flavour in chunk]
            for slot, values in zip(slots, drawn, strict=False):
                self._contender.arena.fill({slot: values})
            with blaming_reference():
                self._contender.run(slots[: len(chunk)], self._patience)
            for slot, values, flavour in zip(slots, drawn, chunk, strict=False):
                expected = expect_all(self._workload, case, values, self._contender.arena.outputs(slot))
                yield Specimen(case.name, case.hidden, flavour, values, expected)

    def _draw(self, case: Case, flavour: Flavour) -> list[torch.Tensor]:
        with blaming_reference():
            custom = self._custom.make(case, self._patience)
        return draw(self._workload, case, flavour, self._generator, custom)


class blaming_reference:
    """Turns whatever a reference does wrong into INVALID_REFERENCE."""

    def __enter__(self) -> None:
        return

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, RejectedError):
            message = f"the reference {error.message}"
            raise RejectedError(EvaluationStatus.INVALID_REFERENCE, message, error.log) from error
