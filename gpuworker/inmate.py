"""What runs behind the walls: reads one frame from the judge, then does one kind of work.

Everything here shares its process with code that nobody trusts, so nothing here decides anything.
"""

from __future__ import annotations

import gc
import os
import socket
import struct
import sys
import traceback
from typing import TYPE_CHECKING

from gpuworker import sandbox, wire, workshop
from gpuworker.adapters.registry import ADAPTERS, prepare
from gpuworker.devices.cpu import CpuAttachment
from gpuworker.launch import become_launcher
from gpuworker.layout import Layout
from gpuworker.program import Program, WrongOutputError
from gpuworker.seccomp import Profile
from gpuworker.verdicts import Exit

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

    from gpuworker.devices.device import Attachment
    from gpuworker.program import Call

PASS = struct.Struct("=8sI")
"""A nonce that the answer must repeat, and how many slot numbers (32 bit) follow."""


def main(profile: Profile, mode: sandbox.Mode, control: int) -> None:
    """Take the order and carry it out; returns when the judge closes the socket."""
    with socket.socket(fileno=control) as judge:
        try:
            frame = wire.receive(judge)
            match profile:
                case Profile.CONTENDER:
                    _contend(judge, frame, mode)
                case Profile.BUILD:
                    workshop.build(frame, mode)
                case Profile.SCREEN:
                    workshop.screen(frame, mode)
        except wire.WireClosedError:
            return


def _contend(judge: socket.socket, frame: wire.Frame, mode: sandbox.Mode) -> None:
    order = frame.document
    program = Program.load(order["program"])
    layout = Layout.load(order["layout"])
    if program.adapter == "native":
        become_launcher(order, program, layout, (judge.fileno(), *frame.files), mode)
    memory = CpuAttachment(layout, frame.files[:2], sealed=order["sealed"])
    prepare(program)
    judge.sendall(bytes.fromhex(order["attached"]))
    sandbox.apply_filter(Profile.CONTENDER, mode)
    with _Ending(Exit.LOAD_FAILED):
        calls = ADAPTERS[program.adapter](program, layout, memory)
    gc.collect()
    gc.disable()
    judge.sendall(bytes.fromhex(order["ready"]))
    with _Ending(Exit.RAISED):
        while True:
            _one_pass(judge, calls, memory)


def _one_pass(judge: socket.socket, calls: Sequence[Call], memory: Attachment) -> None:
    nonce, count = PASS.unpack(_exactly(judge, PASS.size))
    order = struct.unpack(f"={count}I", _exactly(judge, 4 * count))
    for call in [calls[slot] for slot in order]:
        if call():
            os._exit(Exit.NONZERO)
    memory.synchronise()
    judge.sendall(nonce)


def _exactly(judge: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        part = judge.recv(size - len(data))
        if not part:
            raise wire.WireClosedError("the judge closed")
        data += part
    return data


class _Ending:
    """Whatever strange code raises ends this process with a code that says what; nothing gets past it."""

    def __init__(self, failure: Exit) -> None:
        self._failure = failure

    def __enter__(self) -> None:
        return

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        match error:
            case None:
                return
            case wire.WireClosedError():
                os._exit(0)
            case WrongOutputError():
                code = error.exit
            case MemoryError():
                code = Exit.OUT_OF_MEMORY
            case _:
                code = self._failure
        traceback.print_exception(error)
        sys.stderr.flush()
        os._exit(code)
