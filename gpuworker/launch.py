"""Hands a compiled candidate over to `launcher.cpp` by exec: writes its plan, keeps its files, leaves Python."""

from __future__ import annotations

import os
import struct
from typing import TYPE_CHECKING, NoReturn

from gpuworker import seccomp
from gpuworker.sandbox import Mode

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from gpuworker.layout import Layout
    from gpuworker.program import Program

_PLAN = struct.Struct("=QQ6I8s8s64s")


def become_launcher(
    order: dict[str, Any], program: Program, layout: Layout, files: Sequence[int], mode: Mode
) -> NoReturn:
    """Replace this process.

    Args:
        order: the judge's order with its nonces.
        program: names the entry point.
        layout: slots.
        files: control socket, inputs, outputs, library, launcher.
        mode: without walls the filter may be missing.
    """
    control, *buffers, launcher = files
    plan = os.memfd_create("plan", 0)
    with os.fdopen(plan, "wb", closefd=False) as file:
        file.write(_header(order, program, layout, _filter(mode)))
    os.lseek(plan, 0, os.SEEK_SET)
    handed = (control, plan, *buffers)
    for fd in handed:
        os.set_inheritable(fd, True)
    os.execve(f"/proc/self/fd/{launcher}", ["launcher", *map(str, handed)], dict(os.environ))


def _filter(mode: Mode) -> bytes:
    machine = os.uname().machine
    if mode is Mode.UNSANDBOXED and machine not in seccomp.MACHINES:
        return b""
    return seccomp.program(seccomp.Profile.CONTENDER, machine)


def _header(order: dict[str, Any], program: Program, layout: Layout, code: bytes) -> bytes:
    first = layout.slots[0]
    data = _PLAN.pack(
        max(layout.input_bytes, 1),
        max(layout.output_bytes, 1),
        order["sealed"],
        len(first.inputs),
        len(first.inputs) + len(first.outputs),
        len(first.axes),
        len(layout.slots),
        len(code),
        bytes.fromhex(order["attached"]),
        bytes.fromhex(order["ready"]),
        program.entry_point.encode(),
    )
    for slot in layout.slots:
        offsets = [region.offset for region in (*slot.inputs, *slot.outputs)]
        data += struct.pack(f"={len(offsets)}Q{len(slot.axes)}q", *offsets, *slot.axes)
    return data + code
