"""Has a stranger's program run once in a cell, and takes what it told: bounded, and JSON or nothing."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import torch
from pydantic import ValidationError

from gpuworker import layout
from gpuworker.contender import Contender, Patience, Role
from gpuworker.looking import OURS, ROOM
from gpuworker.program import Program
from gpuworker.verdicts import RejectedError
from search.records import EvaluationStatus, SourceFile
from search.workload import Case, ConstAxis, DType, Tensor, Workload

if TYPE_CHECKING:
    from gpuworker.court import Court
    from search.formats.probes import Probe, ProbeTask

_ROLE = Role(7)
_MAIN = """\
from gpuworker.looking import look as told_by


def look(axes, device):
    return told_by({task!r}, {form!r}, __file__, device)
"""
_BUFFER = Workload(
    name="probe",
    title="probe",
    op_type="",
    axes={"room": ConstAxis(value=ROOM)},
    inputs={"seed": Tensor(shape=None, dtype=DType.INT64)},
    outputs={"told": Tensor(shape=("room",), dtype=DType.UINT8)},
    reference="",
    cases=(Case(name="once", axes={}),),
)
"""What the cell is given and gives back, as the layout of buffers describes it."""


def probe(wanted: Probe, task: ProbeTask, court: Court, patience_s: float) -> list[dict[str, Any]]:
    """What the program told.

    Args:
        wanted: the program and its files.
        task: shapes of every case, or the operators of the first by their time.
        court: gives device and cells.
        patience_s: a program that takes longer is ended.

    Raises:
        RejectedError: it fails, hangs, or tells what is no list of objects.
        InfrastructureError: this worker is at fault.
    """
    court.unpark()
    plan = layout.plan(_BUFFER, {"once": 1})
    patience = Patience(time.monotonic() + patience_s, patience_s)
    contender = Contender(court.block, court.device, plan, _ROLE)
    try:
        contender.load(_program(wanted, task, court), (), patience)
        contender.arena.fill({0: [torch.zeros((), dtype=torch.int64)]})
        contender.run([0], patience)
        (buffer,) = contender.arena.outputs(0)
        return _read(bytes(buffer.cpu().numpy()))
    finally:
        contender.close()


def _program(wanted: Probe, task: ProbeTask, court: Court) -> Program:
    main = SourceFile(path=OURS, content=_MAIN.format(task=task, form=wanted.format))
    try:
        beside = tuple(SourceFile(path=path, content=text) for path, text in wanted.files.items())
    except ValidationError as error:
        names = ", ".join(wanted.files)[:200]
        raise _refused(f"files are named with letters, digits, _, . and -, not {names}") from error
    return Program(
        adapter="custom_inputs",
        entry_point="look",
        sources=(main, *beside),
        threads=len(court.device.contender_cores),
        device=court.device.index,
        axes=("room",),
        input_count=1,
        output_count=1,
    )


def _read(content: bytes) -> list[dict[str, Any]]:
    length = int.from_bytes(content[:8], "little")
    try:
        told = json.loads(content[8 : 8 + min(length, ROOM)])
        # Python reads more than others can: NaN, numbers without end, halves of characters.
        text = json.dumps(told, allow_nan=False, ensure_ascii=False)
        text.encode()
    except (ValueError, RecursionError) as error:
        raise _refused("what the program told is no JSON") from error
    if not isinstance(told, list) or not all(isinstance(one, dict) for one in told):
        raise _refused("what the program told is no list")
    if "\\u0000" in text:
        raise _refused("what the program told holds characters that no text has")
    return told


def _refused(message: str) -> RejectedError:
    return RejectedError(EvaluationStatus.RUNTIME_ERROR, message)
